#include "layers/linear.h"

#include "base/checked.h"

#include <algorithm>
#include <cassert>

namespace waste {

namespace {

constexpr std::uint32_t kRowsPerItem = 32; // a whole panel of the widest kernel
constexpr std::size_t kSplitCost = 4; // of splitting one value, in multiply-adds

// Whether the matrix is to be multiplied in planes.
bool usesPlanes(const Compute& compute, const kernels::MatrixView& matrix)
{
    return compute.arithmetic == Arithmetic::Reduced && kernels::takesPlanes(matrix);
}

} // namespace

kernels::PlaneInput splitInput(
    const Compute& compute, const PlaneScratch& scratch, const kernels::TokenInput& input, std::uint32_t columns)
{
    const std::size_t groups = ceilDivide(std::size_t{columns}, kernels::kPlaneGroup);
    assert(input.tokens * kernels::planeStride(groups) <= scratch.bytes.size());
    const kernels::PlaneInput planes = {
        scratch.bytes.data(), scratch.words.data(), scratch.scales.data(), scratch.sums.data(), groups, input.tokens};
    compute.pool.parallelFor(static_cast<std::uint32_t>(input.tokens), pieceGrain(kSplitCost * columns),
        [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
            for (std::size_t token = begin; token < end; ++token)
                compute.kernels.splitPlanes(input.x + token * input.stride, columns, planes.token(token));
        });
    return planes;
}

LinearInput prepareInput(
    const Compute& compute, const kernels::TokenInput& input, std::span<const kernels::MatrixView> matrices)
{
    for (const kernels::MatrixView& matrix : matrices) {
        if (usesPlanes(compute, matrix))
            return {input, splitInput(compute, compute.planes, input, matrix.columns)};
    }
    return {input, {}};
}

void multiplyRows(const Compute& compute, const kernels::MatrixView& matrix, const LinearInput& input,
    const kernels::TokenOutput& output, std::uint32_t begin, std::uint32_t end, std::uint32_t worker)
{
    if (usesPlanes(compute, matrix))
        compute.kernels.multiplyPlanes(matrix, input.planes, output.y, output.stride, begin, end);
    else
        multiply(compute.kernels, matrix, input.exact, output, begin, end, compute.tile(worker));
}

namespace {

void projectPiece(const Compute& compute, const kernels::TokenInput& input, std::span<const Projection> projections,
    std::size_t first)
{
    std::uint32_t itemCount = 0;
    std::size_t weights = 0; // of the largest item
    for (const Projection& projection : projections) {
        itemCount += ceilDivide(projection.matrix.rows, kRowsPerItem);
        weights = std::max(weights, std::size_t{kRowsPerItem} * projection.matrix.columns);
    }
    LinearInput prepared = {input, {}};
    for (const Projection& projection : projections) {
        if (prepared.planes.tokens == 0)
            prepared = prepareInput(compute, input, {&projection.matrix, 1});
    }
    // Items are the row blocks of the first matrix, then those of the second, and so on.
    compute.pool.parallelFor(
        itemCount, rowGrain(weights, input.tokens), [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
            std::uint32_t firstItem = 0; // of this matrix
            for (const auto& [matrix, output] : projections) {
                const std::uint32_t blocks = ceilDivide(matrix.rows, kRowsPerItem);
                const std::uint32_t from = std::max(begin, firstItem);
                const std::uint32_t to = std::min(end, firstItem + blocks);
                if (from < to) {
                    const std::uint32_t rowEnd = std::min((to - firstItem) * kRowsPerItem, matrix.rows);
                    multiplyRows(compute, matrix, prepared, {output.y + first * output.stride, output.stride},
                        (from - firstItem) * kRowsPerItem, rowEnd, worker);
                }
                firstItem += blocks;
            }
        });
}

} // namespace

void project(const Compute& compute, const kernels::TokenInput& input, std::span<const Projection> projections)
{
    forPieces(input.tokens, [&](std::size_t first, std::size_t count) {
        projectPiece(compute, {input.x + first * input.stride, input.stride, count}, projections, first);
    });
}

} // namespace waste
