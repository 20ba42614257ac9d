#pragma once

#include "base/checked.h"
#include "kernels/kernel_table.h"
#include "kernels/matrix_product.h"
#include "kernels/thread_pool.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// Products with the trunk, attention and dense networks take at most this many tokens at a time, whatever the chunk:
// unpacked weights serve enough of them by then, and what they need in between does not grow with the chunk.
inline constexpr std::uint32_t kPieceTokens = 64;

// Calls body(firstToken, tokenCount) for one piece after another.
template<typename Body>
void forPieces(std::size_t tokens, const Body& body)
{
    for (std::size_t first = 0; first < tokens; first += kPieceTokens)
        body(first, std::min<std::size_t>(kPieceTokens, tokens - first));
}

// Memory for one input in planes (kernels/reduced_inputs.h).
struct PlaneScratch {
    std::span<kernels::PlaneBytes> bytes; // [tokens of a piece][stride of the widest input], like the others
    std::span<kernels::PlaneWords> words;
    std::span<float> scales;
    std::span<std::int32_t> sums;

    template<typename A>
    static PlaneScratch carve(A& arena, std::size_t columnsMax, std::uint32_t tokensMax)
    {
        const std::size_t groups = ceilDivide(columnsMax, kernels::kPlaneGroup);
        const std::size_t count = std::min(tokensMax, kPieceTokens) * kernels::planeStride(groups);
        PlaneScratch scratch;
        scratch.bytes = arena.template take<kernels::PlaneBytes>(count);
        scratch.words = arena.template take<kernels::PlaneWords>(count);
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

// Of weights a lone vector meets every byte once, as a stream that is fetched ahead: a piece of 128 KiB and more (four
// bits) is long beside what it takes to begin one. Nine layers of Kimi-Linear take 27 in place of 31 ms a token.
constexpr std::uint32_t rowGrain(std::size_t weightsPerItem, std::size_t tokens)
{
    constexpr std::size_t kLonger = 4; // times as long as what the arithmetic alone asks for
    return pieceGrain(tokens == 1 ? weightsPerItem / kLonger : weightsPerItem * tokens);
}

} // namespace waste
