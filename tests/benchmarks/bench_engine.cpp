#include "bench_engine.h"

#include "layers/layer_state.h"
#include "session/model_files.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>
#include <utility>

namespace waste::benchmark {
namespace {

using Clock = std::chrono::steady_clock;

BenchEngine::Run difference(const Statistics& before, const Statistics& after, std::uint64_t recordBytes)
{
    BenchEngine::Run run;
    run.tokens = after.tokensPrefilled + after.tokensDecoded - before.tokensPrefilled - before.tokensDecoded;
    run.seconds = (after.prefillMs + after.decodeMs - before.prefillMs - before.decodeMs) / 1000;
    run.bytesRead = after.bytesRead - before.bytesRead;
    const std::uint64_t wastedReads = after.speculativeWasted - before.speculativeWasted;
    run.wastedBytes = std::min(run.bytesRead, wastedReads * recordBytes);
    run.waitSeconds = (after.readWaitMs - before.readWaitMs) / 1000;
    run.diskBusySeconds = (after.diskBusyMs - before.diskBusyMs) / 1000;
    run.hits = after.expertHits - before.expertHits;
    run.misses = after.expertMisses - before.expertMisses;
    return run;
}

} // namespace

std::vector<TokenId> randomIds(std::size_t count, std::uint32_t vocabularySize)
{
    constexpr std::uint32_t kSpecialIds = 256; // the last ones of the vocabulary
    std::mt19937 random(1);
    std::vector<TokenId> ids(count);
    for (TokenId& id : ids)
        id = static_cast<TokenId>(random() % (vocabularySize - kSpecialIds));
    return ids;
}

Result<BenchEngine> BenchEngine::open(const std::filesystem::path& model, const Options& options)
{
    WASTE_TRY(const auto container, Container::open(model));
    EngineOptions engineOptions;
    engineOptions.contextTokens = options.contextTokens;
    engineOptions.exact = options.exact;
    const MemoryPlan::Request request{.contextTokens = options.contextTokens};
    WASTE_TRY(const MemoryPlan plan, MemoryPlan::compute(*container, request, Machine::detect()));
    const std::uint64_t minimum = plan.minimumExpertCacheBytes;
    engineOptions.budgetBytes = plan.floorBytes - minimum + std::max(options.cacheBytes, minimum);

    BenchEngine bench;
    WASTE_TRY(bench.m_engine, Engine::open(container, engineOptions));
    WASTE_TRY(bench.m_session, bench.m_engine->createSession());
    return bench;
}

Result<BenchEngine::Run> BenchEngine::prefill(std::uint32_t tokenCount)
{
    const std::vector<TokenId> prompt = randomIds(tokenCount, m_engine->container().info().vocabularySize);
    m_session->reset();
    const Statistics before = m_engine->statistics();
    WASTE_TRY_STATUS(m_session->append(prompt));
    return difference(before, m_engine->statistics(), m_engine->container().info().expertRecordBytes);
}

Result<BenchEngine::Run> BenchEngine::decode(std::uint32_t tokenCount, std::uint32_t rounds)
{
    WASTE_TRY_STATUS(m_session->checkpoint());
    WASTE_TRY(Run best, decodeOnce(tokenCount));
    for (std::uint32_t round = 0; round < rounds; ++round) {
        WASTE_TRY_STATUS(m_session->rollBack());
        WASTE_TRY(const Run run, decodeOnce(tokenCount));
        if (round == 0 || run.seconds < best.seconds)
            best = run;
    }
    WASTE_TRY_STATUS(m_session->rollBack());
    return best;
}

Result<BenchEngine::Run> BenchEngine::decodeOnce(std::uint32_t tokenCount)
{
    const Statistics before = m_engine->statistics();
    // The last token that is sampled is not evaluated.
    GenerateOptions generate;
    generate.tokensMax = tokenCount + 1;
    WASTE_TRY_STATUS(m_session->generate(generate, {}));
    return difference(before, m_engine->statistics(), m_engine->container().info().expertRecordBytes);
}

Result<std::vector<double>> BenchEngine::layerSeconds(std::uint32_t rounds)
{
    const std::vector<TokenId> token = randomIds(1, m_engine->container().info().vocabularySize);
    std::vector<double> fastest(m_engine->container().info().layerCount, std::numeric_limits<double>::max());
    auto last = Clock::now();
    AppendOptions append;
    append.layerSink = [&](const LayerTrace& trace) {
        const auto now = Clock::now();
        fastest[trace.layer] = std::min(fastest[trace.layer], std::chrono::duration<double>(now - last).count());
        last = now;
    };
    WASTE_TRY_STATUS(m_session->checkpoint());
    WASTE_TRY_STATUS(m_session->append(token)); // its experts are in the cache now
    WASTE_TRY_STATUS(m_session->rollBack());
    for (std::uint32_t round = 0; round < rounds; ++round) {
        last = Clock::now();
        WASTE_TRY_STATUS(m_session->append(token, append));
        WASTE_TRY_STATUS(m_session->rollBack());
    }
    return fastest;
}

double BenchEngine::bytesPerCachedToken() const
{
    const std::uint64_t stateBytes = sequenceStateBytes(m_engine->container().files().config, 0);
    return static_cast<double>(plan().trunkBytes + plan().workingSetBytes + 2 * stateBytes);
}

} // namespace waste::benchmark
