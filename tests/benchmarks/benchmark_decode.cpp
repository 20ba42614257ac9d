// Decoding and prefill of whole models, with the disk as the limit and with everything in the cache.

#include "benchmark_models.h"

#include "bench_engine.h"
#include "waste/disk_benchmark.h"

namespace waste::benchmark {
namespace {

constexpr double kCachedShare = 0.05; // of the experts, in the disk-bound runs
constexpr std::uint32_t kPromptTokens = 8;
constexpr std::uint32_t kLongPromptTokens = 512;
constexpr std::uint32_t kRounds = 3;

struct DecodeRun {
    std::string name;
    std::filesystem::path model;
    std::uint32_t tokens = 0; // a round
    double cachedGoal = 0;
    bool withPrefill = false;
};

// Bytes a second of reads of one expert each, as many under way as pay.
Result<double> randomReadRate(const std::filesystem::path& model, std::uint64_t recordBytes)
{
    DiskBenchmarkOptions options;
    options.path = model;
    options.recordBytes = recordBytes;
    options.timePerRun = std::chrono::milliseconds(1000);
    WASTE_TRY(const DiskBenchmarkReport report, measureDisk(options));
    return report.bestRandomBytesPerSecond();
}

// The same tokens over and over, with room for the experts of all of them: the time of the computation alone.
Result<BenchEngine::Run> decodeCached(Table& table, const DecodeRun& what)
{
    WASTE_TRY(BenchEngine probe, BenchEngine::open(what.model, {}));
    const std::uint64_t cacheBytes = (what.tokens + 1) * probe.plan().workingSetBytes * 5 / 4;
    WASTE_TRY(BenchEngine cached, BenchEngine::open(what.model, {.cacheBytes = cacheBytes}));
    WASTE_TRY_STATUS(cached.prefill(kPromptTokens));
    const double memoryBefore = memoryRateOfAllThreads();
    WASTE_TRY(const BenchEngine::Run run, cached.decode(what.tokens, kRounds));
    const double memoryRate = std::max(memoryBefore, memoryRateOfAllThreads());
    if (run.misses > 0)
        table.note(
            what.name + ": " + std::to_string(run.misses) + " experts of the cached run were read from the disk");
    table.add({what.name + ", memory read, all threads", memoryRate, "GB/s"});
    table.add({what.name + ", decode, cached", run.rate(), "tok/s", memoryRate * 1e9 / cached.bytesPerCachedToken(),
        what.cachedGoal});
    return run;
}

// As decode() does: once for what is met for the first time, then the fastest round.
Result<BenchEngine::Run> prefillBest(BenchEngine& engine)
{
    WASTE_TRY_STATUS(engine.prefill(kLongPromptTokens));
    WASTE_TRY(BenchEngine::Run best, engine.prefill(kLongPromptTokens));
    for (std::uint32_t round = 1; round < kRounds; ++round) {
        WASTE_TRY(const BenchEngine::Run run, engine.prefill(kLongPromptTokens));
        if (run.seconds < best.seconds)
            best = run;
    }
    return best;
}

void addPrefill(Table& table, const std::string& name, const BenchEngine::Run& prefill, const BenchEngine::Run& decode,
    double goalRatio)
{
    table.add(
        {.name = name, .value = prefill.rate(), .unit = "tok/s", .goalRatio = goalRatio, .reference = decode.rate()});
}

Status measureDiskBound(Table& table, const DecodeRun& what, const BenchEngine::Run& cached)
{
    WASTE_TRY(const auto container, Container::open(what.model));
    const std::uint64_t recordBytes = container->info().expertRecordBytes;
    WASTE_TRY(const double rateBefore, randomReadRate(what.model, recordBytes));
    WASTE_TRY(const MemoryPlan plan, MemoryPlan::compute(*container, {}, Machine::detect()));
    const auto cacheBytes = static_cast<std::uint64_t>(kCachedShare * static_cast<double>(plan.allExpertsBytes));
    WASTE_TRY(BenchEngine engine, BenchEngine::open(what.model, {.cacheBytes = cacheBytes}));
    WASTE_TRY_STATUS(engine.prefill(kPromptTokens));
    WASTE_TRY(const BenchEngine::Run run, engine.decode(what.tokens, kRounds));
    WASTE_TRY(const double rateAfter, randomReadRate(what.model, recordBytes));

    const double diskRate = std::max(rateBefore, rateAfter);
    table.add({what.name + ", random reads of one expert", diskRate / 1e9, "GB/s"});
    const double diskSeconds = run.bytesPerToken() / diskRate;
    const double computeSeconds = 1 / cached.rate();
    table.add(
        {what.name + ", decode, disk-bound", run.rate(), "tok/s", 1 / std::max(diskSeconds, computeSeconds), 0.92});
    // Reads that nobody needed lower the limit above; this one they do not.
    const double demandSeconds = run.demandBytesPerToken() / diskRate;
    table.add({what.name + ", decode, disk-bound, limit without wrong guesses", run.rate(), "tok/s",
        1 / std::max(demandSeconds, computeSeconds)});
    table.add({what.name + ", read on wrong guesses",
        100 * static_cast<double>(run.wastedBytes) / static_cast<double>(std::max<std::uint64_t>(run.bytesRead, 1)),
        "%"});
    const double goalWhereTheDiskDecides = diskSeconds > computeSeconds ? 0.92 : 0;
    table.add({what.name + ", drive busy while decoding", 100 * run.diskBusySeconds / run.seconds, "%", 100,
        goalWhereTheDiskDecides});
    table.add({what.name + ", disk rate while decoding", static_cast<double>(run.bytesRead) / run.seconds / 1e9, "GB/s",
        diskRate / 1e9});
    if (!what.withPrefill)
        return {};
    WASTE_TRY(const BenchEngine::Run prefill, prefillBest(engine));
    addPrefill(table, what.name + ", prefill of 512, disk-bound, against decode", prefill, run, 8);
    table.add({what.name + ", disk rate in that prefill",
        static_cast<double>(prefill.bytesRead) / prefill.seconds / 1e9, "GB/s", diskRate / 1e9});
    return {};
}

Status measureModel(Table& table, const DecodeRun& what)
{
    WASTE_TRY(const BenchEngine::Run cached, decodeCached(table, what));
    return measureDiskBound(table, what, cached);
}

// Needs room for all experts: 512 tokens use most of them.
Status measureCachedPrefill(Table& table, const std::string& name, const std::filesystem::path& model)
{
    WASTE_TRY(const auto container, Container::open(model));
    WASTE_TRY(const MemoryPlan plan, MemoryPlan::compute(*container, {}, Machine::detect()));
    if (plan.floorBytes + plan.allExpertsBytes > plan.machine.usableBytes / 2) {
        table.note(name + ": too little RAM to keep all experts, the cached prefill is left out");
        return {};
    }
    WASTE_TRY(BenchEngine engine, BenchEngine::open(model, {.cacheBytes = plan.allExpertsBytes * 102 / 100}));
    WASTE_TRY(const BenchEngine::Run prefill, prefillBest(engine));
    WASTE_TRY(const BenchEngine::Run decode, engine.decode(16, kRounds));
    addPrefill(table, name + ", prefill of 512, cached, against decode", prefill, decode, 5);
    return {};
}

} // namespace

void measureDecode(Table& table, BenchModels& models)
{
    const auto report = [&table](const Status& status) {
        if (!status)
            table.note(status.error().message);
    };
    if (const auto linear = models.kimiLinear()) {
        report(measureModel(
            table, {.name = "Kimi-Linear", .model = *linear, .tokens = 16, .cachedGoal = 0.45, .withPrefill = true}));
        report(measureCachedPrefill(table, "Kimi-Linear", *linear));
    }
    if (const auto whole = models.wholeKimiLinear())
        report(
            measureModel(table, {.name = "Kimi-Linear, all layers", .model = *whole, .tokens = 8, .cachedGoal = 0.45}));
    if (const auto k3 = models.k3())
        report(measureModel(table, {.name = "K3", .model = *k3, .tokens = 6, .cachedGoal = 0.5}));
}

} // namespace waste::benchmark
