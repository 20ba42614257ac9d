#pragma once

#include <cstddef>
#include <cstdint>

namespace waste::benchmark {

// Multiply-adds of f32 in registers alone, in twelve independent chains: what a core computes with vectors of
// one width when nothing else is in its way. `sink` keeps the work from being dropped.
inline constexpr std::size_t kMultiplyAddChains = 12;
void multiplyAdd256(std::uint64_t rounds, float& sink); // AVX2, NEON
void multiplyAdd512(std::uint64_t rounds, float& sink); // AVX-512

// In each file that is compiled for vectors of one width, with its flags: never shared.
namespace {

template<typename Vector>
void multiplyAdd(std::uint64_t rounds, float& sink)
{
    const Vector zero = {};
    const Vector factor = zero + 0.999F + sink;
    const Vector term = zero + 0.001F;
    // Each chain has a start of its own: the compiler computes chains that begin alike only once.
    Vector chains[kMultiplyAddChains];
    for (std::size_t i = 0; i < kMultiplyAddChains; ++i)
        chains[i] = zero + static_cast<float>(i);
    for (std::uint64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
        for (Vector& chain : chains)
            chain = chain * factor + term;
    }
#pragma GCC unroll 12
    for (const Vector& chain : chains)
        sink += chain[0] * 1e-30F;
}

} // namespace

} // namespace waste::benchmark
