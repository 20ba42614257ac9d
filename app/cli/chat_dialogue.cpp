#include "cli/chat_dialogue.h"

#include "host/chat_request.h"
#include "host/count_text.h"
#include "host/error_table.h"

#include "waste/console.h"
#include "waste/tokenizer.h"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

namespace waste::cli {

namespace {

constexpr std::string_view kQuote = "\"\"\"";

std::string trimmed(std::string_view text)
{
    const auto begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos)
        return {};
    return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

} // namespace

ChatDialogue::ChatDialogue(
    Engine& engine, host::ChatSession& session, const ChatFormat& format, Options options, CommandContext& context)
    : m_engine(engine)
    , m_session(session)
    , m_format(format)
    , m_options(std::move(options))
    , m_output(context.output)
    , m_cancel(context.cancel)
    , m_isInteractive(isTerminal(ConsoleStream::Input))
    , m_kept(KeptConversation::Writer::Chat, engine.container().info().name, context.output)
{
}

void ChatDialogue::setSystem(std::string_view text)
{
    m_kept.set("system", toWellFormedText(text));
}

Result<int> ChatDialogue::run()
{
    while (!m_isOver && !m_output.readerIsGone() && !m_output.failure()) {
        if (m_isInteractive)
            m_output.plain("> ");
        auto turn = readTurn();
        if (!turn && turn.error().code == ErrorCode::Cancelled && m_isInteractive) {
            m_output.plain("\n(Ctrl-C again, or Ctrl-D, to leave)\n");
            continue;
        }
        if (!turn)
            return turn.error();
        if (!*turn)
            break;
        m_cancel.reset(); // from here on Ctrl-C stops the reply, not the program
        if (trimmed(**turn).empty())
            continue;
        if (Status done = handle(**turn); !done) {
            WASTE_TRY_STATUS(noteFailure(std::move(done.error())));
        } else if (!m_isOver) { // /quit says nothing
            m_failureIsLastWord = false;
        }
    }
    if (m_isInteractive)
        m_output.plain("\n");
    return outcome();
}

Status ChatDialogue::noteFailure(Error error)
{
    if (error.code == ErrorCode::Cancelled)
        return m_isInteractive ? Status() : error; // at a terminal: back to the prompt
    if (!m_isInteractive) {
        error.message = "line " + std::to_string(m_turnLine) + ": " + error.message;
        ++m_failedTurns;
        m_failureIsLastWord = true;
        m_lastFailure = error;
    }
    m_output.error(error);
    return {};
}

// The last thing said is the error: nobody has to search for it among the answers behind it.
Result<int> ChatDialogue::outcome() const
{
    if (m_failedTurns == 0)
        return 0;
    if (m_failureIsLastWord)
        return host::errorKind(m_lastFailure.code).exitCode;
    Error error = m_lastFailure;
    error.message = host::countText(m_failedTurns, "line") + " of the input could not be done"
        + (m_failedTurns > 1 ? ", the last: " : ": ") + error.message;
    return error;
}

Result<std::optional<std::string>> ChatDialogue::readTurn()
{
    WASTE_TRY(auto line, readLine());
    if (!line)
        return line;
    m_turnLine = m_linesRead;
    if (trimmed(*line).starts_with(kQuote)) {
        WASTE_TRY(*line, readQuoted(trimmed(*line).substr(kQuote.size())));
    }
    if (isWellFormedText(*line))
        return line;
    m_output.warning("the text is not valid UTF-8; what is wrong in it is read as U+FFFD");
    return std::optional(toWellFormedText(*line));
}

Result<std::optional<std::string>> ChatDialogue::readLine()
{
    ++m_linesRead;
    return m_lines.next();
}

// Until a line that ends with three quotation marks, or the end of the input.
Result<std::string> ChatDialogue::readQuoted(std::string text)
{
    while (!std::string_view(text).ends_with(kQuote)) {
        WASTE_TRY(const auto line, readLine());
        if (!line)
            return text;
        text += (text.empty() ? "" : "\n") + *line;
    }
    text.resize(text.size() - kQuote.size());
    if (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text;
}

Status ChatDialogue::handle(const std::string& turn)
{
    if (turn.starts_with('/') && !turn.starts_with("//"))
        return runSlashCommand(turn);
    std::string question = turn.starts_with("//") ? turn.substr(1) : turn;
    if (!m_insertedText.empty())
        question = std::exchange(m_insertedText, {}) + "\n\n" + question;
    m_picturePositions = 0;
    return answer(m_kept.ask(question, std::exchange(m_pictures, {})));
}

host::AnswerRequest ChatDialogue::requestFor(const std::string& answerId) const
{
    host::AnswerRequest request;
    request.id = answerId;
    host::ChatTurns turns = host::chatTurns(
        m_kept.conversation(), m_kept.conversation().find(answerId)->parent, m_kept.attachmentsFolder());
    request.messages = std::move(turns.messages);
    request.pictures = std::move(turns.pictures);
    request.thinking = m_options.chat.thinking;
    request.effort = m_options.chat.effort;
    request.tokensMax = m_options.sampling.tokensMax.value_or(0);
    request.sampling = m_options.sampling.over(m_options.recommended);
    request.seed = request.sampling->seed;
    request.stopStrings = m_options.sampling.stopStrings;
    return request;
}

Status ChatDialogue::answer(const std::string& answerId)
{
    using host::ReplyText;
    const host::AnswerRequest request = requestFor(answerId);
    ReplyPrinter printer(m_output, {.showThinking = m_options.showThinking, .statistics = m_options.statistics});
    std::uint64_t reasoningTokens = 0;
    const auto start = std::chrono::steady_clock::now();

    m_kept.record(host::AnswerStarted{answerId});
    host::ChatSession::Callbacks callbacks;
    callbacks.prepared = [&](std::uint64_t promptTokens, std::uint64_t reusedTokens) {
        printer.start({.model = m_engine.container().info().name,
            .contextTokens = m_engine.plan().contextTokens,
            .promptTokens = promptTokens,
            .cachedTokens = reusedTokens,
            .seed = request.sampling->seed,
            .thinking = isThinking(request),
            .effort = effortOf(request)});
    };
    callbacks.looking = [&](std::string_view name, std::uint64_t done, std::uint64_t total) {
        m_output.progress("looking at " + std::string(name)
            + (total > 0 ? ": " + std::to_string(done) + " of " + std::to_string(total) : ""));
    };
    callbacks.reading = [&](std::uint64_t done, std::uint64_t total) {
        printer.reading(
            done, total, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    };
    callbacks.began = [&] { m_kept.record(host::ReplyBegan{answerId}); };
    callbacks.token = [&](const TokenEvent&, bool thinking) { reasoningTokens += thinking ? 1 : 0; };
    callbacks.text = [&](const ReplyDelta& delta) {
        printer.text(delta);
        if (!delta.reasoning.empty())
            m_kept.record(ReplyText{answerId, ReplyText::Channel::Thinking, delta.reasoning});
        if (!delta.content.empty())
            m_kept.record(ReplyText{answerId, ReplyText::Channel::Content, delta.content});
    };
    const host::ReplyEnded ended = m_session.answer(request, m_cancel, callbacks);
    m_kept.record(ended);

    ReplySummary summary = summaryOf(ended, request);
    summary.report.reasoningTokens = reasoningTokens;
    m_lastStatistics = statisticsLine(summary.report);
    printer.end(summary);
    if (ended.reason == host::ReplyEnded::Reason::ContextFull)
        m_output.note("the context of " + std::to_string(m_engine.plan().contextTokens)
            + " tokens is full; /reset begins a new conversation, --ctx allows a longer one");
    if (ended.reason == host::ReplyEnded::Reason::Failed || ended.reason == host::ReplyEnded::Reason::Stopped)
        return ended.error;
    return {};
}

bool ChatDialogue::isThinking(const host::AnswerRequest& request) const
{
    return request.thinking && m_format.hasThinking();
}

std::string ChatDialogue::effortOf(const host::AnswerRequest& request) const
{
    return isThinking(request) && request.effort != "none" ? request.effort : "";
}

ReplySummary ChatDialogue::summaryOf(const host::ReplyEnded& ended, const host::AnswerRequest& request) const
{
    using Reason = host::ReplyEnded::Reason;
    ReplySummary summary;
    summary.calls = ended.calls;
    const bool isLimit = ended.reason == Reason::Limit || ended.reason == Reason::ContextFull;
    summary.finishReason = ended.reason == Reason::Stopped ? "cancelled"
        : ended.reason == Reason::Failed                   ? "error"
        : !ended.calls.empty()                             ? "tool_calls"
        : isLimit                                          ? "length"
                                                           : "stop";
    summary.messageJson = host::assistantMessage(*m_kept.conversation().find(ended.answerId));
    if (summary.messageJson.empty())
        summary.messageJson = R"({"role":"assistant","content":null})";

    host::GenerationReport& report = summary.report;
    report.promptTokens = ended.timings.promptTokens;
    report.cachedTokens = ended.reusedTokens;
    report.completionTokens = ended.timings.tokens;
    report.expertHits = ended.expertHits;
    report.expertMisses = ended.expertMisses;
    report.bytesRead = ended.timings.bytesRead;
    report.directIo = m_engine.statistics().directIo;
    report.prefillMs = static_cast<double>(ended.timings.readMs);
    report.decodeMs = static_cast<double>(ended.timings.answerMs);
    report.sampling = *request.sampling;
    report.thinking = isThinking(request);
    report.effort = effortOf(request);
    report.emptyAnswer = ended.answerIsEmpty;
    return summary;
}

} // namespace waste::cli
