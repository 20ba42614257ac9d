#pragma once

#include "kernels/arm_neon.h"

// Products of Q4G and Q8G weights with vectors in two planes (reduced_inputs.h), for NEON with and without dot
// products: what they share is which sums are rounded and when. How the exact sum of a group's products is found
// differs, and is what the template arguments say.

namespace waste::kernels {
namespace {

// Eight lanes of a row's result, folded by halves.
struct PlaneSums {
    float32x4_t low = vdupq_n_f32(0); // groups 0..3 modulo 8
    float32x4_t high = vdupq_n_f32(0);

    [[nodiscard]] float total() const { return sumLanes(vaddq_f32(low, high)); }
};

inline const std::uint8_t* planePayload(const MatrixView& matrix, std::size_t row)
{
    return reinterpret_cast<const std::uint8_t*>(matrix.payload) + row * matrix.rowBytes;
}

inline int32x4_t sumEach(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d)
{
    return vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d));
}

// ---- one vector
//
// Group: kBytes of weights in a group, kZeroPoint that its weights have too much, and
// sum(weights, input, g): Σ weight·x over group g of the input, in four parts.

// lanes[g] += sum of group first + g, for `count` (1..4) groups.
template<typename Group>
float32x4_t addGroups(float32x4_t lanes, const std::uint8_t* payload, const std::uint16_t* weightScales,
    const PlaneInput& input, std::size_t first, std::size_t count)
{
    int32x4_t parts[kWidth] = {};
    float scales[kWidth] = {};
    std::int32_t sums[kWidth] = {};
    for (std::size_t g = 0; g < count; ++g) {
        parts[g] = Group::sum(payload + (first + g) * Group::kBytes, input, first + g);
        scales[g] = floatFromHalf(weightScales[first + g]) * input.scales[first + g];
        sums[g] = input.sums[first + g];
    }
    const int32x4_t exact =
        vmlsq_n_s32(sumEach(parts[0], parts[1], parts[2], parts[3]), vld1q_s32(sums), Group::kZeroPoint);
    return vfmaq_f32(lanes, vcvtq_f32_s32(exact), vld1q_f32(scales));
}

template<typename Group>
void multiplyOne(const MatrixView& matrix, const PlaneInput& input, float* y, std::uint32_t begin, std::uint32_t end)
{
    for (std::uint32_t row = begin; row < end; ++row) {
        const std::uint8_t* const payload = planePayload(matrix, row);
        const std::uint16_t* const weightScales = matrix.scales + row * input.groupCount;
        PlaneSums sums;
        std::size_t g = 0;
        for (; g + kPlaneLanes <= input.groupCount; g += kPlaneLanes) {
            sums.low = addGroups<Group>(sums.low, payload, weightScales, input, g, kWidth);
            sums.high = addGroups<Group>(sums.high, payload, weightScales, input, g + kWidth, kWidth);
        }
        const std::size_t rest = input.groupCount - g;
        if (rest > 0)
            sums.low = addGroups<Group>(sums.low, payload, weightScales, input, g, smaller(rest, kWidth));
        if (rest > kWidth)
            sums.high = addGroups<Group>(sums.high, payload, weightScales, input, g + kWidth, rest - kWidth);
        y[row] = sums.total();
    }
}

// ---- several vectors
//
// Rows: weights of four rows over one panel of kPlaneLanes groups, decoded once for all the vectors;
// kTokens that are multiplied at a time, integers(input) that they are multiplied with,
// decode(format, payload, groups, r): `groups` groups of row r from `payload` on,
// multiplyGroup(g, x, sums): sums[t] = of group g, the sums of the four rows for x[t].

inline constexpr std::size_t kPlaneRows = 4;
inline constexpr std::size_t kPlaneTokensMax = 64; // whose sums are kept at a time

using RowLanes = float32x4_t[kPlaneLanes]; // of one vector: a lane's sums of four rows

template<std::size_t kTokens, typename Rows>
void multiplyPanel(const Rows& weights, const float (&rowScales)[kPlaneLanes][kPlaneRows], const PlaneInput& input,
    std::size_t token, std::size_t firstGroup, std::size_t groups, RowLanes* lanes)
{
    for (std::size_t g = 0; g < groups; ++g) {
        decltype(Rows::integers(input)) x[kTokens];
        int32x4_t sums[kTokens];
        for (std::size_t t = 0; t < kTokens; ++t)
            x[t] = Rows::integers(input) + (token + t) * input.stride() + firstGroup + g;
        weights.multiplyGroup(g, x, sums);
        const float32x4_t rowScale = vld1q_f32(rowScales[g]);
        for (std::size_t t = 0; t < kTokens; ++t) {
            const float scale = input.scales[(token + t) * input.stride() + firstGroup + g];
            lanes[t][g] = vfmaq_f32(lanes[t][g], vcvtq_f32_s32(sums[t]), vmulq_n_f32(rowScale, scale));
        }
    }
}

// Up to four rows times up to kPlaneTokensMax tokens.
template<typename Rows>
void multiplyFourRows(const MatrixView& matrix, const PlaneInput& input, std::size_t firstToken, std::size_t tokens,
    float* y, std::size_t yStride, std::uint32_t row, std::size_t rows)
{
    Rows weights;
    RowLanes lanes[kPlaneTokensMax];
    for (std::size_t t = 0; t < tokens; ++t) {
        for (float32x4_t& lane : lanes[t])
            lane = vdupq_n_f32(0);
    }
    const std::size_t groupBytes = matrix.format == WeightFormat::Q8G ? kPlaneGroup : kPlaneGroup / 2;
    for (std::size_t firstGroup = 0; firstGroup < input.groupCount; firstGroup += kPlaneLanes) {
        const std::size_t groups = smaller(input.groupCount - firstGroup, kPlaneLanes);
        float rowScales[kPlaneLanes][kPlaneRows] = {};
        for (std::size_t r = 0; r < kPlaneRows; ++r) {
            const std::size_t source = row + smaller(r, rows - 1); // missing rows repeat the last one
            weights.decode(matrix.format, planePayload(matrix, source) + firstGroup * groupBytes, groups, r);
            for (std::size_t g = 0; g < groups; ++g)
                rowScales[g][r] = floatFromHalf(matrix.scales[source * input.groupCount + firstGroup + g]);
        }
        std::size_t t = 0;
        for (; t + Rows::kTokens <= tokens; t += Rows::kTokens)
            multiplyPanel<Rows::kTokens>(weights, rowScales, input, firstToken + t, firstGroup, groups, lanes + t);
        for (; t < tokens; ++t)
            multiplyPanel<1>(weights, rowScales, input, firstToken + t, firstGroup, groups, lanes + t);
    }
    for (std::size_t t = 0; t < tokens; ++t) {
        const RowLanes& lane = lanes[t];
        const float32x4_t even = vaddq_f32(vaddq_f32(lane[0], lane[4]), vaddq_f32(lane[2], lane[6]));
        const float32x4_t odd = vaddq_f32(vaddq_f32(lane[1], lane[5]), vaddq_f32(lane[3], lane[7]));
        storeFirst(y + (firstToken + t) * yStride + row, vaddq_f32(even, odd), rows);
    }
}

template<typename Rows>
void multiplyMany(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride, std::uint32_t begin,
    std::uint32_t end)
{
    for (std::size_t token = 0; token < input.tokens; token += kPlaneTokensMax) {
        const std::size_t tokens = smaller(input.tokens - token, kPlaneTokensMax);
        for (std::uint32_t row = begin; row < end; row += kPlaneRows)
            multiplyFourRows<Rows>(matrix, input, token, tokens, y, yStride, row, smaller(end - row, kPlaneRows));
    }
}

} // namespace
} // namespace waste::kernels
