#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace waste {

// Columns per vector of our containers.
inline constexpr std::uint32_t kVectorDim = 8;
// Vectors that are searched as one piece of work, wherever the order of sums must not depend on threads.
inline constexpr std::size_t kTileVectors = 4096;

// Finds the nearest codebook entry by squared distance. Equally near: the lowest index.
//
// argmin ‖x − c‖² = argmin (½‖c‖² − x·c). Entries are kept by dimension, so that the compiler computes
// several distances at once; they are never stored beyond one vector.
class CodebookSearch {
public:
    // [entries][kVectorDim], 64 or 256 entries.
    explicit CodebookSearch(std::span<const float> codebook);

    // vectors [count][kVectorDim] → indices [count].
    void nearest(const float* vectors, std::size_t count, std::uint8_t* indices) const;

private:
    std::size_t m_entryCount;
    std::vector<float> m_byDimension; // [kVectorDim][entries]
    std::vector<float> m_halfNorms; // [entries]
};

} // namespace waste
