#if defined(__aarch64__)

#include "kernels/arm_neon.h"

// Experts times several vectors in 16-bit integers (reduced_inputs.h). Lanes are vectors: a load takes the pairs of
// eight apart into even and odd columns, and a weight multiplies four of either at a time.

namespace waste::kernels {

namespace {

constexpr std::size_t kStageValues = kWordBookEntries * kWordColumns;
constexpr std::size_t kVectors = 8; // in the lanes of a load

// Four vectors.
void splitFour(float* x, std::size_t columns, std::size_t count)
{
    // Magnitudes by their bits, which are in order; infinities and NaN are above every number.
    uint32x4_t bits = vdupq_n_u32(0);
    for (std::size_t c = 0; c < columns; ++c)
        bits = vmaxq_u32(bits, vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + c * count))));
    const uint32x4_t isNoNumber = vcgtq_u32(bits, vdupq_n_u32(0x7F7FFFFF));
    const float32x4_t largest = vbslq_f32(isNoNumber, vdupq_n_f32(__builtin_nanf("")), vreinterpretq_f32_u32(bits));
    const uint32x4_t isSplit = vcgeq_f32(largest, vdupq_n_f32(kReducedMagnitudeMin));
    const float32x4_t most = vdupq_n_f32(kWordInputMax);
    const auto masked = [](float32x4_t value, uint32x4_t mask) {
        return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(value), mask));
    };
    const float32x4_t perUnit = masked(vdivq_f32(most, largest), isSplit);
    const auto words = [&](std::size_t column) {
        const int32x4_t whole = vcvtnq_s32_f32(vmulq_f32(vld1q_f32(x + column * count), perUnit));
        return vandq_u32(vreinterpretq_u32_s32(whole), isSplit);
    };
    for (std::size_t pair = 0; pair < columns / 2; ++pair) {
        const uint32x4_t both = vsliq_n_u32(words(2 * pair), words(2 * pair + 1), 16);
        vst1q_f32(x + pair * count, vreinterpretq_f32_u32(both));
    }
    vst1q_f32(x + columns / 2 * count, masked(vdivq_f32(largest, most), vorrq_u32(isSplit, isNoNumber)));
}

// ---- decoding

template<std::size_t kBits, std::size_t kStages>
int16x8_t sumEntries(const WordBooks& books, const std::uint8_t* indices)
{
    std::uint32_t bits = 0;
    __builtin_memcpy(&bits, indices, kBits * kStages / 8);
    int16x8_t sum = vdupq_n_s16(0);
    for (std::size_t stage = 0; stage < kStages; ++stage) {
        const std::size_t entry = bits >> (kBits * stage) & ((1U << kBits) - 1);
        sum = vaddq_s16(sum, vld1q_s16(books.entries + stage * kStageValues + entry * kWordColumns));
    }
    return sum;
}

template<std::size_t kBits, std::size_t kStages>
void unpackRows(const VqMatrixView& matrix, const WordBooks& books, std::size_t rowBegin, std::size_t rowEnd,
    std::size_t begin, std::size_t end, std::int16_t* words, std::size_t stride)
{
    constexpr std::size_t kBytes = kBits * kStages / 8;
    const std::size_t block = matrix.indexBlock;
    const std::size_t blockBytes = matrix.columns / kWordColumns * block * kBytes;
    for (std::size_t row = rowBegin; row < rowEnd; ++row, words += stride) {
        const std::uint8_t* indices =
            matrix.indices + row / block * blockBytes + (begin / kWordColumns * block + row % block) * kBytes;
        for (std::size_t column = 0; column < end - begin; column += kWordColumns, indices += block * kBytes) {
            const int16x8_t sum = sumEntries<kBits, kStages>(books, indices); // no argument: Clang's stores are macros
            vst1q_s16(words + column, sum);
        }
    }
}

// ---- multiplying

template<std::size_t kRows>
void addRows(const KernelTable::WordProduct& product, std::size_t row, std::size_t vector)
{
    const std::int16_t* const w = product.w + row * product.wStride;
    const float* const x = product.x + vector;
    const std::size_t pairs = product.columns / 2;
    int32x4_t low[kRows] = {};
    int32x4_t high[kRows] = {};
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        const int16x8x2_t input = vld2q_s16(reinterpret_cast<const std::int16_t*>(x + pair * product.count));
        const int16x8_t even = input.val[0];
        const int16x8_t odd = input.val[1];
        for (std::size_t r = 0; r < kRows; ++r) {
            const std::int16_t first = w[r * product.wStride + 2 * pair];
            const std::int16_t second = w[r * product.wStride + 2 * pair + 1];
            low[r] = vmlal_n_s16(vmlal_n_s16(low[r], vget_low_s16(even), first), vget_low_s16(odd), second);
            high[r] = vmlal_high_n_s16(vmlal_high_n_s16(high[r], even, first), odd, second);
        }
    }
    const float* const scales = x + pairs * product.count;
    for (std::size_t r = 0; r < kRows; ++r) {
        float* const y = product.y + (row + r) * product.count + vector;
        vst1q_f32(y, vfmaq_f32(vld1q_f32(y), vcvtq_f32_s32(low[r]), vld1q_f32(scales)));
        vst1q_f32(y + kWidth, vfmaq_f32(vld1q_f32(y + kWidth), vcvtq_f32_s32(high[r]), vld1q_f32(scales + kWidth)));
    }
}

} // namespace

namespace neon {

void splitWords(float* x, std::size_t columns, std::size_t count)
{
    for (std::size_t v = 0; v < count; v += kWidth)
        splitFour(x + v, columns, count);
}

void unpackVqWords(const VqMatrixView& matrix, const WordBooks& books, std::uint32_t rowBegin, std::uint32_t rowEnd,
    std::uint32_t begin, std::uint32_t end, std::int16_t* words, std::size_t stride)
{
    if (matrix.indexBits == 6)
        unpackRows<6, 4>(matrix, books, rowBegin, rowEnd, begin, end, words, stride);
    else if (matrix.stages == 2)
        unpackRows<8, 2>(matrix, books, rowBegin, rowEnd, begin, end, words, stride);
    else if (matrix.stages == 3)
        unpackRows<8, 3>(matrix, books, rowBegin, rowEnd, begin, end, words, stride);
    else
        unpackRows<8, 4>(matrix, books, rowBegin, rowEnd, begin, end, words, stride);
}

void addWordProduct(const KernelTable::WordProduct& product)
{
    for (std::size_t vector = 0; vector < product.count; vector += kVectors) {
        std::size_t row = 0;
        for (; row + 8 <= product.rows; row += 8)
            addRows<8>(product, row, vector);
        for (; row + 4 <= product.rows; row += 4)
            addRows<4>(product, row, vector);
        for (; row < product.rows; ++row)
            addRows<1>(product, row, vector);
    }
}

} // namespace neon
} // namespace waste::kernels
#endif
