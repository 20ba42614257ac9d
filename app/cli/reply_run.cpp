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

Status readPrompt(Session& session, const ReplyRequest& request, const ReplyEvents& events)
{
    const auto start = Clock::now();
    AppendOptions options;
    options.cancel = request.cancel;
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
        if (events.reading)
            events.reading(done, total, msSince(start));
    };
    return session.append(request.ids, options);
}

Result<GenerateResult> writeReply(Session& session, const ChatFormat& format, const ReplyRequest& request,
    const ReplyEvents& events, ReplyOutcome& outcome)
{
    GenerateOptions options;
    options.sampling = request.sampling;
    options.tokensMax = request.tokensMax > 0 ? request.tokensMax : session.contextTokens();
    options.stopIds.assign(format.stopIds().begin(), format.stopIds().end());
    options.cancel = request.cancel;
    return session.generate(options, [&](const TokenEvent& token) {
        outcome.sampled.push_back(token.id);
        outcome.report.reasoningTokens += outcome.reader.isReasoning() ? 1 : 0;
        const ReplyDelta delta = outcome.reader.feed(token.id);
        if (!delta.isEmpty())
            events.delta(delta, outcome.reader);
        return outcome.reader.isOver() ? TokenAction::Stop : TokenAction::Continue;
    });
}

} // namespace

ReplyOutcome runReply(
    Engine& engine, Session& session, const ChatFormat& format, const ReplyRequest& request, const ReplyEvents& events)
{
    ReplyOutcome outcome{format.readReply(request.reading), {}, FinishReason::Limit, {}, {}};
    host::GenerationReport& report = outcome.report;
    report.sampling = request.sampling;
    report.thinking = request.thinking;
    report.effort = request.effort;
    report.cachedTokens = session.position();
    report.promptTokens = report.cachedTokens + request.ids.size();
    const Statistics before = engine.statistics();

    auto start = Clock::now();
    const auto read = readPrompt(session, request, events);
    report.prefillMs = msSince(start);
    if (!read) {
        outcome.error = read.error();
        report.promptTokens = session.position();
    } else {
        start = Clock::now();
        const auto written = writeReply(session, format, request, events, outcome);
        report.decodeMs = msSince(start);
        if (written)
            outcome.reason = written->reason;
        else
            outcome.error = written.error();
    }
    if (const ReplyDelta rest = outcome.reader.finish(); !rest.isEmpty())
        events.delta(rest, outcome.reader);
    report.completionTokens = outcome.sampled.size();
    report.droppedCalls = outcome.reader.droppedCalls();
    report.emptyAnswer = outcome.reader.answerIsEmpty();
    report.addStatistics(before, engine.statistics());
    return outcome;
}

std::string finishReasonOf(const ReplyOutcome& outcome)
{
    if (outcome.error)
        return outcome.error->code == ErrorCode::Cancelled ? "cancelled" : "error";
    return std::string(host::finishReason(outcome.reader, outcome.reason));
}

} // namespace waste::cli
