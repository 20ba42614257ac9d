#pragma once

#include "kernels/weight_views.h"

#include <cstddef>
#include <cstdint>

namespace waste::kernels {

// Inputs of the reduced kernels: vectors of activations in integers, prepared once for all matrices that
// read them. What the integers are, and the order in which sums are rounded, is fixed for all instruction
// sets, so that reduced kernels agree bit for bit.

// What counts as zero where integers share a scale: below it the scale's reciprocal would overflow.
inline constexpr float kReducedMagnitudeMin = 1e-30F;

// ---- two planes: x ≈ scale·(128·high + low), 15 bits and a sign, for products with Q4G and Q8G weights

inline constexpr std::size_t kPlaneGroup = 128; // columns with one scale; the group of the weights as well

// For Q4G. Even columns, then odd ones: the order in which the nibbles of a row come out of its bytes.
struct PlaneBytes {
    std::int8_t high[kPlaneGroup];
    std::int8_t low[kPlaneGroup];
};

// For Q8G, and for several vectors: 128·high + low by column.
struct PlaneWords {
    std::int16_t values[kPlaneGroup];
};

// From one vector's groups to the next one's. Odd, or the same columns of vectors of 4,096 would all lie in the same
// few places of a cache and push each other out (92 in place of 148 GMAC/s on a Zen 5).
constexpr std::size_t planeStride(std::size_t groupCount)
{
    return groupCount | 1;
}

// [tokens] vectors; columns after the last one are 0. Bytes and words apart, because a product reads one of them: the
// half of a wide vector stays in the first-level cache beside the weights that pass, and the whole does not.
struct PlaneInput {
    PlaneBytes* bytes = nullptr; // [tokens][stride()], as are the others
    PlaneWords* words = nullptr;
    float* scales = nullptr;
    std::int32_t* sums = nullptr; // of a group's integers
    std::size_t groupCount = 0;
    std::size_t tokens = 0;

    [[nodiscard]] std::size_t stride() const { return planeStride(groupCount); }

    [[nodiscard]] PlaneInput token(std::size_t index) const
    {
        const std::size_t first = index * stride();
        return {bytes + first, words + first, scales + first, sums + first, groupCount, 1};
    }
};

// Σ over a group's products is exact; the group's share of a row's result is that sum times weight scale and
// input scale. Shares are added in this many lanes, group g in lane g modulo the lanes; the lanes are folded
// by halves.
inline constexpr std::size_t kPlaneLanes = 8;

constexpr bool takesPlanes(const MatrixView& matrix)
{
    return (matrix.format == WeightFormat::Q4G || matrix.format == WeightFormat::Q8G) && matrix.group == kPlaneGroup;
}

// ---- words: 16-bit integers on both sides, for an expert's matrix times several vectors
//
// Inputs: a group of columns of a vector becomes integers and one scale, x ≈ scale·integer; if a value is not finite
// the scale is not a number. The last group of a vector may be shorter.
//
// Weights: codebook entries in units that all stages share, so coarse that no sum over the stages passes
// kWordWeightMax. A row's sum over a group is then exact in 32 bits; it is rounded to a float, multiplied by the scale
// and added to the row's result by one multiply-add, group after group. At the end the result is multiplied by the
// row's scale times the unit.

inline constexpr std::size_t kWordGroup = 64; // columns
inline constexpr int kWordInputMax = 2896;
inline constexpr int kWordWeightMax = 11585;
static_assert(std::int64_t{kWordGroup} * kWordInputMax * kWordWeightMax <= INT32_MAX);
inline constexpr std::size_t kWordRows = 64; // that are decoded at a time, side by side: an index block

// As large as the floats that it was made of, whose place it may take.
struct WordGroup {
    std::int16_t values[kWordGroup];
    float scale;
    float unused[kWordGroup / 2 - 1];
};
static_assert(sizeof(WordGroup) == kWordGroup * sizeof(float));

// Vectors in words: that of vector v and group g at groups[g · stride + v].
struct WordInput {
    const WordGroup* groups = nullptr;
    std::size_t stride = 0;
    std::size_t count = 0;
};

inline constexpr std::size_t kWordColumns = 8; // of a codebook entry
inline constexpr std::size_t kWordStagesMax = 4;
inline constexpr std::size_t kWordBookEntries = 256; // of a stage
inline constexpr std::size_t kWordBookValues = kWordStagesMax * kWordBookEntries * kWordColumns; // of a matrix, at most
inline constexpr std::size_t kWordPlaneEntries = 64; // that six bits can name
inline constexpr std::size_t kWordPlaneBytes = kWordStagesMax * kWordColumns * 2 * kWordPlaneEntries;
inline constexpr std::size_t kWordBookBytes = kWordBookValues * sizeof(std::int16_t) + kWordPlaneBytes;

struct WordBooks {
    const std::int16_t* entries = nullptr; // [stages][kWordBookEntries][kWordColumns]
    // Of entries that six bits name also their lower and upper bytes, for kernels that look up bytes; else null.
    const std::uint8_t* planes = nullptr; // [kWordStagesMax][kWordColumns][2][kWordPlaneEntries]
    float unit = 0;
};

constexpr bool takesWords(const VqMatrixView& matrix)
{
    const bool isWhole = matrix.indexBits == 8 && matrix.stages >= 2 && matrix.stages <= kWordStagesMax;
    const bool isPacked = matrix.indexBits == 6 && matrix.stages == kWordStagesMax;
    return matrix.vecDim == kWordColumns && matrix.indexBlock == kWordRows && (isWhole || isPacked);
}

} // namespace waste::kernels
