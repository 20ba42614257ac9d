#if defined(__aarch64__)

#include "kernels/arm_neon.h"

// Experts times several vectors in 16-bit integers (reduced_inputs.h). Lanes are rows: a load takes the pairs of
// eight apart into even and odd columns, and a vector's word multiplies four of either at a time.

namespace waste::kernels {

namespace {

constexpr std::size_t kStageValues = kWordBookEntries * kWordColumns;
constexpr std::size_t kRows = 8; // in the lanes of a load
constexpr std::size_t kPairStride = 2 * kWordRows; // words from one pair of columns to the next

// Largest magnitude by its bits, which are in order; infinities and NaN are above every number.
float magnitude(const float* x, std::size_t columns)
{
    uint32x4_t bits = vdupq_n_u32(0);
    for (std::size_t c = 0; c < columns; c += kWidth)
        bits = vmaxq_u32(bits, vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + c))));
    const std::uint32_t largest = vmaxvq_u32(bits);
    constexpr std::uint32_t kInfinityBits = 0x7F800000;
    float value = 0;
    __builtin_memcpy(&value, &largest, sizeof value);
    return largest >= kInfinityBits ? __builtin_nanf("") : value;
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

// Four pairs of columns of four rows each, from four rows of four pairs.
void storeTransposed(int16x8_t a, int16x8_t b, int16x8_t c, int16x8_t d, std::int16_t* words)
{
    const int32x4x2_t first = vtrnq_s32(vreinterpretq_s32_s16(a), vreinterpretq_s32_s16(b));
    const int32x4x2_t second = vtrnq_s32(vreinterpretq_s32_s16(c), vreinterpretq_s32_s16(d));
    for (std::size_t i = 0; i < 2; ++i) {
        const int32x4_t early = vcombine_s32(vget_low_s32(first.val[i]), vget_low_s32(second.val[i]));
        const int32x4_t late = vcombine_s32(vget_high_s32(first.val[i]), vget_high_s32(second.val[i]));
        vst1q_s16(words + i * kPairStride, vreinterpretq_s16_s32(early));
        vst1q_s16(words + (2 + i) * kPairStride, vreinterpretq_s16_s32(late));
    }
}

template<std::size_t kBits, std::size_t kStages>
void unpackBlock(const VqMatrixView& matrix, const WordBooks& books, std::size_t row, std::size_t begin,
    std::size_t end, std::int16_t* words)
{
    constexpr std::size_t kBytes = kBits * kStages / 8;
    const std::size_t firstVector = row / kWordRows * (matrix.columns / kWordColumns) + begin / kWordColumns;
    const std::uint8_t* indices = matrix.indices + firstVector * kWordRows * kBytes;
    for (std::size_t column = begin; column < end; column += kWordColumns, words += kWordColumns / 2 * kPairStride) {
        for (std::size_t r = 0; r < kWordRows; r += 4, indices += 4 * kBytes) {
            const auto sum = [&](std::size_t i) { return sumEntries<kBits, kStages>(books, indices + i * kBytes); };
            storeTransposed(sum(0), sum(1), sum(2), sum(3), words + 2 * r);
        }
    }
}

// ---- multiplying

// Eight rows times kVectors.
template<std::size_t kVectors>
void addEightRows(const KernelTable::WordProduct& product, std::size_t row, std::size_t vector)
{
    const std::int16_t* w = product.w + 2 * row;
    const WordGroup* const x = product.x + vector;
    int32x4_t low[kVectors] = {};
    int32x4_t high[kVectors] = {};
    for (std::size_t column = 0; column < product.columns; column += 2, w += kPairStride) {
        const int16x8x2_t pairs = vld2q_s16(w);
        const int16x8_t even = pairs.val[0];
        const int16x8_t odd = pairs.val[1];
        for (std::size_t v = 0; v < kVectors; ++v) {
            const std::int16_t first = x[v].values[column];
            const std::int16_t second = x[v].values[column + 1];
            low[v] = vmlal_n_s16(vmlal_n_s16(low[v], vget_low_s16(even), first), vget_low_s16(odd), second);
            high[v] = vmlal_high_n_s16(vmlal_high_n_s16(high[v], even, first), odd, second);
        }
    }
    for (std::size_t v = 0; v < kVectors; ++v) {
        const float32x4_t scale = vdupq_n_f32(x[v].scale);
        float* const y = product.y + (vector + v) * kWordRows + row;
        vst1q_f32(y, vfmaq_f32(vld1q_f32(y), vcvtq_f32_s32(low[v]), scale));
        vst1q_f32(y + kWidth, vfmaq_f32(vld1q_f32(y + kWidth), vcvtq_f32_s32(high[v]), scale));
    }
}

template<std::size_t kVectors>
void addVectors(const KernelTable::WordProduct& product, std::size_t vector)
{
    for (std::size_t row = 0; row < kWordRows; row += kRows)
        addEightRows<kVectors>(product, row, vector);
}

} // namespace

namespace neon {

void splitWords(const float* x, std::size_t columns, WordGroup& group)
{
    const float largest = magnitude(x, columns);
    const bool isNumber = largest == largest;
    const bool isZero = !(largest >= kReducedMagnitudeMin);
    const float perUnit = isZero ? 0.0F : kWordInputMax / largest;
    for (std::size_t c = 0; c < columns; c += kWidth) {
        const int32x4_t whole = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + c), perUnit));
        const int16x4_t words = isZero ? vdup_n_s16(0) : vmovn_s32(whole);
        vst1_s16(group.values + c, words);
    }
    group.scale = isZero && isNumber ? 0.0F : largest / kWordInputMax;
}

void unpackVqWords(const VqMatrixView& matrix, const WordBooks& books, std::uint32_t row, std::uint32_t begin,
    std::uint32_t end, std::int16_t* words)
{
    if (matrix.indexBits == 6)
        unpackBlock<6, 4>(matrix, books, row, begin, end, words);
    else if (matrix.stages == 2)
        unpackBlock<8, 2>(matrix, books, row, begin, end, words);
    else if (matrix.stages == 3)
        unpackBlock<8, 3>(matrix, books, row, begin, end, words);
    else
        unpackBlock<8, 4>(matrix, books, row, begin, end, words);
}

void addWordProduct(const KernelTable::WordProduct& product)
{
    std::size_t vector = 0;
    for (; vector + 8 <= product.count; vector += 8)
        addVectors<8>(product, vector);
    for (; vector + 4 <= product.count; vector += 4)
        addVectors<4>(product, vector);
    for (; vector < product.count; ++vector)
        addVectors<1>(product, vector);
}

} // namespace neon
} // namespace waste::kernels
#endif
