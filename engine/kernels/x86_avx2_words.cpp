#if defined(__x86_64__)

#include "kernels/x86_avx2.h"

// Experts times several vectors in 16-bit integers (reduced_inputs.h). Lanes are vectors; two columns of a row are one
// broadcast, and one multiply-add of pairs takes sixteen products.

namespace waste::kernels {

namespace {

__m256i load(const void* p)
{
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

// Magnitudes by their bits, which are in order; infinities and NaN are above every number.
__m256i magnitudes(const float* x, std::size_t columns, std::size_t count)
{
    __m256i largest = _mm256_setzero_si256();
    for (std::size_t c = 0; c < columns; ++c)
        largest = _mm256_max_epi32(largest, _mm256_and_si256(load(x + c * count), _mm256_set1_epi32(0x7FFFFFFF)));
    return largest;
}

// Eight vectors.
void splitEight(float* x, std::size_t columns, std::size_t count)
{
    const __m256i bits = magnitudes(x, columns, count);
    const __m256 isNoNumber = _mm256_castsi256_ps(_mm256_cmpgt_epi32(bits, _mm256_set1_epi32(0x7F7FFFFF)));
    const __m256 largest = _mm256_blendv_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(__builtin_nanf("")), isNoNumber);
    const __m256 isSplit = _mm256_cmp_ps(largest, _mm256_set1_ps(kReducedMagnitudeMin), _CMP_GE_OQ);
    const __m256 most = _mm256_set1_ps(kWordInputMax);
    const __m256 perUnit = _mm256_and_ps(_mm256_div_ps(most, largest), isSplit);
    const auto words = [&](std::size_t column) {
        const __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps(x + column * count), perUnit);
        return _mm256_and_si256(_mm256_cvtps_epi32(scaled), _mm256_castps_si256(isSplit));
    };
    for (std::size_t pair = 0; pair < columns / 2; ++pair) {
        const __m256i odd = _mm256_slli_epi32(words(2 * pair + 1), 16);
        const __m256i both = _mm256_blend_epi16(words(2 * pair), odd, 0xAA);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(x + pair * count), both);
    }
    const __m256 scale = _mm256_and_ps(_mm256_div_ps(largest, most), _mm256_or_ps(isSplit, isNoNumber));
    _mm256_storeu_ps(x + columns / 2 * count, scale);
}

// ---- decoding

constexpr std::size_t kStageBytes = kWordBookEntries * kWordColumns * sizeof(std::int16_t);
constexpr std::size_t kFourRows = 4;

std::uint64_t loadWord(const std::uint8_t* bytes)
{
    std::uint64_t value = 0;
    __builtin_memcpy(&value, bytes, sizeof value);
    return value;
}

template<std::size_t kBits>
__m128i loadEntry(const char* stage, std::uint64_t bits, std::size_t firstBit)
{
    constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
    const std::uint64_t offset = (bits >> firstBit & kMask) * (kWordColumns * sizeof(std::int16_t));
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(stage + offset));
}

// The indices of a vector for four rows lie side by side.
template<std::size_t kBits, std::size_t kStages>
void unpackFourRows(const WordBooks& books, const std::uint8_t* indices, std::size_t step, std::size_t vectors,
    std::int16_t* words, std::size_t stride)
{
    constexpr std::size_t kBytes = kBits * kStages / 8;
    const auto* const entries = reinterpret_cast<const char*>(books.entries);
    for (std::size_t v = 0; v < vectors; ++v, indices += step) {
        const std::uint64_t first = loadWord(indices);
        const std::uint64_t last = loadWord(indices + kFourRows * kBytes - sizeof(std::uint64_t));
#pragma GCC unroll 4
        for (std::size_t r = 0; r < kFourRows; ++r) {
            const bool isFirst = r < kFourRows / 2;
            const std::uint64_t bits =
                isFirst ? first >> (8 * kBytes * r) : last >> (8 * (sizeof last - (kFourRows - r) * kBytes));
            __m128i sum = loadEntry<kBits>(entries, bits, 0);
#pragma GCC unroll 4
            for (std::size_t stage = 1; stage < kStages; ++stage)
                sum = _mm_add_epi16(sum, loadEntry<kBits>(entries + stage * kStageBytes, bits, kBits * stage));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(words + r * stride + v * kWordColumns), sum);
        }
    }
}

// `rowBegin` begins a block. Rows after the last one of a block have indices too.
template<std::size_t kBits, std::size_t kStages>
void unpackRows(const VqMatrixView& matrix, const WordBooks& books, std::size_t rowBegin, std::size_t rowEnd,
    std::size_t begin, std::size_t end, std::int16_t* words, std::size_t stride)
{
    constexpr std::size_t kBytes = kBits * kStages / 8;
    const std::size_t block = matrix.indexBlock;
    const std::size_t blockBytes = matrix.columns / kWordColumns * block * kBytes;
    for (std::size_t row = rowBegin; row < rowEnd; row += kFourRows, words += kFourRows * stride) {
        const std::uint8_t* const indices =
            matrix.indices + row / block * blockBytes + (begin / kWordColumns * block + row % block) * kBytes;
        unpackFourRows<kBits, kStages>(books, indices, block * kBytes, (end - begin) / kWordColumns, words, stride);
    }
}

// ---- multiplying

template<std::size_t kRows, std::size_t kRegisters>
void addBlock(const KernelTable::WordProduct& product, std::size_t row, std::size_t vector)
{
    const std::int16_t* const w = product.w + row * product.wStride;
    const float* const x = product.x + vector;
    const std::size_t pairs = product.columns / 2;
    __m256i sums[kRows][kRegisters] = {};
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        __m256i input[kRegisters];
        for (std::size_t n = 0; n < kRegisters; ++n)
            input[n] = load(x + pair * product.count + n * kWidth);
        for (std::size_t r = 0; r < kRows; ++r) {
            std::int32_t columns = 0;
            __builtin_memcpy(&columns, w + r * product.wStride + 2 * pair, sizeof columns);
            const __m256i weights = _mm256_set1_epi32(columns);
            for (std::size_t n = 0; n < kRegisters; ++n)
                sums[r][n] = _mm256_add_epi32(sums[r][n], _mm256_madd_epi16(weights, input[n]));
            // One row after another, see multiplyGroup() in x86_avx2_planes.cpp.
            __asm__("" : "+x"(sums[r][0]), "+x"(sums[r][kRegisters - 1]));
        }
    }
    const float* const scales = x + pairs * product.count;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
        for (std::size_t n = 0; n < kRegisters; ++n) {
            float* const y = product.y + (row + r) * product.count + vector + n * kWidth;
            _mm256_storeu_ps(y,
                _mm256_fmadd_ps(
                    _mm256_cvtepi32_ps(sums[r][n]), _mm256_loadu_ps(scales + n * kWidth), _mm256_loadu_ps(y)));
        }
    }
}

template<std::size_t kRows>
void addRows(const KernelTable::WordProduct& product, std::size_t row)
{
    std::size_t vector = 0;
    for (; vector + 2 * kWidth <= product.count; vector += 2 * kWidth)
        addBlock<kRows, 2>(product, row, vector);
    if (vector < product.count)
        addBlock<kRows, 1>(product, row, vector);
}

} // namespace

namespace avx2 {

void splitWords(float* x, std::size_t columns, std::size_t count)
{
    for (std::size_t v = 0; v < count; v += kWidth)
        splitEight(x + v, columns, count);
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
    std::size_t row = 0;
    for (; row + 6 <= product.rows; row += 6)
        addRows<6>(product, row);
    for (; row + 4 <= product.rows; row += 4)
        addRows<4>(product, row);
    for (; row < product.rows; ++row)
        addRows<1>(product, row);
}

} // namespace avx2
} // namespace waste::kernels
#endif
