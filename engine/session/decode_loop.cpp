// Writing: sample a token, report it, evaluate it, until something ends the run (spec: model 8).

#include "base/size_text.h"
#include "platform/system_memory.h"
#include "session/layer_tracer.h"
#include "session/session_internals.h"

#include <algorithm>
#include <chrono>

namespace waste {
namespace {

// Fills what a TokenEvent says about the time since the event before it.
class TokenMeter {
public:
    explicit TokenMeter(Engine::Internals& engine)
        : m_engine(engine)
        , m_cost(costSoFar())
    {
        m_engine.pagingWatch.begin(majorFaults());
    }

    void fill(TokenEvent& event)
    {
        const CacheStatistics cost = costSoFar();
        const auto now = Clock::now();
        event.expertHits = static_cast<std::uint32_t>(cost.hits - m_cost.hits);
        event.expertMisses = static_cast<std::uint32_t>(cost.misses - m_cost.misses);
        event.speculativeIssued = static_cast<std::uint32_t>(cost.guessesIssued - m_cost.guessesIssued);
        event.speculativeUseful = static_cast<std::uint32_t>(cost.guessesUseful - m_cost.guessesUseful);
        event.bytesRead = cost.bytesRead - m_cost.bytesRead;
        event.ms = std::chrono::duration<double, std::milli>(now - m_last).count();
        event.readWaitMs = std::chrono::duration<double, std::milli>(cost.readWait - m_cost.readWait).count();
        m_cost = cost;
        m_last = now;

        event.majorFaults = m_engine.pagingWatch.add(majorFaults());
        event.isPaging = m_engine.pagingWatch.isPaging();
        if (m_engine.pagingWatch.isNews())
            warnOfPaging(event.majorFaults);
    }
    [[nodiscard]] double totalMs() const
    {
        return std::chrono::duration<double, std::milli>(Clock::now() - m_start).count();
    }

private:
    using Clock = std::chrono::steady_clock;

    [[nodiscard]] CacheStatistics costSoFar() const
    {
        return m_engine.model->cache != nullptr ? m_engine.model->cache->statistics() : CacheStatistics();
    }

    void warnOfPaging(std::uint64_t faults) const
    {
        if (!m_engine.options.log)
            return;
        const MemoryPlan& plan = m_engine.plan;
        const std::uint64_t smaller = std::max(plan.floorBytes, plan.budgetBytes - plan.expertCacheBytes / 2);
        m_engine.options.log(LogLevel::Warning,
            "this machine is paging: the last token waited for " + std::to_string(faults)
                + " pages of memory that had been moved to a drive, far slower than a smaller expert cache. "
                + "Close other programs"
                + (smaller < plan.budgetBytes ? ", or open the model with a RAM budget of " + sizeText(smaller) : ""));
    }

    Engine::Internals& m_engine;
    const Clock::time_point m_start = Clock::now();
    Clock::time_point m_last = m_start;
    CacheStatistics m_cost;
};

bool contains(const std::vector<TokenId>& ids, TokenId id)
{
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

} // namespace

Result<GenerateResult> Session::Internals::generate(const GenerateOptions& options, const TokenSink& sink)
{
    Sampler& sampler = *engine->sampler;
    WASTE_TRY_STATUS(sampler.configure(options.sampling));
    // One stream of random numbers runs through a conversation, so that it can be interrupted anywhere and
    // go on elsewhere; another seed begins another stream.
    if (continuation.sampling.seed == options.sampling.seed)
        sampler.setRandomState(continuation.randomState);
    continuation.sampling = options.sampling;
    continuation.randomState = sampler.randomState();

    const ScopedTime time(engine->decodeNs);
    TokenMeter meter(*engine);
    Decoder::RunOptions run;
    run.cancel = options.cancel;
    run.layerSink = layerTracer(options.layerSink);
    GenerateResult result;
    const auto ended = [&](FinishReason reason) {
        result.reason = reason;
        result.ms = meter.totalMs();
        return result;
    };

    // What the call before left: a chunk cut between layers, or the last token it reported.
    if (!isUnfinished() && continuation.pendingToken >= 0 && state.position < state.contextTokens)
        WASTE_TRY_STATUS(beginSampled(continuation.pendingToken));
    if (isUnfinished()) {
        const TokenId last = memory.chunkIds[memory.chunk.tokenCount - 1];
        WASTE_TRY_STATUS(finishChunk(run, engine->tokensDecoded));
        if (chunkIsSampled && contains(options.stopIds, last))
            return ended(FinishReason::StopId);
    }
    if (!continuation.hasLogits)
        return Error{ErrorCode::InvalidArgument, "empty", "there is nothing to continue: append tokens first"};

    while (result.tokenCount < options.tokensMax) {
        if (state.position == state.contextTokens)
            return ended(FinishReason::ContextFull);
        if (options.cancel != nullptr && options.cancel->isCancelled())
            return Error{ErrorCode::Cancelled, "", "writing was cancelled"};

        TokenEvent event;
        WASTE_TRY(event.id, sampler.draw(memory.logits));
        event.index = result.tokenCount++;
        event.logProbability = static_cast<float>(logProbability(engine->kernels, memory.logits, event.id));
        meter.fill(event);
        continuation.randomState = sampler.randomState();
        continuation.pendingToken = event.id;
        if (sink && sink(event) == TokenAction::Stop)
            return ended(FinishReason::Sink);

        // A stop token is evaluated like any other, so that the state stands behind it.
        const bool isStop = contains(options.stopIds, event.id);
        if (!isStop && result.tokenCount == options.tokensMax)
            break;
        WASTE_TRY_STATUS(beginSampled(event.id));
        WASTE_TRY_STATUS(finishChunk(run, engine->tokensDecoded));
        if (isStop)
            return ended(FinishReason::StopId);
    }
    return ended(FinishReason::Limit);
}

} // namespace waste
