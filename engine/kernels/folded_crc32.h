#pragma once

#include <cstddef>
#include <cstdint>

namespace waste::kernels {

// A CRC by multiplication without carries: x86_clmul.cpp, arm_pmull.cpp.

inline constexpr std::size_t kFoldedBytesMin = 64;
inline constexpr std::size_t kFoldedBytesStep = 16;

// Advances the state of a CRC-32/ISO-HDLC (not inverted at either end) over `count` bytes, at least
// kFoldedBytesMin and a multiple of kFoldedBytesStep.
std::uint32_t foldCrc32(std::uint32_t state, const std::byte* bytes, std::size_t count);

} // namespace waste::kernels
