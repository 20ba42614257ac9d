// How long it takes until a model can be asked.

#include "benchmark_models.h"

#include "waste/disk_benchmark.h"
#include "waste/engine.h"

#include <string>

namespace waste::benchmark {
namespace {

constexpr std::uint64_t kReadBytes = std::uint64_t{4} << 20;
constexpr double kShareOfReading = 1.15; // of the time that reading the trunk takes at least
constexpr double kFixedSeconds = 0.3;

Status measure(Table& table, const std::string& name, const std::filesystem::path& model)
{
    DiskBenchmarkOptions disk;
    disk.path = model / "trunk.bin";
    disk.recordBytes = kReadBytes;
    disk.depths = {};
    WASTE_TRY(const DiskBenchmarkReport report, measureDisk(disk));

    WASTE_TRY(const auto container, Container::open(model));
    EngineOptions options;
    WASTE_TRY(const MemoryPlan plan, MemoryPlan::compute(*container, {}, Machine::detect()));
    options.budgetBytes = plan.floorBytes;
    const double seconds = bestSeconds(2, [&] { static_cast<void>(Engine::open(container, options)); });
    const double readSeconds = static_cast<double>(plan.trunkBytes) / report.sequentialBytesPerSecond;
    table.add({name + ", sequential reads of its trunk", report.sequentialBytesPerSecond / 1e9, "GB/s"});
    table.add({name + ", opening (allowed: 1.15 times its reads + 0.3 s)", seconds, "s",
        kShareOfReading * readSeconds + kFixedSeconds, 1, true});
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
