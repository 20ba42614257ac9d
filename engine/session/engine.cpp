#include "waste/engine.h"

#include "kernels/kernels.h"
#include "platform/path_text.h"
#include "platform/threads.h"
#include "session/engine_internals.h"
#include "session/facade_guard.h"
#include "session/session_internals.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace waste {
namespace {

std::uint32_t computeThreads(const EngineOptions& options)
{
    if (options.threadCount != 0)
        return options.threadCount;
    return options.cpus.empty() ? physicalCoreCount() : static_cast<std::uint32_t>(options.cpus.size());
}

Result<MemoryPlan> acceptedPlan(const Container& container, const EngineOptions& options)
{
    const MemoryPlan::Request request{.budgetBytes = options.budgetBytes,
        .contextTokens = options.contextTokens,
        .threadCount = computeThreads(options),
        .prefillChunkTokens = options.prefillChunkTokens,
        .conversationCount = options.conversationCount,
        .vision = options.vision,
        .programBytes = options.programBytes};
    WASTE_TRY(const MemoryPlan plan, MemoryPlan::compute(container, request, Machine::detect()));
    Status status = plan.check();
    if (status)
        return plan;
    if (container.info().format == ModelInfo::Format::Checkpoint) {
        status.error().message += ". The exact weights of a published checkpoint are kept in memory, "
            + std::to_string(plan.trunkBytes) + " bytes here; a container made from it runs in less";
    }
    return std::move(status.error());
}

// A checkpoint's exact weights have no reduced products.
Arithmetic arithmeticFor(const detail::ModelFiles& files, const EngineOptions& options)
{
    return options.exact || files.container() == nullptr ? Arithmetic::Exact : Arithmetic::Reduced;
}

state::Identity makeIdentity(const detail::ModelFiles& files, const Sha256Digest& fingerprint, Arithmetic arithmetic)
{
    const ModelConfig& config = files.config;
    state::Identity identity;
    identity.model = fingerprint;
    identity.tokenizer = files.tokenizerDigest.value_or(Sha256Digest{});
    identity.kernels = arithmetic == Arithmetic::Exact ? state::KernelClass::Exact : state::KernelClass::Reduced;
    identity.shape = {.kdaLayerCount = config.kdaLayerCount(),
        .kdaHeadCount = config.kdaHeadCount,
        .kdaHeadDim = config.kdaHeadDim,
        .convolutionKernel = config.convolutionKernel,
        .mlaLayerCount = config.mlaLayerCount(),
        .kvLoraRank = config.kvLoraRank,
        .ropeDim = config.ropeDim,
        .vocabularySize = config.vocabularySize};
    return identity;
}

// Speaks for every part of the budget but the states, of which each session takes its own.
Status reserveParts(Engine::Internals& engine)
{
    const MemoryPlan& plan = engine.plan;
    const std::pair<std::uint64_t, const char*> parts[] = {{plan.trunkBytes, "the trunk"},
        {plan.scratchBytes + plan.largerChunkBytes, "buffers and the program"}, {plan.visionBytes, "the vision tower"},
        {plan.expertCacheBytes, "the expert cache, and a vision tower that comes later"}};
    for (const auto& [bytes, purpose] : parts) {
        WASTE_TRY(Reservation reservation, engine.budget.reserve(bytes, purpose));
        engine.reservations.push_back(std::move(reservation));
    }
    assert(engine.budget.capacityBytes() - engine.budget.reservedBytes() >= plan.stateBytes);
    return {};
}

void logWarnings(const Engine::Internals& engine)
{
    if (!engine.options.log)
        return;
    for (const std::string& warning : engine.container->files().warnings())
        engine.options.log(LogLevel::Warning, warning);
    const std::uint32_t threadsWanted = computeThreads(engine.options);
    if (engine.pool.threadCount() < threadsWanted) {
        engine.options.log(LogLevel::Warning,
            "the system starts " + std::to_string(engine.pool.threadCount()) + " of " + std::to_string(threadsWanted)
                + " compute threads and no more, so computing may be slower; a limit on processes or on address space "
                  "is in the way");
    }
    if (engine.plan.machine.pages) {
        engine.options.log(LogLevel::Warning,
            engine.plan.loweredForPaging
                ? "this machine is paging: the expert cache gets half of its usual size; close other programs and open "
                  "the model again for all of it"
                : "this machine is paging: close other programs, or give a smaller RAM budget");
    }
    if (engine.plan.aboveSafeShare) {
        engine.options.log(LogLevel::Warning,
            "the RAM budget is more than 7/8 of what this machine can use: it may page, which is far slower than a "
            "smaller cache");
    }
}

// The slots that the plan names make room for it.
Status loadVision(Engine::Internals& engine, const ProgressSink& progress, const CancelFlag* cancel)
{
    const detail::ModelFiles& files = engine.container->files();
    if (engine.options.vision == VisionUse::Never) {
        return Error{ErrorCode::Unsupported, "no_vision",
            "the model was opened without its vision tower, so it cannot see pictures"};
    }
    // Without a tower that can be used nothing else is worth saying.
    if (auto described = VisionModel::describe(files); !described)
        return std::move(described.error());
    if (!engine.plan.visionFits) {
        const std::uint64_t neededBytes = engine.plan.floorBytes + engine.plan.visionExtraBytes;
        return Error{ErrorCode::RamBudget, "ram_budget",
            "to see pictures this model needs a budget of at least " + std::to_string((neededBytes >> 20) + 1)
                + " MiB; it was opened with " + std::to_string(engine.plan.budgetBytes >> 20) + " MiB"};
    }
    ExpertCache* const cache = engine.model->cache;
    const bool lends = cache != nullptr && engine.plan.visionSlotCount > 0;
    if (lends)
        cache->lend();
    Result<std::unique_ptr<VisionModel>> loaded = VisionModel::load(
        {.files = files, .kernels = engine.kernels, .pool = engine.pool, .directIo = engine.options.directIo}, progress,
        cancel);
    if (!loaded) {
        if (lends)
            cache->takeBack();
        return std::move(loaded.error());
    }
    engine.vision = std::move(*loaded);
    engine.visionLoaded.store(true, std::memory_order_relaxed);
    return {};
}

// All that the plan gives memory to.
Status load(Engine::Internals& engine, const ProgressSink& progress, const CancelFlag* cancel)
{
    const detail::ModelFiles& files = engine.container->files();
    const MemoryPlan& plan = engine.plan;
    const auto start = ScopedTime::Clock::now();
    WASTE_TRY(engine.model,
        LoadedModel::load({.files = files,
            .plan = plan,
            .options = engine.options,
            .kernels = engine.kernels,
            .progress = progress,
            .cancel = cancel}));
    const std::chrono::duration<double> reading = ScopedTime::Clock::now() - start;
    if (reading.count() > 0)
        engine.openBytesPerSecond = static_cast<double>(plan.trunkBytes) / reading.count();
    if (engine.options.vision == VisionUse::FromTheStart)
        WASTE_TRY_STATUS(loadVision(engine, progress, cancel));
    const Arithmetic arithmetic = arithmeticFor(files, engine.options);
    engine.identity = makeIdentity(files, engine.model->fingerprint, arithmetic);

    const std::uint32_t chunkTokens = plan.prefillChunkTokens;
    const std::uint64_t scratchBytes = Decoder::scratchBytes(files.config, chunkTokens, engine.pool.threadCount());
    WASTE_TRY(Arena scratch, Arena::create(scratchBytes, "intermediate results"));
    engine.scratch = std::make_unique<Arena>(std::move(scratch));
    const Decoder::Parts parts{.config = files.config,
        .weights = engine.model->weights,
        .embedding = *engine.model->embedding,
        .experts = engine.model->experts.get(),
        .kernels = engine.kernels,
        .pool = engine.pool,
        .chunkTokensMax = chunkTokens,
        .arithmetic = arithmetic};
    engine.decoder = std::make_unique<Decoder>(parts, *engine.scratch);
    engine.sampler = std::make_unique<Sampler>(files.config.vocabularySize);
    WASTE_TRY_STATUS(engine.sampler->configure({}));
    engine.firstRandomState = engine.sampler->randomState();
    return {};
}

Result<std::shared_ptr<Engine::Internals>> assemble(std::shared_ptr<const Container> container,
    const EngineOptions& options, const ProgressSink& progress, const CancelFlag* cancel)
{
    WASTE_TRY_STATUS(checkCpus(options.cpus));
    WASTE_TRY(const MemoryPlan plan, acceptedPlan(*container, options));
    WASTE_TRY(const kernels::KernelTable* kernels, kernels::selectKernels());
    const std::uint32_t threadsWanted = computeThreads(options);
    auto engine = std::make_shared<Engine::Internals>(std::move(container), options, plan, *kernels, threadsWanted);
    WASTE_TRY_STATUS(reserveParts(*engine));
    logWarnings(*engine);

    Status loaded = guarded([&] { return load(*engine, progress, cancel); });
    const std::uint32_t threadCount = engine->pool.threadCount();
    if (!loaded && loaded.error().code == ErrorCode::OutOfMemory && threadCount < threadsWanted) {
        // Where there was no address space for one more stack, a smaller budget is of no help.
        loaded.error().message = "the system started " + std::to_string(threadCount) + " of "
            + std::to_string(threadsWanted)
            + " compute threads, and then had no memory left for the model; use fewer threads, or raise the limit on "
              "address space (`ulimit -v`)";
    }
    WASTE_TRY_STATUS(std::move(loaded));
    return engine;
}

double milliseconds(const Engine::Internals::Count& nanoseconds)
{
    return static_cast<double>(nanoseconds.load(std::memory_order_relaxed)) / 1e6;
}

double milliseconds(std::chrono::nanoseconds duration)
{
    return static_cast<double>(duration.count()) / 1e6;
}

} // namespace

Result<std::unique_ptr<Engine>> Engine::open(std::shared_ptr<const Container> container, const EngineOptions& options,
    const ProgressSink& progress, const CancelFlag* cancel)
{
    assert(container != nullptr);
    return guarded([&]() -> Result<std::unique_ptr<Engine>> {
        WASTE_TRY(std::shared_ptr<Internals> internals, assemble(std::move(container), options, progress, cancel));
        return std::unique_ptr<Engine>(new Engine(std::move(internals)));
    });
}

Engine::Engine(std::shared_ptr<Internals> internals)
    : m_internals(std::move(internals))
{
}

Engine::~Engine()
{
    const EngineOptions& options = m_internals->options;
    if (!options.learn || m_internals->model->cache == nullptr)
        return;
    const Status saved = saveUsage();
    if (!saved && options.log)
        options.log(LogLevel::Warning, "the hot list was not saved: " + saved.error().message);
}

Status Engine::saveUsage() const
{
    return guarded([&]() -> Status {
        const LoadedModel& model = *m_internals->model;
        if (model.cache == nullptr)
            return Error{ErrorCode::Unsupported, "no_cache",
                "all experts of this model are in memory; there is no list to keep"};
        if (model.usageFileIsForeign)
            return Error{ErrorCode::InvalidArgument, "not_a_list",
                textFromPath(model.usageFile)
                    + " was no list of this model's experts and is left as it is; name another file, or delete it"};
        return model.cache->usage().save(model.usageFile);
    });
}

Result<std::unique_ptr<Session>> Engine::createSession()
{
    return guarded([&]() -> Result<std::unique_ptr<Session>> {
        WASTE_TRY(std::unique_ptr<Session::Internals> session, Session::Internals::create(m_internals));
        return std::make_unique<Session>(std::move(session));
    });
}

Result<std::vector<float>> Engine::encodePicture(std::span<const std::byte> file, std::string_view name,
    const ProgressSink& progress, const CancelFlag* cancel, PictureDetail detail)
{
    return guarded([&]() -> Result<std::vector<float>> {
        const GenerationLock lock(*m_internals);
        WASTE_TRY_STATUS(lock.status());
        if (m_internals->vision == nullptr)
            WASTE_TRY_STATUS(loadVision(*m_internals, progress, cancel));
        return m_internals->vision->encode(file, name, progress, cancel, detail);
    });
}

Status Engine::releaseVision()
{
    const GenerationLock lock(*m_internals);
    WASTE_TRY_STATUS(lock.status());
    if (m_internals->vision == nullptr)
        return {};
    m_internals->vision.reset();
    m_internals->visionLoaded.store(false, std::memory_order_relaxed);
    if (m_internals->model->cache != nullptr && m_internals->plan.visionSlotCount > 0)
        m_internals->model->cache->takeBack();
    return {};
}

bool Engine::isVisionLoaded() const
{
    return m_internals->visionLoaded.load(std::memory_order_relaxed);
}

const Container& Engine::container() const
{
    return *m_internals->container;
}

const MemoryPlan& Engine::plan() const
{
    return m_internals->plan;
}

std::string Engine::fingerprint() const
{
    return hexText(m_internals->model->fingerprint);
}

std::string Engine::visionFingerprint() const
{
    return VisionModel::fingerprint(m_internals->container->files(), m_internals->model->fingerprint);
}

std::uint32_t Engine::threadCount() const
{
    return m_internals->pool.threadCount();
}

std::string Engine::backend() const
{
    return m_internals->kernels.name;
}

bool Engine::exactKernels() const
{
    return m_internals->identity.kernels == state::KernelClass::Exact;
}

Statistics Engine::statistics() const
{
    const Internals& engine = *m_internals;
    Statistics statistics;
    statistics.tokensPrefilled = engine.tokensPrefilled.load(std::memory_order_relaxed);
    statistics.tokensDecoded = engine.tokensDecoded.load(std::memory_order_relaxed);
    statistics.prefillMs = milliseconds(engine.prefillNs);
    statistics.decodeMs = milliseconds(engine.decodeNs);
    statistics.openBytesPerSecond = engine.openBytesPerSecond;
    if (engine.model->cache != nullptr) {
        const CacheStatistics cache = engine.model->cache->statistics();
        statistics.expertHits = cache.hits;
        statistics.expertMisses = cache.misses;
        statistics.bytesRead = cache.bytesRead;
        statistics.readsIssued = cache.readsIssued;
        statistics.evictions = cache.evictions;
        statistics.speculativeIssued = cache.guessesIssued;
        statistics.speculativeUseful = cache.guessesUseful;
        statistics.speculativeWasted = cache.guessesWasted;
        statistics.readWaitMs = milliseconds(cache.readWait);
        statistics.diskBusyMs = milliseconds(cache.diskBusy);
        statistics.readLatencyMedianMs = milliseconds(cache.latency.median);
        statistics.readLatency95Ms = milliseconds(cache.latency.p95);
        statistics.readLatencyMaxMs = milliseconds(cache.latency.longest);
        if (statistics.diskBusyMs > 0)
            statistics.readBytesPerSecond = static_cast<double>(cache.bytesRead) / (statistics.diskBusyMs / 1e3);
        statistics.slotsUsed = cache.slotsUsed;
        statistics.slotCount = cache.slotCount;
        statistics.directIo = engine.model->cache->store().isDirect();
        statistics.asyncIo = engine.model->cache->readerName() == "io_uring";
    }
    statistics.computeMs = std::max(0.0, statistics.prefillMs + statistics.decodeMs - statistics.readWaitMs);
    return statistics;
}

} // namespace waste
