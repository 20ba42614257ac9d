#include "convert/joint_refit.h"

#include "convert/codebook_search.h"

#include <array>
#include <vector>

namespace waste {
namespace {

// After as many the entries move by less than their stored precision in all but the first rounds.
constexpr int kSweeps = 4;

// The normal equations: entry i of stage s is in row s·entries + i.
class Equations {
public:
    Equations(std::span<const float> vectors, std::span<const std::uint8_t> codes, std::size_t stages,
        std::size_t entries, ThreadPool& pool)
        : m_stages(stages)
        , m_entries(entries)
        , m_sums(stages * entries * kVectorDim)
        , m_meetings(stages * stages * entries * entries)
    {
        const auto pairs = static_cast<std::uint32_t>(stages * stages);
        pool.parallelFor(pairs, 1, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
            for (std::uint32_t pair = begin; pair < end; ++pair)
                count(codes, pair / stages, pair % stages);
        });
        pool.parallelFor(
            static_cast<std::uint32_t>(stages), 1, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
                for (std::uint32_t stage = begin; stage < end; ++stage)
                    sum(vectors, codes, stage);
            });
    }

    // Where entry i of stage s belongs while the others stay. `solution` as the rows.
    void move(std::size_t s, std::size_t i, std::span<double> solution) const
    {
        const std::uint32_t uses = meetings(s, s)[i * m_entries + i];
        if (uses == 0)
            return;
        std::array<double, kVectorDim> rest;
        for (std::size_t d = 0; d < kVectorDim; ++d)
            rest[d] = m_sums[(s * m_entries + i) * kVectorDim + d];
        for (std::size_t t = 0; t < m_stages; ++t) {
            const std::uint32_t* const row = meetings(s, t) + i * m_entries;
            for (std::size_t j = 0; t != s && j < m_entries; ++j) {
                if (row[j] == 0)
                    continue;
                const double* const other = solution.data() + (t * m_entries + j) * kVectorDim;
                for (std::size_t d = 0; d < kVectorDim; ++d)
                    rest[d] -= row[j] * other[d];
            }
        }
        for (std::size_t d = 0; d < kVectorDim; ++d)
            solution[(s * m_entries + i) * kVectorDim + d] = rest[d] / uses;
    }

private:
    [[nodiscard]] const std::uint32_t* meetings(std::size_t s, std::size_t t) const
    {
        return m_meetings.data() + (s * m_stages + t) * m_entries * m_entries;
    }

    void count(std::span<const std::uint8_t> codes, std::size_t s, std::size_t t)
    {
        std::uint32_t* const table = m_meetings.data() + (s * m_stages + t) * m_entries * m_entries;
        for (std::size_t i = 0; i < codes.size(); i += m_stages)
            ++table[codes[i + s] * m_entries + codes[i + t]];
    }

    void sum(std::span<const float> vectors, std::span<const std::uint8_t> codes, std::size_t s)
    {
        for (std::size_t v = 0; v < vectors.size() / kVectorDim; ++v) {
            double* const row = m_sums.data() + (s * m_entries + codes[v * m_stages + s]) * kVectorDim;
            for (std::size_t d = 0; d < kVectorDim; ++d)
                row[d] += static_cast<double>(vectors[v * kVectorDim + d]);
        }
    }

    std::size_t m_stages;
    std::size_t m_entries;
    std::vector<double> m_sums; // [stages][entries][kVectorDim], of the vectors that use an entry
    std::vector<std::uint32_t> m_meetings; // [stages][stages][entries][entries], codes that use both
};

} // namespace

void refitJointly(std::span<const float> vectors, std::span<const std::uint8_t> codes, std::size_t stages,
    std::span<float> codebooks, ThreadPool& pool)
{
    const std::size_t entries = codebooks.size() / stages / kVectorDim;
    const Equations equations(vectors, codes, stages, entries, pool);
    std::vector<double> solution(codebooks.begin(), codebooks.end());
    constexpr std::uint32_t kEntriesPerPiece = 16;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
        // Entries of one stage never meet, so that they may move at the same time.
        for (std::size_t s = 0; s < stages; ++s) {
            pool.parallelFor(static_cast<std::uint32_t>(entries), kEntriesPerPiece,
                [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
                    for (std::size_t i = begin; i < end; ++i)
                        equations.move(s, i, solution);
                });
        }
    }
    for (std::size_t i = 0; i < solution.size(); ++i)
        codebooks[i] = static_cast<float>(solution[i]);
}

} // namespace waste
