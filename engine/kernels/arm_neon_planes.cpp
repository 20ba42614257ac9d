#if defined(__aarch64__)

#include "kernels/arm_neon_planes.h"

// Without dot products: bytes are multiplied into 16-bit lanes where that fits, else 16-bit integers into 32.

namespace waste::kernels {

namespace {

// Nibbles without their zero point are signed bytes too. 16·15·127 fits 16 bits.
struct Q4Group {
    static constexpr std::size_t kBytes = kPlaneGroup / 2;
    static constexpr std::int32_t kZeroPoint = 8;
    static int32x4_t sum(const std::uint8_t* weights, const PlaneInput& input, std::size_t group)
    {
        const PlaneBytes& x = input.bytes[group];
        int16x8_t high = vdupq_n_s16(0);
        int16x8_t low = vdupq_n_s16(0);
        const auto add = [](int16x8_t total, int8x16_t a, int8x16_t b) {
            return vmlal_high_s8(vmlal_s8(total, vget_low_s8(a), vget_low_s8(b)), a, b);
        };
        for (std::size_t i = 0; i < kBytes; i += 16) {
            const uint8x16_t bytes = vld1q_u8(weights + i);
            const int8x16_t even = vreinterpretq_s8_u8(vandq_u8(bytes, vdupq_n_u8(15)));
            const int8x16_t odd = vreinterpretq_s8_u8(vshrq_n_u8(bytes, 4));
            high = add(add(high, even, vld1q_s8(x.high + i)), odd, vld1q_s8(x.high + kBytes + i));
            low = add(add(low, even, vld1q_s8(x.low + i)), odd, vld1q_s8(x.low + kBytes + i));
        }
        return vpadalq_s16(vshlq_n_s32(vpaddlq_s16(high), 7), low);
    }
};

int32x4_t addProducts(int32x4_t total, int16x8_t a, int16x8_t b)
{
    return vmlal_high_s16(vmlal_s16(total, vget_low_s16(a), vget_low_s16(b)), a, b);
}

struct Q8Group {
    static constexpr std::size_t kBytes = kPlaneGroup;
    static constexpr std::int32_t kZeroPoint = 0;
    static int32x4_t sum(const std::uint8_t* weights, const PlaneInput& input, std::size_t group)
    {
        const std::int16_t* const x = input.words[group].values;
        int32x4_t even = vdupq_n_s32(0);
        int32x4_t odd = vdupq_n_s32(0);
        for (std::size_t i = 0; i < kPlaneGroup; i += 16) {
            const int8x16_t bytes = vreinterpretq_s8_u8(vld1q_u8(weights + i));
            even = addProducts(even, vmovl_s8(vget_low_s8(bytes)), vld1q_s16(x + i));
            odd = addProducts(odd, vmovl_high_s8(bytes), vld1q_s16(x + i + 8));
        }
        return vaddq_s32(even, odd);
    }
};

// As 16-bit integers, by column.
struct WidenedRows {
    static constexpr std::size_t kTokens = 4;
    static const PlaneWords* integers(const PlaneInput& input) { return input.words; }
    std::int16_t values[kPlaneRows][kPlaneLanes * kPlaneGroup];

    void decode(WeightFormat format, const std::uint8_t* bytes, std::size_t groups, std::size_t r)
    {
        std::int16_t* out = values[r];
        if (format == WeightFormat::Q8G) {
            for (std::size_t i = 0; i < groups * kPlaneGroup; i += 8)
                vst1q_s16(out + i, vmovl_s8(vreinterpret_s8_u8(vld1_u8(bytes + i))));
            return;
        }
        for (std::size_t i = 0; i < groups * kPlaneGroup; i += 16) {
            const uint8x8_t pairs = vld1_u8(bytes + i / 2);
            const int8x8_t eight = vdup_n_s8(8);
            const int8x8_t even = vsub_s8(vreinterpret_s8_u8(vand_u8(pairs, vdup_n_u8(15))), eight);
            const int8x8_t odd = vsub_s8(vreinterpret_s8_u8(vshr_n_u8(pairs, 4)), eight);
            vst1q_s16(out + i, vmovl_s8(vzip1_s8(even, odd)));
            vst1q_s16(out + i + 8, vmovl_s8(vzip2_s8(even, odd)));
        }
    }

    template<std::size_t kCount>
    void multiplyGroup(std::size_t group, const PlaneWords* const (&x)[kCount], int32x4_t (&sums)[kCount]) const
    {
        int32x4_t parts[kPlaneRows][kCount] = {};
        for (std::size_t i = 0; i < kPlaneGroup; i += 8) {
            int16x8_t inputs[kCount];
            for (std::size_t t = 0; t < kCount; ++t)
                inputs[t] = vld1q_s16(x[t]->values + i);
            for (std::size_t r = 0; r < kPlaneRows; ++r) {
                const int16x8_t w = vld1q_s16(values[r] + group * kPlaneGroup + i);
                for (std::size_t t = 0; t < kCount; ++t)
                    parts[r][t] = addProducts(parts[r][t], w, inputs[t]);
            }
        }
        for (std::size_t t = 0; t < kCount; ++t)
            sums[t] = sumEach(parts[0][t], parts[1][t], parts[2][t], parts[3][t]);
    }
};

// ---- splitting

constexpr float kWholeMax = 127 * 128;

// Largest magnitude by its bits, which are in order; infinities and NaN are above every number.
float magnitude(const float* x, std::size_t count)
{
    uint32x4_t largest = vdupq_n_u32(0);
    for (std::size_t i = 0; i < count; i += kWidth) {
        const float32x4_t values = count - i < kWidth ? loadFirst(x + i, count - i) : vld1q_f32(x + i);
        largest = vmaxq_u32(largest, vreinterpretq_u32_f32(vabsq_f32(values)));
    }
    constexpr std::uint32_t kInfinityBits = 0x7F800000;
    const std::uint32_t bits = vmaxvq_u32(largest);
    float value = 0;
    __builtin_memcpy(&value, &bits, sizeof value);
    return bits >= kInfinityBits ? __builtin_nanf("") : value;
}

// Sixteen columns: bytes of the even ones, then of the odd ones.
void storePlane(std::int8_t* plane, std::size_t column, int16x8_t first, int16x8_t second)
{
    vst1_s8(plane + column / 2, vmovn_s16(vuzp1q_s16(first, second)));
    vst1_s8(plane + kPlaneGroup / 2 + column / 2, vmovn_s16(vuzp2q_s16(first, second)));
}

// Returns the sum of the integers. `count` columns are there, the others become 0.
std::int32_t splitGroup(const float* x, std::size_t count, float perUnit, PlaneBytes& bytes, PlaneWords& words)
{
    const auto wholeAt = [&](std::size_t i) {
        const float32x4_t values = i + kWidth <= count ? vld1q_f32(x + i) : loadFirst(x + i, i < count ? count - i : 0);
        return vcvtnq_s32_f32(vmulq_n_f32(values, perUnit));
    };
    const auto eightAt = [&](std::size_t i) {
        return vcombine_s16(vmovn_s32(wholeAt(i)), vmovn_s32(wholeAt(i + kWidth)));
    };
    const auto highOf = [](int16x8_t whole) { return vshrq_n_s16(vaddq_s16(whole, vdupq_n_s16(64)), 7); };
    int32x4_t sum = vdupq_n_s32(0);
    for (std::size_t i = 0; i < kPlaneGroup; i += 16) {
        const int16x8_t first = eightAt(i);
        const int16x8_t second = eightAt(i + 8);
        sum = vpadalq_s16(vpadalq_s16(sum, first), second);
        vst1q_s16(words.values + i, first);
        vst1q_s16(words.values + i + 8, second);
        const int16x8_t firstHigh = highOf(first);
        const int16x8_t secondHigh = highOf(second);
        storePlane(bytes.high, i, firstHigh, secondHigh);
        storePlane(
            bytes.low, i, vsubq_s16(first, vshlq_n_s16(firstHigh, 7)), vsubq_s16(second, vshlq_n_s16(secondHigh, 7)));
    }
    return vaddvq_s32(sum);
}

} // namespace

namespace neon {

void splitPlanes(const float* x, std::size_t columns, const PlaneInput& planes)
{
    for (std::size_t g = 0; g < planes.groupCount; ++g) {
        const float* const values = x + g * kPlaneGroup;
        const std::size_t count = smaller(columns - g * kPlaneGroup, kPlaneGroup);
        const float largest = magnitude(values, count);
        const bool isNumber = largest == largest;
        const bool isZero = !(largest >= kReducedMagnitudeMin);
        planes.scales[g] = isZero && isNumber ? 0.0F : largest / kWholeMax;
        planes.sums[g] = splitGroup(
            values, isZero ? 0 : count, isZero ? 0.0F : kWholeMax / largest, planes.bytes[g], planes.words[g]);
    }
}

void multiplyPlanes(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end)
{
    if (input.tokens != 1)
        multiplyMany<WidenedRows>(matrix, input, y, yStride, begin, end);
    else if (matrix.format == WeightFormat::Q8G)
        multiplyOne<Q8Group>(matrix, input, y, begin, end);
    else
        multiplyOne<Q4Group>(matrix, input, y, begin, end);
}

} // namespace neon
} // namespace waste::kernels
#endif
