#include "cli/reply_run.h"

#include <chrono>
#include <utility>

namespace waste::cli {

namespace {

using Clock = std::chrono::steady_clock;

double msSince(Clock::time_point start)
{
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Status readPrompt(Session& session, const ReplyRequest& request, ReplyPrinter& printer)
{
    const auto start = Clock::now();
    AppendOptions options;
    options.cancel = request.cancel;
    options.pictureRows = request.pictureRows;
    options.progress = [&](std::uint64_t done, std::uint64_t total) { printer.reading(done, total, msSince(start)); };
    return session.append(request.ids, options);
}

void showCalls(const ReplyDelta& delta, const ReplyReader& reader, ReplyPrinter& printer)
{
    for (const std::size_t position : delta.calls) {
        if (const ToolCall call = reader.call(position); call.complete)
            printer.toolCall(position, call);
    }
}

Result<GenerateResult> writeReply(Session& session, const ChatFormat& format, const ReplyRequest& request,
    ReplyReader& reader, ReplyPrinter& printer, host::GenerationReport& report)
{
    GenerateOptions options;
    options.sampling = request.sampling;
    options.tokensMax = request.tokensMax;
    options.stopIds.assign(format.stopIds().begin(), format.stopIds().end());
    options.cancel = request.cancel;
    return session.generate(options, [&](const TokenEvent& token) {
        ++report.completionTokens;
        report.reasoningTokens += reader.isReasoning() ? 1 : 0;
        const ReplyDelta delta = reader.feed(token.id);
        printer.text(delta);
        showCalls(delta, reader, printer);
        return reader.isOver() ? TokenAction::Stop : TokenAction::Continue;
    });
}

std::string finishReasonOf(const ReplyReader& reader, const ReplyOutcome& outcome)
{
    if (outcome.error)
        return outcome.error->code == ErrorCode::Cancelled ? "cancelled" : "error";
    return std::string(host::finishReason(reader, outcome.reason));
}

} // namespace

ReplyOutcome runReply(
    Engine& engine, Session& session, const ChatFormat& format, const ReplyRequest& request, ReplyPrinter& printer)
{
    ReplyOutcome outcome;
    host::GenerationReport& report = outcome.summary.report;
    report.sampling = request.sampling;
    report.thinking = request.thinking;
    report.effort = request.effort;
    report.promptTokens = request.ids.size();
    ReplyReader reader = format.readReply(request.reading);
    const Statistics before = engine.statistics();

    auto start = Clock::now();
    const auto read = readPrompt(session, request, printer);
    report.prefillMs = msSince(start);
    if (!read) {
        outcome.error = read.error();
        report.promptTokens = session.position();
    } else {
        start = Clock::now();
        const auto written = writeReply(session, format, request, reader, printer, report);
        report.decodeMs = msSince(start);
        if (written)
            outcome.reason = written->reason;
        else
            outcome.error = written.error();
    }
    printer.text(reader.finish());
    report.droppedCalls = reader.droppedCalls();
    report.emptyAnswer = !outcome.error && reader.answerIsEmpty(); // the model's doing, not a failure's
    report.addStatistics(before, engine.statistics());
    outcome.summary.finishReason = finishReasonOf(reader, outcome);
    outcome.summary.messageJson = reader.messageJson();
    for (std::size_t position = 0; position < reader.callCount(); ++position)
        outcome.summary.calls.push_back(reader.call(position));
    return outcome;
}

} // namespace waste::cli
