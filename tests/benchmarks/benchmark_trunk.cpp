// Products with the trunk's matrices as the decoder computes them, one vector and many, one core and all.

#include "benchmark_kernels.h"

#include "base/half.h"
#include "layers/linear.h"
#include "memory/arena.h"
#include "multiply_add_peak.h"
#include "plain_unpack.h"
#include "platform/pages.h"
#include "platform/threads.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace waste::benchmark {
namespace {

using kernels::MatrixView;
using kernels::WeightFormat;

// K3's widest kind, larger than any last-level cache here.
constexpr std::uint32_t kRows = 12288;
constexpr std::uint32_t kColumns = 7168;
constexpr std::uint32_t kGroup = 128;
constexpr std::uint32_t kManyTokens = 64;
constexpr double kGoalOneCore = 0.7;
constexpr double kGoalAllCores = 0.8;
constexpr double kGoalMultiplyAdds = 40; // 10^9 a second and core

// A matrix of random weights in huge pages, as the engine keeps them.
class RandomMatrix {
public:
    static Result<RandomMatrix> make(WeightFormat format)
    {
        RandomMatrix matrix;
        const std::uint64_t rowBytes = format == WeightFormat::Q4G ? kColumns / 2 : kColumns;
        WASTE_TRY(matrix.m_payload, Pages::allocate(kRows * rowBytes, "a matrix"));
        std::mt19937_64 random(1);
        const std::span<std::byte> bytes = matrix.m_payload.bytes();
        for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
            const std::uint64_t word = random();
            std::memcpy(bytes.data() + i, &word, 8);
        }
        matrix.m_scales.assign(std::size_t{kRows} * (kColumns / kGroup), halfFromFloat(0.01F));
        matrix.m_view = {format, kRows, kColumns, kGroup, rowBytes, bytes.data(), matrix.m_scales.data()};
        return matrix;
    }
    [[nodiscard]] const MatrixView& view() const { return m_view; }
    [[nodiscard]] double bytes() const
    {
        return static_cast<double>(m_payload.bytes().size() + m_scales.size() * sizeof(std::uint16_t));
    }

private:
    Pages m_payload;
    std::vector<std::uint16_t> m_scales; // keeps its address when moved
    MatrixView m_view{};
};

class TrunkBenchmark {
public:
    explicit TrunkBenchmark(const KernelRun& run)
        : m_run(run)
        , m_x(std::size_t{kColumns} * kManyTokens)
        , m_y(std::size_t{kRows} * kManyTokens)
    {
        std::mt19937 random(2);
        std::uniform_real_distribution<float> uniform(-1, 1);
        for (float& value : m_x)
            value = uniform(random);
    }

    Status measure(WeightFormat format, const std::string& name)
    {
        WASTE_TRY(const RandomMatrix matrix, RandomMatrix::make(format));
        const std::uint32_t cores = physicalCoreCount();
        const std::string title = "trunk " + name + " 12288x7168, ";
        const double gigabytes = matrix.bytes() / 1e9;
        Table& table = m_run.table;
        const MemoryBandwidth& memory = m_run.memory;
        const double exact = gigabytes / seconds(matrix.view(), Arithmetic::Exact, 1, 1);
        WASTE_TRY(const double plain, plainSeconds(matrix.view()));
        table.add({title + "one vector, exact, one core", exact, "GB/s", memory.oneThread});
        table.add({.name = title + "one vector, exact, against a plain unpack",
            .value = exact,
            .unit = "GB/s",
            .goalRatio = kExactGoal,
            .reference = gigabytes / plain});
        const double one = seconds(matrix.view(), Arithmetic::Reduced, 1, 1);
        table.add({title + "one vector, one core", gigabytes / one, "GB/s", memory.oneThread, kGoalOneCore});
        const double all = seconds(matrix.view(), Arithmetic::Reduced, 1, cores);
        table.add({title + "one vector, all cores", gigabytes / all, "GB/s", memory.allThreads, kGoalAllCores});
        const double many = seconds(matrix.view(), Arithmetic::Reduced, kManyTokens, 1);
        const double rate = double{kRows} * kColumns * kManyTokens / many / 1e9;
        const double limit = kWordsPerFloat * m_run.multiplyAdds;
        table.add({title + "64 vectors, one core", rate, "GMAC/s", limit, kGoalMultiplyAdds / limit});
        return {};
    }

private:
    double seconds(const MatrixView& matrix, Arithmetic arithmetic, std::uint32_t tokens, std::uint32_t threads)
    {
        ThreadPool pool({.threadCount = threads});
        std::vector<float> tiles(threads * kernels::kTileFloats);
        ArenaSize size;
        PlaneScratch::carve(size, kColumns, kManyTokens);
        auto arena = Arena::create(size.bytes(), "planes");
        if (!arena)
            return 0;
        const Compute compute{
            m_run.kernels, pool, tiles, PlaneScratch::carve(*arena, kColumns, kManyTokens), arithmetic};
        return bestSeconds(3, [&] { project(compute, {m_x.data(), kColumns, tokens}, matrix, {m_y.data(), kRows}); });
    }

    // Of what m_y has from the exact kernels, computed in the plain way.
    Result<double> plainSeconds(const MatrixView& matrix)
    {
        std::vector<float> scales(std::size_t{kRows} * (kColumns / kGroup));
        std::transform(matrix.scales, matrix.scales + scales.size(), scales.begin(), floatFromHalf);
        const PlainMatrix plain = {
            reinterpret_cast<const std::uint8_t*>(matrix.payload), scales.data(), kRows, kColumns};
        const auto multiply = matrix.format == WeightFormat::Q4G ? multiplyPlainQ4 : multiplyPlainQ8;
        std::vector<float> y(kRows);
        const double seconds = bestSeconds(3, [&] { multiply(plain, m_x.data(), y.data()); });
        for (std::size_t row = 0; row < y.size(); ++row) {
            if (std::abs(y[row] - m_y[row]) > 1e-2F)
                return Error{ErrorCode::Internal, "", "the plain unpack computes something else"};
        }
        return seconds;
    }

    const KernelRun& m_run;
    std::vector<float> m_x; // [tokens][columns]
    std::vector<float> m_y; // [tokens][rows]
};

} // namespace

void measureTrunk(const KernelRun& run)
{
    TrunkBenchmark benchmark(run);
    for (const auto& [format, name] : {std::pair(WeightFormat::Q4G, "Q4G"), std::pair(WeightFormat::Q8G, "Q8G")})
        if (const Status status = benchmark.measure(format, name); !status)
            run.table.note(status.error().message);
}

} // namespace waste::benchmark
