#pragma once

#include <bit>
#include <cstdint>

namespace waste {

// IEEE binary16 → binary32, exact, subnormals included (spec: model T2).
constexpr float floatFromHalf(std::uint16_t half)
{
    const std::uint32_t sign = std::uint32_t{half & 0x8000U} << 16;
    const std::uint32_t exponent = (half >> 10) & 0x1FU;
    const std::uint32_t mantissa = half & 0x3FFU;
    if (exponent == 0) {
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    const std::uint32_t biased = exponent == 31 ? 0xFFU : exponent + (127 - 15);
    return std::bit_cast<float>(sign | (biased << 23) | (mantissa << 13));
}

// binary32 → binary16, round to nearest even; too large becomes infinite.
constexpr std::uint16_t halfFromFloat(float value)
{
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U)
        return static_cast<std::uint16_t>(sign | 0x7E00U); // NaN
    if (magnitude >= 0x477FF000U) // 65520 and above round to infinity
        return static_cast<std::uint16_t>(sign | 0x7C00U);
    if (magnitude < 0x38800000U) { // below 2^-14: subnormal, a multiple of 2^-24
        // Adding 0.5 shifts the value's 2^-24 digit to the last place of the mantissa.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
        return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
    }
    const std::uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13) & 1U);
    return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

constexpr bool isFiniteHalf(std::uint16_t half)
{
    return (half & 0x7C00U) != 0x7C00U;
}

constexpr float floatFromBfloat16(std::uint16_t value)
{
    return std::bit_cast<float>(std::uint32_t{value} << 16);
}

} // namespace waste
