#include "layers/linear.h"

#include "base/checked.h"

#include <algorithm>

namespace waste {

namespace {

constexpr std::uint32_t kRowsPerItem = 32;

} // namespace

void project(const Compute& compute, const kernels::TokenInput& input, std::span<const Projection> projections)
{
    std::uint32_t itemCount = 0;
    std::size_t multiplyAdds = 0; // of the costliest item
    for (const Projection& projection : projections) {
        itemCount += ceilDivide(projection.matrix.rows, kRowsPerItem);
        multiplyAdds = std::max(multiplyAdds, kRowsPerItem * projection.matrix.columns * input.tokens);
    }
    // Items are the row blocks of the first matrix, then those of the second, and so on.
    compute.pool.parallelFor(
        itemCount, pieceGrain(multiplyAdds), [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
            std::uint32_t first = 0; // item of this matrix
            for (const Projection& projection : projections) {
                const std::uint32_t blocks = ceilDivide(projection.matrix.rows, kRowsPerItem);
                const std::uint32_t from = std::max(begin, first);
                const std::uint32_t to = std::min(end, first + blocks);
                if (from < to) {
                    const std::uint32_t rowEnd = std::min((to - first) * kRowsPerItem, projection.matrix.rows);
                    multiply(compute.kernels, projection.matrix, input, projection.output,
                        (from - first) * kRowsPerItem, rowEnd, compute.tile(worker));
                }
                first += blocks;
            }
        });
}

} // namespace waste
