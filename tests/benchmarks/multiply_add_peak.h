#pragma once

#include <cstdint>

namespace waste::benchmark {

// Multiply-adds of f32 in registers alone, twelve independent chains of eight: what a core computes with AVX2 or NEON
// when nothing else is in its way. `sink` keeps the work from being dropped.
inline constexpr std::uint64_t kMultiplyAddsPerRound = 12 * 8;
void multiplyAdd(std::uint64_t rounds, float& sink);

} // namespace waste::benchmark
