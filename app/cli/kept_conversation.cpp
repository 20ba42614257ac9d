#include "cli/kept_conversation.h"

#include "host/conversation_store.h"
#include "host/journal_lines.h"
#include "host/paths.h"

#include <nlohmann/json.hpp>

#include <future>
#include <utility>
#include <variant>

namespace waste::cli {

namespace {

// The keeper answers on its thread; a command line has nothing better to do than to wait.
Status appendAndWait(host::ConversationKeeper& keeper, const std::string& id, std::vector<host::Json> lines)
{
    std::promise<Status> done;
    keeper.append(id, std::move(lines), [&done](Status status) { done.set_value(std::move(status)); });
    return done.get_future().get();
}

} // namespace

KeptConversation::KeptConversation(Writer writer, std::string modelName, Output& output)
    : m_modelName(std::move(modelName))
    , m_output(output)
{
    startNew();
    const auto folder = host::dataFolder();
    if (folder.empty()) {
        m_stored = Error{ErrorCode::NotFound, "", "there is no home folder, so the conversation is not kept; set HOME"};
        output.warning(m_stored.error().message);
        return;
    }
    const std::string name = std::string(writer == Writer::Run ? "waste run" : "waste chat") + " (process "
        + std::to_string(processId()) + ")";
    m_keeper = std::make_unique<host::ConversationKeeper>(folder, name);
    m_recorder = std::make_unique<host::ReplyRecorder>(*m_keeper, [](const std::string&, const Error&) {
        // It tries again with the next text, and a disk that stays full is told when the next question is kept.
    });
}

const host::Message* KeptConversation::lastQuestion() const
{
    const host::Message* last = nullptr;
    for (const auto& entry : m_conversation.branch()) {
        if (entry.message->role == host::Role::User)
            last = entry.message;
    }
    return last;
}

void KeptConversation::startNew()
{
    if (m_keeper)
        m_keeper->release(m_conversation.id);
    m_conversation = host::Conversation();
    m_conversation.id = host::newConversationId();
}

Status KeptConversation::load(const std::string& id)
{
    if (!m_keeper)
        return Error{ErrorCode::NotFound, "", "there is no home folder, so no conversations"};
    std::promise<Result<host::ConversationKeeper::Loaded>> done;
    m_keeper->load(id, [&done](auto loaded) { done.set_value(std::move(loaded)); });
    WASTE_TRY(auto loaded, done.get_future().get());
    if (!loaded.readOnlyReason.empty())
        return Error{ErrorCode::Busy, "busy", loaded.readOnlyReason};
    if (id != m_conversation.id)
        m_keeper->release(m_conversation.id);
    m_conversation = std::move(loaded.conversation);
    return {};
}

std::string KeptConversation::ask(std::string_view question, std::vector<host::Block> pictures)
{
    const auto branch = m_conversation.branch();
    return begin(question, std::move(pictures), branch.empty() ? std::string() : branch.back().message->id);
}

std::string KeptConversation::askInstead(std::string_view question)
{
    std::vector<host::Block> pictures;
    for (const host::Block& block : lastQuestion()->blocks) {
        if (block.type == host::Block::Type::Image)
            pictures.push_back(block);
    }
    return begin(question, std::move(pictures), lastQuestion()->parent);
}

Result<host::Block> KeptConversation::attach(
    std::string_view name, const std::string& bytes, const Picture& seen, PictureDetail detail)
{
    if (!m_keeper)
        return Error{ErrorCode::NotFound, "",
            "a picture is kept with its conversation, and this one is not stored: " + m_stored.error().message};
    std::promise<Result<std::string>> done;
    m_keeper->post([&] { done.set_value(m_keeper->attachNow(m_conversation.id, bytes)); });
    host::Block block;
    block.type = host::Block::Type::Image;
    block.name = name;
    block.bytes = bytes.size();
    block.width = seen.width;
    block.height = seen.height;
    block.half = detail == PictureDetail::Half;
    block.positions = seen.positionCount;
    WASTE_TRY(block.sha256, done.get_future().get());
    return block;
}

std::filesystem::path KeptConversation::attachmentsFolder() const
{
    return m_keeper ? m_keeper->attachmentsFolder(m_conversation.id) : std::filesystem::path();
}

std::string KeptConversation::askAgain()
{
    return beginAnswer(lastQuestion()->id, {});
}

void KeptConversation::undo()
{
    const std::string parent = lastQuestion()->parent;
    if (parent.empty())
        startNew();
    else
        set("leaf", parent);
}

void KeptConversation::set(std::string_view field, std::string_view value)
{
    std::vector<host::Json> lines = {host::setLine(field, value)};
    if (!isEmpty())
        write(std::move(lines));
    else
        host::apply(lines.front(), m_conversation); // stored with the first question
}

std::string KeptConversation::begin(
    std::string_view question, std::vector<host::Block> pictures, const std::string& parent)
{
    std::vector<host::Json> lines;
    if (isEmpty()) {
        lines.push_back(host::setLine("model", m_modelName));
        lines.push_back(
            host::setLine("title", m_conversation.title.empty() ? host::titleFrom(question) : m_conversation.title));
        if (!m_conversation.system.empty())
            lines.push_back(host::setLine("system", m_conversation.system));
    }
    host::Message message = host::newMessage(host::Role::User, parent);
    message.blocks = std::move(pictures);
    message.append(host::Block::Type::Text, question);
    lines.push_back(host::messageLine(message));
    return beginAnswer(message.id, std::move(lines));
}

std::string KeptConversation::beginAnswer(const std::string& questionId, std::vector<host::Json> lines)
{
    host::Message answer = host::newMessage(host::Role::Assistant, questionId);
    answer.state = host::MessageState::Queued;
    answer.modelName = m_modelName;
    lines.push_back(host::messageLine(answer));
    lines.push_back(host::setLine("leaf", answer.id));
    if (m_recorder)
        m_recorder->expect(m_conversation.id, answer);
    write(std::move(lines));
    return answer.id;
}

void KeptConversation::write(std::vector<host::Json> lines)
{
    for (const host::Json& line : lines)
        host::apply(line, m_conversation);
    if (!m_keeper)
        return;
    m_stored = appendAndWait(*m_keeper, m_conversation.id, std::move(lines));
    if (!m_stored) {
        m_output.warning(m_stored.error().message + "; the conversation goes on without being kept");
        m_recorder.reset();
        m_keeper.reset();
    }
}

host::ChatTurns KeptConversation::turns() const
{
    const auto branch = m_conversation.branch();
    return host::chatTurns(
        m_conversation, branch.empty() ? std::string() : branch.back().message->id, attachmentsFolder());
}

void KeptConversation::recordReply(
    const std::string& answerId, const ReplySummary& summary, const std::optional<Error>& error)
{
    using host::ReplyText;
    const auto message = host::Json::parse(summary.messageJson, nullptr, false);
    record(host::AnswerStarted{answerId});
    record(host::ReplyBegan{answerId});
    if (const auto thinking = message.find("reasoning_content"); thinking != message.end() && thinking->is_string())
        record(ReplyText{answerId, ReplyText::Channel::Thinking, thinking->get<std::string>()});
    if (const auto content = message.find("content"); content != message.end() && content->is_string())
        record(ReplyText{answerId, ReplyText::Channel::Content, content->get<std::string>()});

    host::ReplyEnded ended;
    ended.answerId = answerId;
    ended.timings.promptTokens = summary.report.promptTokens;
    ended.timings.tokens = summary.report.completionTokens;
    ended.timings.bytesRead = summary.report.bytesRead;
    ended.timings.readMs = static_cast<std::uint64_t>(summary.report.prefillMs);
    ended.timings.answerMs = static_cast<std::uint64_t>(summary.report.decodeMs);
    if (summary.report.sampling.temperature > 0)
        ended.timings.seed = std::to_string(summary.report.sampling.seed);
    if (error)
        ended.endWith(*error);
    else if (summary.finishReason == "length")
        ended.reason = host::ReplyEnded::Reason::Limit;
    record(ended);
}

void KeptConversation::record(const host::EngineEvent& event)
{
    if (m_recorder)
        m_recorder->handle(event);
    if (const auto* text = std::get_if<host::ReplyText>(&event)) {
        const bool isThinking = text->channel == host::ReplyText::Channel::Thinking;
        if (host::Message* answer = m_conversation.find(text->answerId))
            answer->append(isThinking ? host::Block::Type::Thinking : host::Block::Type::Text, text->text);
    } else if (const auto* ended = std::get_if<host::ReplyEnded>(&event)) {
        if (host::Message* answer = m_conversation.find(ended->answerId)) {
            answer->state = host::messageStateAfter(*ended);
            answer->reason = host::reasonOf(*ended);
            answer->timings = ended->timings;
        }
    }
}

} // namespace waste::cli
