// Products with an expert's matrices as the decoder and a chunk compute them, on one core.

#include "benchmark_kernels.h"

#include "base/half.h"
#include "container/index_packing.h"
#include "kernels/matrix_product.h"
#include "kernels/word_books.h"
#include "multiply_add_peak.h"
#include "platform/pages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace waste::benchmark {
namespace {

using kernels::VqMatrixView;

std::vector<float> randomVector(std::size_t count)
{
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> values(count);
    for (float& value : values)
        value = uniform(random);
    return values;
}

std::vector<std::byte> randomBytes(std::size_t count)
{
    std::mt19937_64 random(2);
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random());
    return bytes;
}

// Gate matrices of K3's experts with random indices, in huge pages as the engine keeps them; more than any cache
// holds.
class Experts {
public:
    static constexpr std::uint32_t kRows = 3072;
    static constexpr std::uint32_t kColumns = 3584;

    static Result<Experts> make(std::uint8_t indexBits)
    {
        Experts experts;
        WASTE_TRY(experts.m_indices, Pages::allocate(kCount * kIndexBytes, "experts"));
        const auto bytes = randomBytes(kCount * kIndexBytes);
        std::copy(bytes.begin(), bytes.end(), experts.m_indices.bytes().begin());
        const std::uint8_t stages = indexBits == 8 ? 3 : 4;
        experts.m_scales.assign(kRows, halfFromFloat(0.5F));
        experts.m_codebooks = randomVector(std::size_t{stages} * 256 * 8);
        experts.m_view = {kRows, kColumns, 8, stages, indexBits, 64};
        return experts;
    }

    // Another one at each call.
    VqMatrixView next()
    {
        ++m_current;
        return current();
    }
    // The one that was last.
    [[nodiscard]] VqMatrixView current() const
    {
        VqMatrixView view = m_view;
        view.indices =
            reinterpret_cast<const std::uint8_t*>(m_indices.bytes().data()) + m_current % kCount * kIndexBytes;
        view.scales = m_scales.data();
        view.codebooks = m_codebooks.data();
        return view;
    }
    // That a table takes: every entry that indices can name times the columns that it stands for, at every position.
    [[nodiscard]] double tableMultiplyAdds() const
    {
        return static_cast<double>((std::size_t{m_view.stages} << m_view.indexBits) * kColumns);
    }
    static double gigabytes() { return static_cast<double>(kIndexBytes) / 1e9; }
    static double gigaMultiplyAdds(std::size_t vectors)
    {
        return 1e-9 * kRows * kColumns * static_cast<double>(vectors);
    }
    static constexpr int kCount = 32;

private:
    static constexpr std::size_t kIndexBytes = std::size_t{kRows} * (kColumns / 8) * 3;
    Pages m_indices;
    std::vector<std::uint16_t> m_scales;
    std::vector<float> m_codebooks;
    VqMatrixView m_view;
    std::size_t m_current = 0;
};

// The plain way to use codebooks: what each entry is worth at each position is computed once for an input, and looked
// up for each row (spec: kernels 3).
class PlainGather {
public:
    PlainGather(const VqMatrixView& matrix, const float* x)
        : m_stages(matrix.stages)
        , m_tables(std::size_t{matrix.columns} / matrix.vecDim * m_stages * kEntries)
    {
        for (std::size_t i = 0; i < m_tables.size(); ++i) {
            const std::size_t position = i / (m_stages * kEntries);
            const float* const entry = matrix.codebooks + i % (m_stages * kEntries) * matrix.vecDim;
            for (std::size_t k = 0; k < matrix.vecDim; ++k)
                m_tables[i] += entry[k] * x[position * matrix.vecDim + k];
        }
    }

    void multiply(const VqMatrixView& matrix, float* y) const
    {
        const std::uint8_t* indices = matrix.indices;
        for (std::uint32_t row = 0; row < matrix.rows; row += matrix.indexBlock) {
            std::fill_n(y + row, matrix.indexBlock, 0.0F);
            for (const float* table = m_tables.data(); table < m_tables.data() + m_tables.size();
                 table += m_stages * kEntries) {
                for (std::uint32_t r = 0; r < matrix.indexBlock; ++r, indices += 3)
                    y[row + r] += matrix.indexBits == 8 ? sumOfBytes(table, indices) : sumOfSixBits(table, indices);
            }
            for (std::uint32_t r = 0; r < matrix.indexBlock; ++r)
                y[row + r] *= floatFromHalf(matrix.scales[row + r]);
        }
    }

private:
    static constexpr std::size_t kEntries = 256; // of a stage, as they lie

    static float sumOfBytes(const float* table, const std::uint8_t* indices)
    {
        return table[indices[0]] + table[kEntries + indices[1]] + table[2 * kEntries + indices[2]];
    }
    static float sumOfSixBits(const float* table, const std::uint8_t* indices)
    {
        const std::array<std::uint8_t, 4> stages = unpackSixBit(indices);
        return table[stages[0]] + table[kEntries + stages[1]] + table[2 * kEntries + stages[2]]
            + table[3 * kEntries + stages[3]];
    }

    std::size_t m_stages;
    std::vector<float> m_tables; // [positions][stages][entries]
};

// Several vectors as a chunk of a prompt gives them to an expert. Buffers begin at lines of the cache, as in the
// engine.
Status measureWords(const KernelRun& run, Experts& experts, const std::string& label)
{
    constexpr std::size_t kMost = 64;
    constexpr std::size_t kGroups = Experts::kColumns / kernels::kWordGroup;
    const auto x = randomVector(Experts::kColumns);
    WASTE_TRY(Pages groupPages, Pages::allocate(kGroups * kMost * sizeof(kernels::WordGroup), "words"));
    const std::span groups(reinterpret_cast<kernels::WordGroup*>(groupPages.bytes().data()), kGroups * kMost);
    for (std::size_t i = 0; i < groups.size(); ++i)
        run.kernels.splitWords(x.data() + i / kMost * kernels::kWordGroup, kernels::kWordGroup, groups[i]);
    WASTE_TRY(Pages bookPages, Pages::allocate(kernels::kWordBookBytes, "codebooks"));
    const kernels::WordBooks books = kernels::buildWordBooks(experts.next(),
        {reinterpret_cast<std::int16_t*>(bookPages.bytes().data()), kernels::kWordBookBytes / sizeof(std::int16_t)});
    std::vector<float> y(kMost * kernels::kWordRows);
    WASTE_TRY(Pages tilePages, Pages::allocate(kernels::kTileFloats * sizeof(float), "tile"));
    auto* const tile = reinterpret_cast<float*>(tilePages.bytes().data());
    for (const std::size_t count : {std::size_t{1}, std::size_t{4}, std::size_t{16}, kMost}) {
        const double seconds = bestSeconds(Experts::kCount, [&] {
            const VqMatrixView matrix = experts.next();
            for (std::uint32_t row = 0; row < Experts::kRows; row += kernels::kWordRows)
                kernels::multiplyWords(run.kernels, matrix, books, {groups.data(), kMost, count}, y.data(), row, tile);
        });
        run.table.add({label + std::to_string(count) + (count == 1 ? " vector in words" : " vectors in words"),
            Experts::gigaMultiplyAdds(count) / seconds, "GMAC/s", kWordsPerFloat * run.multiplyAdds});
    }
    return {};
}

// Seconds that one vector takes by tables; 0: the kernels have none for this format.
struct LookUp {
    double build = 0;
    double multiply = 0;
    std::vector<float> result = {}; // of the current expert
};

Result<LookUp> measureTables(const kernels::ProductTables& kernels, Experts& experts, const float* x)
{
    constexpr std::size_t kPositions = Experts::kColumns / kernels::kTableColumns;
    const std::size_t bytes = kernels.positionBytes(experts.next());
    if (bytes == 0)
        return LookUp{};
    WASTE_TRY(Pages entries, Pages::allocate(kPositions * bytes, "tables"));
    std::vector<float> scales(kPositions / kernels::kTableBlock);
    const kernels::TableInput tables = {
        reinterpret_cast<std::uint8_t*>(entries.bytes().data()), scales.data(), kPositions};
    LookUp lookUp;
    lookUp.result.resize(Experts::kRows);
    const auto multiply = [&] { kernels.multiply(experts.next(), tables, lookUp.result.data(), 0, Experts::kRows); };
    lookUp.build = bestSeconds(1, [&] { kernels.build(experts.next(), x, tables, 0, kPositions); });
    lookUp.multiply = bestSeconds(Experts::kCount, multiply);
    multiply();
    return lookUp;
}

// What exact kernels reach with one vector and with a few, beside the plain way.
Status measureExact(const KernelRun& run, Experts& experts, const std::string& label)
{
    const auto x = randomVector(std::size_t{Experts::kColumns} * kernels::kVqVectorsMax);
    std::vector<float> y(std::size_t{Experts::kRows} * kernels::kVqVectorsMax);
    const auto multiply = [&](const VqMatrixView& matrix, std::size_t vectors) {
        run.kernels.multiplyVqRows(
            matrix, {x.data(), Experts::kColumns, vectors, y.data(), Experts::kRows}, 0, Experts::kRows);
    };
    const auto seconds = [&](std::size_t vectors) {
        return bestSeconds(Experts::kCount, [&] { multiply(experts.next(), vectors); });
    };
    WASTE_TRY(const LookUp tables, measureTables(run.kernels.exactTables, experts, x.data()));
    const VqMatrixView matrix = experts.current();
    const PlainGather gather(matrix, x.data());
    std::vector<float> gathered(Experts::kRows);
    gather.multiply(matrix, gathered.data());
    multiply(matrix, 1);
    for (std::size_t row = 0; row < gathered.size(); ++row) {
        const auto agrees = [&](float value) { return std::abs(gathered[row] - value) <= 1e-2F; };
        if (!agrees(y[row]))
            return Error{ErrorCode::Internal, "", label + "the plain gather computes something else"};
        if (tables.multiply != 0 && !agrees(tables.result[row]))
            return Error{ErrorCode::Internal, "", label + "exact tables compute something else"};
    }
    const double plain = bestSeconds(Experts::kCount, [&] { gather.multiply(experts.next(), gathered.data()); });

    const double rate = Experts::gigabytes() / (tables.multiply == 0 ? seconds(1) : tables.multiply);
    if (tables.multiply != 0)
        run.table.add({label + "exact tables of one vector", tables.build * 1e6, "us",
            experts.tableMultiplyAdds() / run.multiplyAdds / 1e3, 0, true});
    run.table.add({label + "one vector, exact", rate, "GB/s", run.memory.oneThread});
    run.table.add({.name = label + "one vector, exact, against a plain gather",
        .value = rate,
        .unit = "GB/s",
        .goalRatio = kExactGoal,
        .reference = Experts::gigabytes() / plain});
    run.table.add(
        {label + "four vectors, exact", Experts::gigaMultiplyAdds(4) / seconds(4), "GMAC/s", run.multiplyAdds});
    return {};
}

// One vector as the decoder multiplies it: by tables where the format has them, and exactly.
Status measureExpert(const KernelRun& run, std::uint8_t indexBits, const std::string& name)
{
    WASTE_TRY(Experts experts, Experts::make(indexBits));
    const std::string label = "expert " + name + " 3072x3584, ";
    WASTE_TRY_STATUS(measureExact(run, experts, label));
    WASTE_TRY_STATUS(measureWords(run, experts, label));
    const auto x = randomVector(Experts::kColumns);
    WASTE_TRY(const LookUp tables, measureTables(run.kernels.reducedTables, experts, x.data()));
    if (tables.multiply == 0)
        return {};
    run.table.add({label + "tables of one vector", tables.build * 1e6, "us",
        experts.tableMultiplyAdds() / run.multiplyAdds / 1e3, 0, true});
    const double goal = std::string_view(run.kernels.name) == "avx512vbmi" ? 0.30 : 0.15;
    run.table.add(
        {label + "one vector by tables", Experts::gigabytes() / tables.multiply, "GB/s", run.memory.oneThread, goal});
    return {};
}

} // namespace

void measureExperts(const KernelRun& run)
{
    for (const auto& [indexBits, name] : {std::pair<std::uint8_t, const char*>(8, "VQ3R"), {6, "VQ4P"}}) {
        if (const Status status = measureExpert(run, indexBits, name); !status)
            run.table.note(status.error().message);
    }
}

} // namespace waste::benchmark
