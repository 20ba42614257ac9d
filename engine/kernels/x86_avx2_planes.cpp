#if defined(__x86_64__)

#include "kernels/x86_avx2.h"

// Vectors in two planes of bytes and as 16-bit integers (reduced_inputs.h).

namespace waste::kernels {

namespace {

constexpr float kWholeMax = 127 * 128;

// Largest magnitude by its bits, which are in order; infinities and NaN are above every number.
float magnitude(const float* x, std::size_t count)
{
    __m256i largest = _mm256_setzero_si256();
    const __m256i noSign = _mm256_set1_epi32(0x7FFFFFFF);
    for (std::size_t i = 0; i < count; i += kWidth) {
        const __m256i mask = maskOf(count - i < kWidth ? count - i : kWidth);
        const __m256i bits = _mm256_castps_si256(_mm256_maskload_ps(x + i, mask));
        largest = _mm256_max_epi32(largest, _mm256_and_si256(bits, noSign));
    }
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xB1));
    const int bits = _mm_cvtsi128_si32(four);
    constexpr int kInfinityBits = 0x7F800000;
    return bits >= kInfinityBits ? __builtin_nanf("") : _mm_cvtss_f32(_mm_castsi128_ps(four));
}

// Sixteen columns: bytes of the even ones, then of the odd ones.
void storePlane(std::int8_t* plane, std::size_t column, __m256i first, __m256i second)
{
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xD8);
    const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    const __m128i split = _mm_shuffle_epi8(bytes, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(plane + column / 2), split);
    _mm_storel_epi64(
        reinterpret_cast<__m128i*>(plane + kPlaneGroup / 2 + column / 2), _mm_unpackhi_epi64(split, split));
}

// Returns the sum of the integers. `count` columns are there, the others become 0.
std::int32_t splitGroup(const float* x, std::size_t count, float perUnit, PlaneBytes& bytes, PlaneWords& words)
{
    const __m256 factor = _mm256_set1_ps(perUnit);
    __m256i sum = _mm256_setzero_si256();
    const auto wholeAt = [&](std::size_t i) {
        if (i >= count)
            return _mm256_setzero_si256();
        const __m256i mask = maskOf(count - i < kWidth ? count - i : kWidth);
        return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_maskload_ps(x + i, mask), factor));
    };
    const auto highOf = [](__m256i whole) {
        return _mm256_srai_epi32(_mm256_add_epi32(whole, _mm256_set1_epi32(64)), 7);
    };
    for (std::size_t i = 0; i < kPlaneGroup; i += 2 * kWidth) {
        const __m256i first = wholeAt(i);
        const __m256i second = wholeAt(i + kWidth);
        sum = _mm256_add_epi32(sum, _mm256_add_epi32(first, second));
        const __m256i sixteen = _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xD8);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(words.values + i), sixteen);
        const __m256i firstHigh = highOf(first);
        const __m256i secondHigh = highOf(second);
        storePlane(bytes.high, i, firstHigh, secondHigh);
        storePlane(bytes.low, i, _mm256_sub_epi32(first, _mm256_slli_epi32(firstHigh, 7)),
            _mm256_sub_epi32(second, _mm256_slli_epi32(secondHigh, 7)));
    }
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1));
    return _mm_cvtsi128_si32(four);
}

} // namespace

namespace avx2 {

void splitPlanes(const float* x, std::size_t columns, const PlaneInput& planes)
{
    for (std::size_t g = 0; g < planes.groupCount; ++g) {
        const float* const values = x + g * kPlaneGroup;
        const std::size_t rest = columns - g * kPlaneGroup;
        const std::size_t count = rest < kPlaneGroup ? rest : kPlaneGroup;
        const float largest = magnitude(values, count);
        const bool isNumber = largest == largest;
        const bool isZero = !(largest >= kReducedMagnitudeMin);
        planes.scales[g] = isZero && isNumber ? 0.0F : largest / kWholeMax;
        planes.sums[g] = splitGroup(
            values, isZero ? 0 : count, isZero ? 0.0F : kWholeMax / largest, planes.bytes[g], planes.words[g]);
    }
}

} // namespace avx2
} // namespace waste::kernels
#endif
