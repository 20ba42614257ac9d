#include "multiply_add_peak.h"

#include <cstddef>

namespace waste::benchmark {

void multiplyAdd(std::uint64_t rounds, float& sink)
{
    using Vector = float __attribute__((vector_size(32)));
    constexpr std::size_t kChains = 12;
    Vector chains[kChains] = {};
    const Vector factor = chains[0] + 0.999F + sink;
    const Vector term = chains[0] + 0.001F;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        for (Vector& chain : chains)
            chain = chain * factor + term;
    }
    for (const Vector& chain : chains)
        sink += chain[0] * 1e-30F;
}

} // namespace waste::benchmark
