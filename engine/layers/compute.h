#pragma once

#include "kernels/kernel_table.h"
#include "kernels/matrix_product.h"
#include "kernels/thread_pool.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// What computes: the kernels of one instruction set, the workers, and a tile of scratch for each.
struct Compute {
    const kernels::KernelTable& kernels;
    ThreadPool& pool;
    std::span<float> tiles; // [threads][kTileFloats]

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
