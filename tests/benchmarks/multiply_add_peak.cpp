#include "multiply_add_peak.h"

#include <cstddef>

namespace waste::benchmark {

void multiplyAdd(std::uint64_t rounds, float& sink)
{
    using Vector = float __attribute__((vector_size(32)));
    constexpr std::size_t kChains = 12;
    const Vector zero = {};
    const Vector factor = zero + 0.999F + sink;
    const Vector term = zero + 0.001F;
    // Each chain has a start of its own: the compiler computes chains that begin alike only once.
    Vector chains[kChains];
    for (std::size_t i = 0; i < kChains; ++i)
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

} // namespace waste::benchmark
