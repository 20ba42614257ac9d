#include "convert/codebook_search.h"

#include <array>
#include <cassert>

namespace waste {
namespace {

constexpr std::size_t kLanes = 8;

// The number of entries is known to the compiler: only then does it use vector instructions here.
template<std::size_t kEntries>
std::uint8_t nearestEntry(const float* x, const float* c, const float* halfNorms)
{
    alignas(64) std::array<float, kEntries> distances;
    for (std::size_t e = 0; e < kEntries; ++e)
        distances[e] = halfNorms[e] - x[0] * c[e] - x[1] * c[kEntries + e] - x[2] * c[2 * kEntries + e]
            - x[3] * c[3 * kEntries + e] - x[4] * c[4 * kEntries + e] - x[5] * c[5 * kEntries + e]
            - x[6] * c[6 * kEntries + e] - x[7] * c[7 * kEntries + e];

    std::array<float, kLanes> smallest;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
        smallest[lane] = distances[lane];
    for (std::size_t e = kLanes; e < kEntries; e += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            smallest[lane] = distances[e + lane] < smallest[lane] ? distances[e + lane] : smallest[lane];
    }
    float best = smallest[0];
    for (const float distance : smallest)
        best = distance < best ? distance : best;
    std::size_t index = 0;
    while (index + 1 < kEntries && distances[index] != best)
        ++index;
    return static_cast<std::uint8_t>(index);
}

template<std::size_t kEntries>
void nearestEntries(
    const float* vectors, std::size_t count, const float* c, const float* halfNorms, std::uint8_t* indices)
{
    for (std::size_t i = 0; i < count; ++i)
        indices[i] = nearestEntry<kEntries>(vectors + i * kVectorDim, c, halfNorms);
}

} // namespace

CodebookSearch::CodebookSearch(std::span<const float> codebook)
    : m_entryCount(codebook.size() / kVectorDim)
    , m_byDimension(codebook.size())
    , m_halfNorms(m_entryCount)
{
    assert(m_entryCount == 64 || m_entryCount == 256);
    static_assert(kVectorDim == 8, "nearestEntry writes the dimensions out");
    for (std::size_t e = 0; e < m_entryCount; ++e) {
        for (std::size_t d = 0; d < kVectorDim; ++d) {
            const float value = codebook[e * kVectorDim + d];
            m_byDimension[d * m_entryCount + e] = value;
            m_halfNorms[e] += value * value / 2;
        }
    }
}

void CodebookSearch::nearest(const float* vectors, std::size_t count, std::uint8_t* indices) const
{
    if (m_entryCount == 64)
        nearestEntries<64>(vectors, count, m_byDimension.data(), m_halfNorms.data(), indices);
    else
        nearestEntries<256>(vectors, count, m_byDimension.data(), m_halfNorms.data(), indices);
}

} // namespace waste
