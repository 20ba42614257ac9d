#include "host/chat_session.h"

#include "host/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <random>
#include <utility>

namespace waste::host {

namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t msSince(Clock::time_point start)
{
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count());
}

bool startsWith(const std::vector<TokenId>& ids, std::span<const TokenId> beginning)
{
    return ids.size() >= beginning.size() && std::equal(beginning.begin(), beginning.end(), ids.begin());
}

std::string requestFrom(const std::vector<std::string>& messages)
{
    std::string list;
    for (const std::string& message : messages)
        list += (list.empty() ? "" : ",") + message;
    return R"({"messages":[)" + list + "]}";
}

// A text field of a message; empty if it is not there.
std::string fieldOf(const std::string& message, const char* field)
{
    const Json json = Json::parse(message, nullptr, false);
    const auto found = json.is_object() ? json.find(field) : json.end();
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t randomSeed()
{
    std::random_device random;
    const std::uint64_t seed = (std::uint64_t{random()} << 32) | random();
    return std::max<std::uint64_t>(seed, 1); // 0 stands for the built-in constant
}

} // namespace

ChatSession::ChatSession(Engine& engine, std::unique_ptr<Session> session, std::shared_ptr<const ChatFormat> format,
    SamplingOptions sampling)
    : m_session(std::move(session))
    , m_format(std::move(format))
    , m_sampling(sampling)
    , m_pace(engine)
    , m_pictures(engine, m_pace)
{
}

ReplyEnded ChatSession::answer(const AnswerRequest& request, const CancelFlag& cancel, const Callbacks& callbacks)
{
    ReplyEnded ended;
    ended.answerId = request.id;
    ended.timings = request.timings;
    const auto start = Clock::now();
    Status done;
    if (auto wanted = render(request); !wanted) {
        done = std::move(wanted.error());
    } else {
        ended.timings.promptTokens = wanted->ids.size();
        done = bringTo(request, *wanted, cancel, callbacks, ended);
        ended.timings.readMs += msSince(start);
        if (done) {
            callbacks.began();
            done = generate(request, *wanted, cancel, callbacks, ended);
        }
    }
    if (!done)
        ended.endWith(std::move(done.error()));
    return ended;
}

std::uint64_t ChatSession::usedTokens() const
{
    return m_session->position() + m_session->unfinishedIds().size() + (m_session->pendingToken() ? 1 : 0);
}

Result<ChatSession::Wanted> ChatSession::render(const AnswerRequest& request)
{
    RenderOptions options;
    options.thinking = request.thinking && m_format->hasThinking();
    options.effort = request.effort;
    std::vector<PictureRows::Shown> shown; // in the order in which they enter the prompt
    options.image = [&](const ImageReference& reference) -> Result<ImageSize> {
        const std::size_t index = std::strtoul(reference.value.c_str(), nullptr, 10);
        if (reference.kind != ImageReference::Kind::Path || index >= request.pictures.size())
            return Error{ErrorCode::InvalidArgument, "", reference.place + " is no picture of this conversation"};
        WASTE_TRY(const auto picture, m_pictures.show(request.pictures[index]));
        shown.push_back(picture);
        return ImageSize{picture.picture.width, picture.picture.height};
    };
    WASTE_TRY(const Prompt prompt, m_format->render(requestFrom(request.messages), options));
    Wanted wanted;
    wanted.thinking = prompt.thinking;
    wanted.reader.start = prompt.startChannel;
    wanted.reader.declaredTools = prompt.declaredTools;
    wanted.reader.stopStrings = request.stopStrings;
    std::vector<std::size_t> ends = prompt.messageEnds;
    ends.push_back(prompt.segments.size());
    std::size_t begin = 0;
    std::size_t picturesBefore = 0;
    for (const std::size_t end : ends) {
        const auto part = std::span(prompt.segments).subspan(begin, end - begin);
        std::vector<std::uint32_t> counts; // of positions
        std::vector<TokenId> numbers; // one a position
        for (const Segment& segment : part) {
            if (segment.kind != Segment::Kind::Image)
                continue;
            assert(picturesBefore < shown.size());
            const PictureRows::Shown& picture = shown[picturesBefore++];
            counts.push_back(picture.picture.positionCount);
            numbers.insert(numbers.end(), picture.picture.positionCount, picture.number);
        }
        WASTE_TRY(auto ids, encodeSegments(m_format->tokenizer(), part, counts));
        // Text never becomes the placeholder: each of them is a position of a picture.
        for (std::size_t i = 0, position = 0; position < numbers.size() && i < ids.size(); ++i) {
            if (ids[i] == m_pictures.placeholderId())
                ids[i] = numbers[position++];
        }
        wanted.ids.insert(wanted.ids.end(), ids.begin(), ids.end());
        wanted.messageEnds.push_back(wanted.ids.size());
        begin = end;
    }
    wanted.messageEnds.pop_back();
    wanted.messageEnds.erase(wanted.messageEnds.begin()); // of the head
    if (!request.partialMessage.empty())
        WASTE_TRY_STATUS(renderPartial(request, wanted));
    return wanted;
}

// An unfinished reply is its rendering without what closes it. How much that is, an empty one shows.
Status ChatSession::renderPartial(const AnswerRequest& request, Wanted& wanted) const
{
    const bool inThinking = wanted.thinking && fieldOf(request.partialMessage, "content").empty();
    WASTE_TRY(const auto whole, m_format->closeReply({}, request.partialMessage, wanted.thinking));
    WASTE_TRY(const auto closing, m_format->closeReply({}, R"({"role":"assistant","content":""})", inThinking));
    if (!whole || !closing || whole->size() < closing->size())
        return Error{ErrorCode::InvalidArgument, "", "this answer cannot be continued; it can be tried again"};
    wanted.partialIds.assign(whole->begin(), whole->end() - std::ssize(*closing));
    wanted.reader.start = inThinking ? ReplyChannel::Think : ReplyChannel::Response;
    return {};
}

// The very reply that was stopped: its reader knows even the half character that no text shows.
bool ChatSession::isLive(const AnswerRequest& request, const Wanted& wanted) const
{
    return m_reader && m_liveAnswerId == request.id && !request.partialMessage.empty()
        && m_renderedThinking == wanted.thinking && m_rendered == wanted.ids;
}

Status ChatSession::bringTo(const AnswerRequest& request, const Wanted& wanted, const CancelFlag& cancel,
    const Callbacks& callbacks, ReplyEnded& ended)
{
    if (isLive(request, wanted)) {
        ended.reusedTokens = wanted.ids.size();
        return {};
    }
    m_reader.reset();
    WASTE_TRY(const bool closed, closeReply(request, wanted, cancel, callbacks));
    if (!closed || !startsWith(wanted.ids, m_rendered))
        goBack(wanted.ids);
    m_renderedThinking = wanted.thinking;

    WASTE_TRY_STATUS(checkRoom(wanted));
    const std::size_t known = m_rendered.size();
    ended.reusedTokens = known;
    m_reading = {};
    const std::size_t total = wanted.ids.size() - known + wanted.partialIds.size();
    std::size_t doneBefore = 0;
    AppendOptions options;
    options.cancel = &cancel;
    options.progress = [&](std::uint64_t done, std::uint64_t) { callbacks.reading(doneBefore + done, total); };
    if (callbacks.prepared)
        callbacks.prepared(wanted.ids.size(), known);
    callbacks.reading(0, total);
    // Behind the last message and before the generation prompt: from here the question can be answered
    // once more, or with thinking switched the other way.
    const std::size_t conversationEnd = wanted.messageEnds.empty() ? 0 : wanted.messageEnds.back();
    const std::span ids(wanted.ids);
    if (known < conversationEnd) {
        WASTE_TRY_STATUS(append(ids.subspan(known, conversationEnd - known), m_rendered, options, callbacks));
        WASTE_TRY_STATUS(m_session->checkpoint());
        m_checkpointEnd = conversationEnd;
    }
    doneBefore = m_rendered.size() - known;
    WASTE_TRY_STATUS(append(ids.subspan(m_rendered.size()), m_rendered, options, callbacks));
    doneBefore = m_rendered.size() - known;
    WASTE_TRY_STATUS(append(wanted.partialIds, m_sampled, options, callbacks));
    m_pace.noteReading(m_reading.tokens, std::chrono::duration<double>(m_reading.time).count());
    return {};
}

// Before the first picture is looked at: a prompt that does not fit is not worth it.
Status ChatSession::checkRoom(const Wanted& wanted) const
{
    const std::size_t tokens = wanted.ids.size() + wanted.partialIds.size();
    if (tokens <= m_session->contextTokens())
        return {};
    return Error{ErrorCode::InvalidArgument, "context_length_exceeded",
        "the conversation of " + std::to_string(tokens) + " tokens does not fit the context of "
            + std::to_string(m_session->contextTokens())
            + "; open the model with a larger one, show fewer or smaller pictures, or begin a new conversation"};
}

// Completes the reply in the state as the request renders it. False: the request has another reply there.
Result<bool> ChatSession::closeReply(
    const AnswerRequest& request, const Wanted& wanted, const CancelFlag& cancel, const Callbacks& callbacks)
{
    if (m_sampled.empty())
        return true;
    const auto end = std::upper_bound(wanted.messageEnds.begin(), wanted.messageEnds.end(), m_rendered.size());
    if (end == wanted.messageEnds.end() || !startsWith(wanted.ids, m_rendered) || m_renderedThinking != wanted.thinking)
        return false;
    const auto messageIndex = static_cast<std::size_t>(end - wanted.messageEnds.begin());
    const std::string& message = request.messages.at(messageIndex);
    if (fieldOf(message, "role") != "assistant")
        return false;
    WASTE_TRY(const auto missing, m_format->closeReply(m_sampled, message, wanted.thinking));
    if (!missing)
        return false;
    AppendOptions options;
    options.cancel = &cancel;
    WASTE_TRY_STATUS(append(*missing, m_sampled, options, callbacks));
    m_rendered.assign(wanted.ids.begin(), wanted.ids.begin() + static_cast<std::ptrdiff_t>(*end));
    m_sampled.clear();
    return true;
}

// To the checkpoint if it is on the way to `ids`, else to the beginning.
void ChatSession::goBack(const std::vector<TokenId>& ids)
{
    const bool onTheWay = m_checkpointEnd > 0 && m_session->checkpointPosition()
        && startsWith(ids, std::span(m_rendered).first(m_checkpointEnd));
    if (onTheWay && m_session->rollBack()) {
        m_rendered.resize(m_checkpointEnd);
    } else {
        m_session->reset();
        m_rendered.clear();
        m_checkpointEnd = 0;
    }
    m_sampled.clear();
}

Status ChatSession::append(std::span<const TokenId> ids, std::vector<TokenId>& standsFor, const AppendOptions& options,
    const Callbacks& callbacks)
{
    if (ids.empty())
        return {};
    WASTE_TRY(const auto input, m_pictures.translate(standsFor, ids, *options.cancel, callbacks.looking));
    AppendOptions withRows = options;
    withRows.pictureRows = input.rows;
    const std::uint64_t before = usedTokens();
    const auto start = Clock::now();
    Status appended = m_session->append(input.ids, withRows);
    const auto taken = ids.first(static_cast<std::size_t>(usedTokens() - before));
    m_reading.time += Clock::now() - start;
    m_reading.tokens += taken.size();
    standsFor.insert(standsFor.end(), taken.begin(), taken.end());
    return appended;
}

Status ChatSession::generate(const AnswerRequest& request, const Wanted& wanted, const CancelFlag& cancel,
    const Callbacks& callbacks, ReplyEnded& ended)
{
    if (!m_reader)
        m_reader = m_format->readReply(wanted.reader);
    ReplyReader& reader = *m_reader;
    m_liveAnswerId = request.id;

    GenerateOptions options;
    options.sampling = request.sampling.value_or(m_sampling);
    options.cancel = &cancel;
    options.tokensMax = request.tokensMax > 0 ? request.tokensMax : m_session->contextTokens();
    options.stopIds.assign(m_format->stopIds().begin(), m_format->stopIds().end());
    if (options.sampling.temperature > 0) {
        options.sampling.seed = request.seed.value_or(randomSeed());
        ended.timings.seed = std::to_string(options.sampling.seed);
    }
    const auto start = Clock::now();
    const auto result = m_session->generate(options, [&](const TokenEvent& event) {
        if (ended.timings.tokens++ == 0)
            ended.timings.firstTokenMs = ended.timings.readMs + msSince(start);
        ended.timings.bytesRead += event.bytesRead;
        ended.expertHits += event.expertHits;
        ended.expertMisses += event.expertMisses;
        m_sampled.push_back(event.id);
        callbacks.token(event, reader.isReasoning());
        callbacks.text(reader.feed(event.id));
        const bool isStopId =
            std::find(options.stopIds.begin(), options.stopIds.end(), event.id) != options.stopIds.end();
        // A stop id ends the run by itself, and is evaluated first.
        return reader.isOver() && !isStopId ? TokenAction::Stop : TokenAction::Continue;
    });
    ended.timings.answerMs += msSince(start);
    if (!result)
        return result.error(); // the reader stays: the reply can go on
    if (result->reason == FinishReason::Limit) {
        ended.reason = ReplyEnded::Reason::Limit;
        return {};
    }
    callbacks.text(reader.finish());
    ended.reason =
        result->reason == FinishReason::ContextFull ? ReplyEnded::Reason::ContextFull : ReplyEnded::Reason::Done;
    ended.answerIsEmpty = reader.answerIsEmpty();
    for (std::size_t i = 0; i < reader.callCount(); ++i)
        ended.calls.push_back(reader.call(i));
    m_reader.reset();
    return {};
}

} // namespace waste::host
