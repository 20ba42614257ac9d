#pragma once

#include "base/checked.h"
#include "kernels/kernel_table.h"
#include "kernels/matrix_product.h"
#include "kernels/thread_pool.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// Memory for one input in planes (kernels/reduced_inputs.h).
struct PlaneScratch {
    std::span<kernels::PlaneGroup> groups; // [tokens][groups of the widest input]
    std::span<float> scales;
    std::span<std::int32_t> sums;

    template<typename A>
    static PlaneScratch carve(A& arena, std::size_t columnsMax, std::uint32_t tokensMax)
    {
        const std::size_t count = tokensMax * ceilDivide(columnsMax, kernels::kPlaneGroup);
        PlaneScratch scratch;
        scratch.groups = arena.template take<kernels::PlaneGroup>(count);
        scratch.scales = arena.template take<float>(count);
        scratch.sums = arena.template take<std::int32_t>(count);
        return scratch;
    }
};

// Which products may be computed: the exact ones alone, or reduced ones where a weight's format has them.
enum class Arithmetic : std::uint8_t { Exact, Reduced };

// What computes: the kernels of one instruction set, the workers, and scratch for them.
struct Compute {
    const kernels::KernelTable& kernels;
    ThreadPool& pool;
    std::span<float> tiles; // [threads][kTileFloats]
    PlaneScratch planes = {}; // of the input at hand; not needed for exact products
    Arithmetic arithmetic = Arithmetic::Exact;

    [[nodiscard]] float* tile(std::uint32_t worker) const { return tiles.data() + worker * kernels::kTileFloats; }
};

// A loop piece should be worth more than handing it to another thread, which costs about a microsecond:
// that many multiply-adds take some microseconds.
inline constexpr std::size_t kPieceMultiplyAdds = 65536;

// Items per piece, if one item costs that many multiply-adds. Never depends on the number of threads.
constexpr std::uint32_t pieceGrain(std::size_t multiplyAddsPerItem)
{
    return static_cast<std::uint32_t>(kPieceMultiplyAdds / (multiplyAddsPerItem + 1) + 1);
}

} // namespace waste
