#if defined(__aarch64__)

// The same folding with the same factors as x86_clmul.cpp, which says where they come from.

#include "kernels/folded_crc32.h"

#include <arm_neon.h>

namespace waste::kernels {
namespace {

// Reflected x^n mod P: low and high half of what a fold multiplies with.
constexpr std::uint64_t kOver64Low = 0x154442BD4; // n = 4·128 + 32
constexpr std::uint64_t kOver64High = 0x1C6E41596; // n = 4·128 − 32
constexpr std::uint64_t kOver16Low = 0x1751997D0; // n = 128 + 32
constexpr std::uint64_t kOver16High = 0x0CCAA009E; // n = 128 − 32
constexpr std::uint64_t kOver8 = 0x163CD6124; // n = 64
constexpr std::uint64_t kPolynomial = 0x1DB710641;
constexpr std::uint64_t kQuotient = 0x1F7011641; // floor(x^64 / P)

uint64x2_t load(const std::byte* bytes)
{
    return vreinterpretq_u64_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(bytes)));
}

uint64x2_t multiply(std::uint64_t a, std::uint64_t b)
{
    return vreinterpretq_u64_p128(vmull_p64(static_cast<poly64_t>(a), static_cast<poly64_t>(b)));
}

uint64x2_t fold(uint64x2_t remainder, std::uint64_t factorLow, std::uint64_t factorHigh, uint64x2_t next)
{
    const uint64x2_t low = multiply(vgetq_lane_u64(remainder, 0), factorLow);
    const uint64x2_t high = multiply(vgetq_lane_u64(remainder, 1), factorHigh);
    return veorq_u64(veorq_u64(low, high), next);
}

// 128 bits to 64, to 32, and the division (Barrett's).
std::uint32_t reduce(uint64x2_t x)
{
    constexpr std::uint64_t kWord = 0xFFFFFFFF;
    const uint64x2_t zero = vdupq_n_u64(0);
    x = veorq_u64(vextq_u64(x, zero, 1), multiply(vgetq_lane_u64(x, 0), kOver16High));
    const uint64x2_t fourBytesOn = vreinterpretq_u64_u8(vextq_u8(vreinterpretq_u8_u64(x), vdupq_n_u8(0), 4));
    x = veorq_u64(fourBytesOn, multiply(vgetq_lane_u64(x, 0) & kWord, kOver8));
    const std::uint64_t quotient = vgetq_lane_u64(multiply(vgetq_lane_u64(x, 0) & kWord, kQuotient), 0) & kWord;
    x = veorq_u64(x, multiply(quotient, kPolynomial));
    return static_cast<std::uint32_t>(vgetq_lane_u64(x, 0) >> 32);
}

} // namespace

std::uint32_t foldCrc32(std::uint32_t state, const std::byte* bytes, std::size_t count)
{
    uint64x2_t a = veorq_u64(load(bytes), vcombine_u64(vcreate_u64(state), vcreate_u64(0)));
    uint64x2_t b = load(bytes + 16);
    uint64x2_t c = load(bytes + 32);
    uint64x2_t d = load(bytes + 48);
    std::size_t done = 64;
    for (; done + 64 <= count; done += 64) {
        a = fold(a, kOver64Low, kOver64High, load(bytes + done));
        b = fold(b, kOver64Low, kOver64High, load(bytes + done + 16));
        c = fold(c, kOver64Low, kOver64High, load(bytes + done + 32));
        d = fold(d, kOver64Low, kOver64High, load(bytes + done + 48));
    }
    a = fold(a, kOver16Low, kOver16High, b);
    a = fold(a, kOver16Low, kOver16High, c);
    a = fold(a, kOver16Low, kOver16High, d);
    for (; done < count; done += 16)
        a = fold(a, kOver16Low, kOver16High, load(bytes + done));
    return reduce(a);
}

} // namespace waste::kernels

#endif
