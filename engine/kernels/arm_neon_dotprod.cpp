#if defined(__aarch64__)

#include "kernels/arm_neon_planes.h"

// With SDOT, which multiplies sixteen pairs of signed bytes and adds the products up in fours.

namespace waste::kernels {

namespace {

// Both planes of an input meet the same weights, of even and odd columns.
struct PlaneProducts {
    int32x4_t high = vdupq_n_s32(0);
    int32x4_t low = vdupq_n_s32(0);

    void add(int8x16_t even, int8x16_t odd, const PlaneBytes& x, std::size_t place)
    {
        constexpr std::size_t kOdd = kPlaneGroup / 2;
        high = vdotq_s32(vdotq_s32(high, even, vld1q_s8(x.high + place)), odd, vld1q_s8(x.high + kOdd + place));
        low = vdotq_s32(vdotq_s32(low, even, vld1q_s8(x.low + place)), odd, vld1q_s8(x.low + kOdd + place));
    }
    [[nodiscard]] int32x4_t whole() const { return vaddq_s32(vshlq_n_s32(high, 7), low); }
};

struct Q4Group {
    static constexpr std::size_t kBytes = kPlaneGroup / 2;
    static constexpr std::int32_t kZeroPoint = 8;
    static int32x4_t sum(const std::uint8_t* weights, const PlaneInput& input, std::size_t group)
    {
        PlaneProducts products;
        for (std::size_t i = 0; i < kBytes; i += 16) {
            const uint8x16_t bytes = vld1q_u8(weights + i);
            products.add(vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15))),
                vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4)), input.bytes[group], i);
        }
        return products.whole();
    }
};

struct Q8Group {
    static constexpr std::size_t kBytes = kPlaneGroup;
    static constexpr std::int32_t kZeroPoint = 0;
    static int32x4_t sum(const std::uint8_t* weights, const PlaneInput& input, std::size_t group)
    {
        PlaneProducts products;
        for (std::size_t i = 0; i < kBytes; i += 32) {
            const uint8x16x2_t bytes = vld2q_u8(weights + i); // even columns, odd columns
            products.add(
                vreinterpretq_s8_u8(bytes.val[0]), vreinterpretq_s8_u8(bytes.val[1]), input.bytes[group], i / 2);
        }
        return products.whole();
    }
};

// As signed bytes, in each group the even columns and then the odd ones.
struct ByteRows {
    static constexpr std::size_t kTokens = 3; // 24 sums, and what is multiplied, are 30 of 32 registers
    static const PlaneBytes* integers(const PlaneInput& input) { return input.bytes; }
    std::int8_t values[kPlaneRows][kPlaneLanes][kPlaneGroup];

    void decode(WeightFormat format, const std::uint8_t* bytes, std::size_t groups, std::size_t r)
    {
        constexpr std::size_t kOdd = kPlaneGroup / 2;
        for (std::size_t g = 0; g < groups; ++g) {
            std::int8_t* const out = values[r][g];
            for (std::size_t i = 0; i < kOdd; i += 16) {
                if (format == WeightFormat::Q8G) {
                    const uint8x16x2_t columns = vld2q_u8(bytes + g * kPlaneGroup + 2 * i);
                    vst1q_s8(out + i, vreinterpretq_s8_u8(columns.val[0]));
                    vst1q_s8(out + kOdd + i, vreinterpretq_s8_u8(columns.val[1]));
                } else {
                    const uint8x16_t pairs = vld1q_u8(bytes + g * kPlaneGroup / 2 + i);
                    const int8x16_t eight = vdupq_n_s8(8);
                    vst1q_s8(out + i, vsubq_s8(vreinterpretq_s8_u8(vandq_u8(pairs, vdupq_n_u8(15))), eight));
                    vst1q_s8(out + kOdd + i, vsubq_s8(vreinterpretq_s8_u8(vshrq_n_u8(pairs, 4)), eight));
                }
            }
        }
    }

    template<std::size_t kCount>
    void multiplyGroup(std::size_t group, const PlaneBytes* const (&x)[kCount], int32x4_t (&sums)[kCount]) const
    {
        int32x4_t high[kPlaneRows][kCount] = {};
        int32x4_t low[kPlaneRows][kCount] = {};
        for (std::size_t i = 0; i < kPlaneGroup; i += 16) {
            int8x16_t w[kPlaneRows];
            for (std::size_t r = 0; r < kPlaneRows; ++r)
                w[r] = vld1q_s8(values[r][group] + i);
            for (std::size_t t = 0; t < kCount; ++t) {
                const int8x16_t xHigh = vld1q_s8(x[t]->high + i);
                const int8x16_t xLow = vld1q_s8(x[t]->low + i);
                for (std::size_t r = 0; r < kPlaneRows; ++r) {
                    high[r][t] = vdotq_s32(high[r][t], w[r], xHigh);
                    low[r][t] = vdotq_s32(low[r][t], w[r], xLow);
                }
            }
        }
        for (std::size_t t = 0; t < kCount; ++t) {
            const int32x4_t highs = sumEach(high[0][t], high[1][t], high[2][t], high[3][t]);
            const int32x4_t lows = sumEach(low[0][t], low[1][t], low[2][t], low[3][t]);
            sums[t] = vaddq_s32(vshlq_n_s32(highs, 7), lows);
        }
    }
};

} // namespace

namespace neon_dotprod {

void multiplyPlanes(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end)
{
    if (input.tokens != 1)
        multiplyMany<ByteRows>(matrix, input, y, yStride, begin, end);
    else if (matrix.format == WeightFormat::Q8G)
        multiplyOne<Q8Group>(matrix, input, y, begin, end);
    else
        multiplyOne<Q4Group>(matrix, input, y, begin, end);
}

} // namespace neon_dotprod
} // namespace waste::kernels
#endif
