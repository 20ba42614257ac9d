#pragma once

#include "kernels/kernel_table.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace waste {

// Columns per vector of our containers.
inline constexpr std::uint32_t kVectorDim = 8;
static_assert(kVectorDim == kernels::kCodeColumns);
// Vectors that are searched as one piece of work, wherever the order of sums must not depend on threads.
inline constexpr std::size_t kTileVectors = 4096;

// Finds the nearest entry of one codebook by squared distance, argmin (½‖c‖² − x·c). Equally near: the lowest index.
class CodebookSearch {
public:
    // [entries][kVectorDim], 64 or 256 entries.
    CodebookSearch(const kernels::KernelTable& kernels, std::span<const float> codebook);

    // vectors [count][kVectorDim] → indices [count].
    void nearest(const float* vectors, std::size_t count, std::uint8_t* indices) const
    {
        m_kernels->nearestEntries(view(), vectors, count, indices);
    }

private:
    [[nodiscard]] kernels::CodeBook view() const { return {m_halfNorms.size(), m_columns.data(), m_halfNorms.data()}; }

    const kernels::KernelTable* m_kernels;
    std::vector<float> m_columns; // as kernels::CodeBook wants them
    std::vector<float> m_halfNorms;
};

// Finds for a vector one entry of every stage, so that their sum is near it, by a beam search
// (kernels/code_search.h).
class CodeSearch {
public:
    // [stages][entries][kVectorDim]; 2 to 4 stages of 64 or 256 entries.
    CodeSearch(const kernels::KernelTable& kernels, std::size_t stages, std::span<const float> codebooks);

    // vectors [count][kVectorDim], finite → codes [count][stages].
    void search(kernels::BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes) const;

private:
    struct Stage { // as kernels::CodeStage wants it
        std::vector<std::int16_t> columns;
        std::vector<std::int32_t> halfNorms;
    };
    static Stage stageOf(std::span<const float> codebook, float entryScale, float productScale);

    const kernels::KernelTable* m_kernels;
    std::vector<Stage> m_stages;
    std::vector<std::vector<std::int16_t>> m_products; // of stages t < s, at s(s−1)/2 + t
    float m_vectorScale = 0;
    float m_reach = 0;
};

} // namespace waste
