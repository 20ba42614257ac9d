#include "kernels/matrix_product.h"

#include "base/checked.h"

#include <algorithm>

namespace waste::kernels {

namespace {

// Few vectors: by kernels that decode in registers. False if these are too many.
bool multiplyFew(const KernelTable& kernels, const MatrixView& matrix, const TokenInput& input,
    const TokenOutput& output, std::uint32_t begin, std::uint32_t end)
{
    if (input.tokens != 1)
        return false;
    kernels.multiplyRows(matrix, input.x, output.y, begin, end);
    return true;
}

// Four at a time are as fast as many unpacked into a tile, one alone takes twice as long as its share of two.
bool multiplyFew(const KernelTable& kernels, const VqMatrixView& matrix, const TokenInput& input,
    const TokenOutput& output, std::uint32_t begin, std::uint32_t end)
{
    constexpr std::size_t kFewMax = 12;
    if (input.tokens > kFewMax)
        return false;
    for (std::size_t token = 0; token < input.tokens;) {
        const std::size_t rest = input.tokens - token;
        const std::size_t count = rest == kVqVectorsMax + 1 ? kVqVectorsMax - 1 : std::min(rest, kVqVectorsMax);
        kernels.multiplyVqRows(matrix,
            {input.x + token * input.stride, input.stride, count, output.y + token * output.stride, output.stride},
            begin, end);
        token += count;
    }
    return true;
}

// Rows as f32 for some columns: in place where they are stored like that, else unpacked into the tile.
struct RowsAsFloats {
    const float* values;
    std::size_t stride;
};

RowsAsFloats unpack(const KernelTable& kernels, const MatrixView& matrix, std::uint32_t row, std::uint32_t rows,
    std::uint32_t begin, std::uint32_t end, float* tile)
{
    if (matrix.format == WeightFormat::F32) {
        const std::size_t stride = matrix.rowBytes / sizeof(float);
        return {reinterpret_cast<const float*>(matrix.payload) + row * stride + begin, stride};
    }
    for (std::uint32_t r = 0; r < rows; ++r)
        kernels.unpackRow(matrix, row + r, begin, end, tile + r * kTileStride);
    return {tile, kTileStride};
}

RowsAsFloats unpack(const KernelTable& kernels, const VqMatrixView& matrix, std::uint32_t row, std::uint32_t rows,
    std::uint32_t begin, std::uint32_t end, float* tile)
{
    for (std::uint32_t r = 0; r < rows; ++r)
        kernels.unpackVqRow(matrix, row + r, begin, end, tile + r * kTileStride);
    return {tile, kTileStride};
}

std::uint32_t panelColumns(const MatrixView&)
{
    return kTileColumns;
}
std::uint32_t panelColumns(const VqMatrixView& matrix)
{
    return static_cast<std::uint32_t>(kTileColumns / matrix.vecDim * matrix.vecDim);
}

// Columns outside, rows inside: the inputs of one panel stay in the cache for all rows.
template<typename Matrix>
void multiplyAny(const KernelTable& kernels, const Matrix& matrix, const TokenInput& input, const TokenOutput& output,
    std::uint32_t begin, std::uint32_t end, float* tile)
{
    if (multiplyFew(kernels, matrix, input, output, begin, end))
        return;
    const std::uint32_t panel = panelColumns(matrix);
    for (std::uint32_t column = 0; column < matrix.columns; column += panel) {
        const std::uint32_t columnEnd = std::min(column + panel, matrix.columns);
        for (std::uint32_t row = begin; row < end; row += kTileRows) {
            const std::uint32_t rows = std::min<std::uint32_t>(kTileRows, end - row);
            const RowsAsFloats weights = unpack(kernels, matrix, row, rows, column, columnEnd, tile);
            kernels.multiplyTokens({.w = weights.values,
                .wStride = weights.stride,
                .rows = rows,
                .x = input.x + column,
                .xStride = input.stride,
                .tokens = input.tokens,
                .columns = columnEnd - column,
                .y = output.y + row,
                .yStride = output.stride,
                .accumulate = column != 0});
        }
    }
}

} // namespace

MatrixView rowRange(const MatrixView& matrix, std::uint32_t first, std::uint32_t count)
{
    MatrixView range = matrix;
    range.rows = count;
    range.payload += first * matrix.rowBytes;
    if (matrix.scales != nullptr)
        range.scales += std::size_t{first} * ceilDivide(matrix.columns, matrix.group);
    return range;
}

void multiply(const KernelTable& kernels, const MatrixView& matrix, const TokenInput& input, const TokenOutput& output,
    std::uint32_t begin, std::uint32_t end, float* tile)
{
    multiplyAny(kernels, matrix, input, output, begin, end, tile);
}

void multiply(const KernelTable& kernels, const VqMatrixView& matrix, const TokenInput& input,
    const TokenOutput& output, std::uint32_t begin, std::uint32_t end, float* tile)
{
    multiplyAny(kernels, matrix, input, output, begin, end, tile);
}

} // namespace waste::kernels
