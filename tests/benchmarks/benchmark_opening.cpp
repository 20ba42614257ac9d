// How long it takes until a model can be asked.

#include "benchmark_models.h"

#include "platform/direct_file.h"
#include "waste/disk_benchmark.h"
#include "waste/engine.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

namespace waste::benchmark {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr std::uint64_t kReadBytes = std::uint64_t{4} << 20;
constexpr double kShareOfReading = 1.15; // of the time that reading the trunk takes at least
constexpr double kFixedSeconds = 0.3;
constexpr int kRounds = 3;

Result<double> sequentialRate(const fs::path& model)
{
    DiskBenchmarkOptions options;
    options.path = model / "trunk.bin";
    options.recordBytes = kReadBytes;
    options.depths = {};
    WASTE_TRY(const DiskBenchmarkReport report, measureDisk(options));
    return report.sequentialBytesPerSecond;
}

// As after a start of the machine: what was read or written of the container before is in no cache of the system.
Status forgetFiles(const fs::path& model)
{
    std::error_code error; // a file that goes meanwhile is none of a container
    for (fs::directory_iterator entry(model, error), end; entry != end; entry.increment(error)) {
        if (!entry->is_regular_file(error))
            continue;
        WASTE_TRY(const DirectFile file, DirectFile::open(entry->path(), DirectFile::Access::Buffered));
        file.forget(0, file.sizeBytes());
    }
    return {};
}

// Seconds until a model that nobody has read can be asked.
Result<double> openCold(const fs::path& model, std::uint64_t budgetBytes)
{
    WASTE_TRY_STATUS(forgetFiles(model));
    EngineOptions options;
    options.budgetBytes = budgetBytes;
    const auto start = Clock::now();
    WASTE_TRY(const auto container, Container::open(model));
    WASTE_TRY(const auto engine, Engine::open(container, options));
    return std::chrono::duration<double>(Clock::now() - start).count();
}

Status measure(Table& table, const std::string& name, const fs::path& model)
{
    std::uint64_t trunkBytes = 0;
    std::uint64_t floorBytes = 0;
    {
        WASTE_TRY(const auto container, Container::open(model));
        WASTE_TRY(const MemoryPlan plan, MemoryPlan::compute(*container, {}, Machine::detect()));
        trunkBytes = plan.trunkBytes;
        floorBytes = plan.floorBytes;
    }
    WASTE_TRY(double rate, sequentialRate(model));
    WASTE_TRY(double seconds, openCold(model, floorBytes));
    for (int round = 1; round < kRounds; ++round) {
        WASTE_TRY(const double again, openCold(model, floorBytes));
        seconds = std::min(seconds, again);
    }
    WASTE_TRY(const double rateAfter, sequentialRate(model));
    rate = std::max(rate, rateAfter);

    const double readSeconds = static_cast<double>(trunkBytes) / rate;
    const double allowedSeconds = kShareOfReading * readSeconds + kFixedSeconds;
    table.add({name + ", sequential reads of its trunk", rate / 1e9, "GB/s"});
    table.add({name + ", opening, nothing of it in the page cache", seconds, "s", readSeconds,
        readSeconds / allowedSeconds, true});
    return {};
}

} // namespace

void measureOpening(Table& table, BenchModels& models)
{
    const auto report = [&table](const Status& status) {
        if (!status)
            table.note(status.error().message);
    };
    if (const auto linear = models.kimiLinear())
        report(measure(table, "Kimi-Linear", *linear));
    if (const auto k3 = models.k3())
        report(measure(table, "K3", *k3));
}

} // namespace waste::benchmark
