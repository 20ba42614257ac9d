#if defined(__x86_64__)

#include "kernels/x86_avx2_words.h"

// Experts and vectors as 16-bit integers (reduced_inputs.h), for x86_avx2_words.h.

namespace waste::kernels {

namespace {

// Largest magnitude by its bits, which are in order; infinities and NaN are above every number.
float magnitude(const float* x, std::size_t columns)
{
    __m256i largest = _mm256_setzero_si256();
    for (std::size_t c = 0; c < columns; c += kWidth)
        largest = _mm256_max_epi32(largest, _mm256_and_si256(loadRegister(x + c), _mm256_set1_epi32(0x7FFFFFFF)));
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xB1));
    constexpr int kInfinityBits = 0x7F800000;
    return _mm_cvtsi128_si32(four) >= kInfinityBits ? __builtin_nanf("") : _mm_cvtss_f32(_mm_castsi128_ps(four));
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

// Eight columns of four rows, whose indices lie side by side.
template<std::size_t kBits, std::size_t kStages>
void decodeFourRows(const WordBooks& books, const std::uint8_t* indices, __m128i (&rows)[kFourRows])
{
    constexpr std::size_t kBytes = kBits * kStages / 8;
    const auto* const entries = reinterpret_cast<const char*>(books.entries);
    const std::uint64_t first = loadWord(indices);
    const std::uint64_t last = loadWord(indices + kFourRows * kBytes - sizeof(std::uint64_t));
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kFourRows; ++r) {
        const bool isFirst = r < kFourRows / 2;
        const std::uint64_t bits =
            isFirst ? first >> (8 * kBytes * r) : last >> (8 * (sizeof last - (kFourRows - r) * kBytes));
        rows[r] = loadEntry<kBits>(entries, bits, 0);
#pragma GCC unroll 4
        for (std::size_t stage = 1; stage < kStages; ++stage)
            rows[r] = _mm_add_epi16(rows[r], loadEntry<kBits>(entries + stage * kStageBytes, bits, kBits * stage));
    }
}

// Four pairs of columns of eight rows each, from eight rows of four pairs.
void storeTransposed(const __m128i (&low)[kFourRows], const __m128i (&high)[kFourRows], std::int16_t* words)
{
    const auto both = [&](std::size_t r) {
        return _mm256_inserti128_si256(_mm256_castsi128_si256(low[r]), high[r], 1);
    };
    const __m256i evenLow = _mm256_unpacklo_epi32(both(0), both(1));
    const __m256i evenHigh = _mm256_unpackhi_epi32(both(0), both(1));
    const __m256i oddLow = _mm256_unpacklo_epi32(both(2), both(3));
    const __m256i oddHigh = _mm256_unpackhi_epi32(both(2), both(3));
    const auto store = [&](std::size_t pair, __m256i rows) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(words + pair * kPairStride), rows);
    };
    store(0, _mm256_unpacklo_epi64(evenLow, oddLow));
    store(1, _mm256_unpackhi_epi64(evenLow, oddLow));
    store(2, _mm256_unpacklo_epi64(evenHigh, oddHigh));
    store(3, _mm256_unpackhi_epi64(evenHigh, oddHigh));
}

// The indices that follow are decoded next, after a product that takes longer than memory; by themselves they come
// late.
void fetchNext(const std::uint8_t* indices, std::size_t bytes)
{
    constexpr std::size_t kLineBytes = 64;
    for (std::size_t i = bytes; i < 2 * bytes; i += kLineBytes)
        _mm_prefetch(reinterpret_cast<const char*>(indices + i), _MM_HINT_T0);
}

template<std::size_t kBits, std::size_t kStages>
void unpackBlock(const VqMatrixView& matrix, const WordBooks& books, std::size_t row, std::size_t begin,
    std::size_t end, std::int16_t* words)
{
    constexpr std::size_t kVectorBytes = kBits * kStages / 8 * kWordRows;
    const std::uint8_t* indices =
        matrix.indices + (row / kWordRows * (matrix.columns / kWordColumns) + begin / kWordColumns) * kVectorBytes;
    const std::size_t vectors = (end - begin) / kWordColumns;
    fetchNext(indices, vectors * kVectorBytes);
    for (std::size_t v = 0; v < vectors; ++v, words += kWordColumns / 2 * kPairStride) {
        for (std::size_t r = 0; r < kWordRows; r += 2 * kFourRows) {
            __m128i low[kFourRows];
            __m128i high[kFourRows];
            decodeFourRows<kBits, kStages>(books, indices, low);
            decodeFourRows<kBits, kStages>(books, indices + kFourRows * (kBits * kStages / 8), high);
            storeTransposed(low, high, words + 2 * r);
            indices += 2 * kFourRows * (kBits * kStages / 8);
        }
    }
}

} // namespace

namespace avx2 {

void splitWords(const float* x, std::size_t columns, WordGroup& group)
{
    const float largest = magnitude(x, columns);
    const bool isNumber = largest == largest;
    const bool isZero = !(largest >= kReducedMagnitudeMin);
    const __m256 perUnit = _mm256_set1_ps(isZero ? 0.0F : kWordInputMax / largest);
    for (std::size_t c = 0; c < columns; c += kWidth) {
        const __m256i whole = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + c), perUnit));
        const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(group.values + c), isZero ? _mm_setzero_si128() : words);
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

} // namespace avx2
} // namespace waste::kernels
#endif
