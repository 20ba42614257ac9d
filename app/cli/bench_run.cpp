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

    // The last token that generate() samples is not evaluated: one more is drawn, and the run ends with it.
    GenerateOptions generate;
    generate.tokensMax = options.tokenCount + 1;
    generate.cancel = options.cancel;
    generate.layerSink = options.layerSink;
    WASTE_TRY_STATUS(session.generate(generate, {}));
    const Statistics after = engine.statistics();

    BenchRound round;
    round.promptTokens = options.prompt.size();
    round.decodedTokens = after.tokensDecoded - between.tokensDecoded;
    round.prefillSeconds = (between.prefillMs - before.prefillMs) / 1000;
    round.decodeSeconds = (after.decodeMs - between.decodeMs) / 1000;
    round.expertHits = after.expertHits - between.expertHits;
    round.expertMisses = after.expertMisses - between.expertMisses;
    round.decodeBytesRead = after.bytesRead - between.bytesRead;
    round.bytesRead = after.bytesRead - before.bytesRead;
    round.readWaitSeconds = (after.readWaitMs - before.readWaitMs) / 1000;
    round.diskBusySeconds = (after.diskBusyMs - before.diskBusyMs) / 1000;
    round.computeSeconds = (after.computeMs - before.computeMs) / 1000;
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
