#if defined(__x86_64__)

// V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009), for
// the reflected polynomial 0xEDB88320. A part of the message is replaced by its remainder further on: its halves,
// multiplied by x^n mod P. Four of them at a time hide the latency of the multiplication.

#include "kernels/folded_crc32.h"

#include <immintrin.h>

namespace waste::kernels {
namespace {

// Reflected x^n mod P: low and high half of what a fold multiplies with.
constexpr long long kOver64Low = 0x154442BD4; // n = 4·128 + 32
constexpr long long kOver64High = 0x1C6E41596; // n = 4·128 − 32
constexpr long long kOver16Low = 0x1751997D0; // n = 128 + 32
constexpr long long kOver16High = 0x0CCAA009E; // n = 128 − 32
constexpr long long kOver8 = 0x163CD6124; // n = 64
constexpr long long kPolynomial = 0x1DB710641;
constexpr long long kQuotient = 0x1F7011641; // floor(x^64 / P)

__m128i load(const std::byte* bytes)
{
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

__m128i fold(__m128i remainder, __m128i factors, __m128i next)
{
    const __m128i low = _mm_clmulepi64_si128(remainder, factors, 0x00);
    const __m128i high = _mm_clmulepi64_si128(remainder, factors, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// 128 bits to 64, to 32, and the division (Barrett's).
std::uint32_t reduce(__m128i x)
{
    const __m128i over16 = _mm_set_epi64x(kOver16High, kOver16Low);
    const __m128i over8 = _mm_set_epi64x(0, kOver8);
    const __m128i division = _mm_set_epi64x(kQuotient, kPolynomial);
    const __m128i words = _mm_set_epi32(0, -1, 0, -1);
    x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, over16, 0x10));
    x = _mm_xor_si128(_mm_srli_si128(x, 4), _mm_clmulepi64_si128(_mm_and_si128(x, words), over8, 0x00));
    __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(x, words), division, 0x10);
    quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, words), division, 0x00);
    return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(x, quotient), 1));
}

} // namespace

std::uint32_t foldCrc32(std::uint32_t state, const std::byte* bytes, std::size_t count)
{
    const __m128i over64 = _mm_set_epi64x(kOver64High, kOver64Low);
    const __m128i over16 = _mm_set_epi64x(kOver16High, kOver16Low);
    __m128i a = _mm_xor_si128(load(bytes), _mm_cvtsi32_si128(static_cast<int>(state)));
    __m128i b = load(bytes + 16);
    __m128i c = load(bytes + 32);
    __m128i d = load(bytes + 48);
    std::size_t done = 64;
    for (; done + 64 <= count; done += 64) {
        a = fold(a, over64, load(bytes + done));
        b = fold(b, over64, load(bytes + done + 16));
        c = fold(c, over64, load(bytes + done + 32));
        d = fold(d, over64, load(bytes + done + 48));
    }
    a = fold(a, over16, b);
    a = fold(a, over16, c);
    a = fold(a, over16, d);
    for (; done < count; done += 16)
        a = fold(a, over16, load(bytes + done));
    return reduce(a);
}

} // namespace waste::kernels

#endif
