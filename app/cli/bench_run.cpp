#include "cli/bench_run.h"

#include <algorithm>
#include <cassert>

namespace waste::cli {

namespace {

double rate(std::uint64_t count, double seconds)
{
    return count > 0 && seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

} // namespace

double BenchRound::prefillRate() const
{
    return rate(promptTokens, prefillSeconds);
}

double BenchRound::decodeRate() const
{
    return rate(decodedTokens, decodeSeconds);
}

Result<BenchRound> runBenchRound(const Engine& engine, Session& session, const BenchOptions& options)
{
    session.reset();
    const Statistics before = engine.statistics();
    AppendOptions append;
    append.cancel = options.cancel;
    WASTE_TRY_STATUS(session.append(options.prompt, append));
    const Statistics between = engine.statistics();

    // The last token that generate() samples is not evaluated: one more is drawn, and the run ends with it. Each
    // event stands behind all tokens before it, so the last one is where the figures end, also of a run that is cut.
    BenchRound round;
    Statistics after = between;
    GenerateOptions generate;
    generate.tokensMax = options.tokenCount + 1;
    generate.cancel = options.cancel;
    generate.layerSink = options.layerSink;
    const auto generated = session.generate(generate, [&](const TokenEvent& event) {
        after = engine.statistics();
        round.decodedTokens = event.index;
        round.decodeSeconds += event.ms / 1000;
        return TokenAction::Continue;
    });
    if (!generated && (generated.error().code != ErrorCode::Cancelled || round.decodedTokens == 0))
        return generated.error();

    round.isWhole = generated.has_value();
    round.promptTokens = options.prompt.size();
    round.prefillSeconds = (between.prefillMs - before.prefillMs) / 1000;
    round.expertHits = after.expertHits - between.expertHits;
    round.expertMisses = after.expertMisses - between.expertMisses;
    round.guessesIssued = after.speculativeIssued - between.speculativeIssued;
    round.guessesUseful = after.speculativeUseful - between.speculativeUseful;
    round.decodeBytesRead = after.bytesRead - between.bytesRead;
    round.bytesRead = after.bytesRead - before.bytesRead;
    round.readWaitSeconds = (after.readWaitMs - before.readWaitMs) / 1000;
    round.diskBusySeconds = (after.diskBusyMs - before.diskBusyMs) / 1000;
    round.computeSeconds = std::max(0.0, round.prefillSeconds + round.decodeSeconds - round.readWaitSeconds);
    return round;
}

Spread spreadOf(std::vector<double> values)
{
    assert(!values.empty());
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    return {median, values.front(), values.back()};
}

} // namespace waste::cli
