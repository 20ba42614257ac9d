// Products with an expert's matrices as the decoder and a chunk compute them, on one core.

#include "benchmark_kernels.h"

#include "base/half.h"
#include "kernels/matrix_product.h"
#include "kernels/word_books.h"
#include "multiply_add_peak.h"
#include "platform/pages.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace waste::benchmark {
namespace {

using kernels::KernelTable;
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
        experts.m_codebooks = randomVector((std::size_t{stages} << indexBits) * 8);
        experts.m_view = {kRows, kColumns, 8, stages, indexBits, 64};
        return experts;
    }

    // Another one at each call.
    VqMatrixView next()
    {
        VqMatrixView view = m_view;
        view.indices =
            reinterpret_cast<const std::uint8_t*>(m_indices.bytes().data()) + m_next++ % kCount * kIndexBytes;
        view.scales = m_scales.data();
        view.codebooks = m_codebooks.data();
        return view;
    }
    [[nodiscard]] double codebookValues() const { return static_cast<double>(m_codebooks.size()); }
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
    std::size_t m_next = 0;
};

// Several vectors as a chunk of a prompt gives them to an expert.
void measureWords(const KernelRun& run, Experts& experts, const std::string& label)
{
    constexpr std::size_t kMost = 64;
    constexpr std::size_t kGroups = Experts::kColumns / kernels::kWordGroup;
    const auto x = randomVector(Experts::kColumns);
    std::vector<kernels::WordGroup> groups(kGroups * kMost);
    for (std::size_t i = 0; i < groups.size(); ++i)
        run.kernels.splitWords(x.data() + i / kMost * kernels::kWordGroup, kernels::kWordGroup, groups[i]);
    std::vector<std::int16_t> values(kernels::kWordBookValues);
    const kernels::WordBooks books = kernels::buildWordBooks(experts.next(), values);
    std::vector<float> y(kMost * kernels::kWordRows);
    std::vector<float> tile(kernels::kTileFloats);
    for (const std::size_t count : {std::size_t{1}, std::size_t{4}, std::size_t{16}, kMost}) {
        const double seconds = bestSeconds(Experts::kCount, [&] {
            const VqMatrixView matrix = experts.next();
            for (std::uint32_t row = 0; row < Experts::kRows; row += kernels::kWordRows)
                kernels::multiplyWords(
                    run.kernels, matrix, books, {groups.data(), kMost, count}, y.data(), row, tile.data());
        });
        run.table.add({label + std::to_string(count) + (count == 1 ? " vector in words" : " vectors in words"),
            Experts::gigaMultiplyAdds(count) / seconds, "GMAC/s", kWordsPerFloat * run.multiplyAdds});
    }
}

// One vector as the decoder multiplies it: by tables where the format has them, and exactly.
Status measureExpert(const KernelRun& run, std::uint8_t indexBits, const std::string& name)
{
    Table& table = run.table;
    const KernelTable& kernels = run.kernels;
    const double limit = run.memory.oneThread;
    WASTE_TRY(Experts experts, Experts::make(indexBits));
    const auto x = randomVector(std::size_t{Experts::kColumns} * kernels::kVqVectorsMax);
    std::vector<float> y(std::size_t{Experts::kRows} * kernels::kVqVectorsMax);
    const auto multiplyExactly = [&](std::size_t vectors) {
        return bestSeconds(Experts::kCount, [&] {
            kernels.multiplyVqRows(
                experts.next(), {x.data(), Experts::kColumns, vectors, y.data(), Experts::kRows}, 0, Experts::kRows);
        });
    };
    const std::string label = "expert " + name + " 3072x3584, ";
    table.add({label + "one vector, exact", Experts::gigabytes() / multiplyExactly(1), "GB/s", limit});
    table.add(
        {label + "four vectors, exact", Experts::gigaMultiplyAdds(4) / multiplyExactly(4), "GMAC/s", run.multiplyAdds});
    measureWords(run, experts, label);
    if (!kernels::takesTables(experts.next()))
        return {};

    constexpr std::size_t kPositions = Experts::kColumns / kernels::kTableColumns;
    WASTE_TRY(Pages entries, Pages::allocate(kPositions * kernels::kTableBytes, "tables"));
    std::vector<float> scales(kPositions / kernels::kTableBlock);
    const kernels::TableInput tables = {
        reinterpret_cast<std::uint8_t*>(entries.bytes().data()), scales.data(), kPositions};
    const double build = bestSeconds(1, [&] { kernels.buildTables(experts.next(), x.data(), tables, 0, kPositions); });
    const double multiply = bestSeconds(
        Experts::kCount, [&] { kernels.multiplyTables(experts.next(), tables, y.data(), 0, Experts::kRows); });
    // Every codebook entry times the columns that it stands for, at every position.
    const double buildMultiplyAdds = static_cast<double>(kPositions) * experts.codebookValues();
    table.add({label + "tables of one vector", build * 1e6, "us", buildMultiplyAdds / run.multiplyAdds / 1e3, 0, true});
    table.add({label + "one vector by tables", Experts::gigabytes() / multiply, "GB/s", limit, 0.15});
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
