#include "kernels/matrix_product.h"

#include "base/checked.h"
#include "base/half.h"

#include <algorithm>

namespace waste::kernels {

namespace {

// Rows as f32 for some columns: in place where they are stored like that, else unpacked into the tile.
struct RowsAsFloats {
    const float* values;
    std::size_t stride;
};

RowsAsFloats unpack(const KernelTable& kernels, const MatrixView& matrix, std::uint32_t row, std::uint32_t rows,
    std::uint32_t begin, std::uint32_t end, float* tile, std::size_t stride)
{
    if (matrix.format == WeightFormat::F32) {
        const std::size_t rowFloats = matrix.rowBytes / sizeof(float);
        return {reinterpret_cast<const float*>(matrix.payload) + row * rowFloats + begin, rowFloats};
    }
    for (std::uint32_t r = 0; r < rows; ++r)
        kernels.unpackRow(matrix, row + r, begin, end, tile + r * stride);
    return {tile, stride};
}

RowsAsFloats unpack(const KernelTable& kernels, const VqMatrixView& matrix, std::uint32_t row, std::uint32_t rows,
    std::uint32_t begin, std::uint32_t end, float* tile, std::size_t stride)
{
    kernels.unpackVqRows(matrix, row, row + rows, begin, end, tile, stride);
    return {tile, stride};
}

// A tile of many rows and few columns: with its inputs and the codebooks it stays in the nearest caches, and an
// expert's indices, which lie side by side for 64 rows, are read in their order.
constexpr std::uint32_t kSquareRows = 64;
constexpr std::uint32_t kSquareColumns = 64;
static_assert(kSquareRows * kSquareColumns <= kTileFloats);

std::uint32_t squareColumns(const MatrixView&)
{
    return kSquareColumns;
}
std::uint32_t squareColumns(const VqMatrixView& matrix)
{
    return std::max<std::uint32_t>(kSquareColumns / matrix.vecDim, 1) * matrix.vecDim;
}

template<typename Matrix>
void multiplySideBySide(const KernelTable& kernels, const Matrix& matrix, const SideBySide& input, float* y,
    std::uint32_t begin, std::uint32_t end, float* tile)
{
    const std::uint32_t square = squareColumns(matrix);
    const auto tileRows = static_cast<std::uint32_t>(std::min<std::size_t>(kSquareRows, kTileFloats / square));
    for (std::uint32_t row = begin; row < end; row += tileRows) {
        const std::uint32_t rows = std::min(tileRows, end - row);
        float* const sums = y + row * input.count;
        std::fill_n(sums, rows * input.count, 0.0F);
        for (std::uint32_t column = 0; column < matrix.columns; column += square) {
            const std::uint32_t columnEnd = std::min(column + square, matrix.columns);
            const RowsAsFloats weights = unpack(kernels, matrix, row, rows, column, columnEnd, tile, square);
            kernels.addProduct({.a = weights.values,
                .aRowStride = weights.stride,
                .aDepthStride = 1,
                .b = input.x + column * input.count,
                .bStride = input.count,
                .c = sums,
                .cStride = input.count,
                .rows = rows,
                .depth = columnEnd - column,
                .columns = input.count});
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

// Columns outside, rows inside: the inputs of one panel stay in the cache for all rows.
void multiply(const KernelTable& kernels, const MatrixView& matrix, const TokenInput& input, const TokenOutput& output,
    std::uint32_t begin, std::uint32_t end, float* tile)
{
    if (input.tokens == 1) {
        kernels.multiplyRows(matrix, input.x, output.y, begin, end);
        return;
    }
    for (std::uint32_t column = 0; column < matrix.columns; column += kTileColumns) {
        const std::uint32_t columnEnd = std::min<std::uint32_t>(column + kTileColumns, matrix.columns);
        for (std::uint32_t row = begin; row < end; row += kTileRows) {
            const std::uint32_t rows = std::min<std::uint32_t>(kTileRows, end - row);
            const RowsAsFloats weights = unpack(kernels, matrix, row, rows, column, columnEnd, tile, kTileStride);
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

void multiply(const KernelTable& kernels, const VqMatrixView& matrix, const TokenInput& input,
    const TokenOutput& output, std::uint32_t begin, std::uint32_t end)
{
    for (std::size_t token = 0; token < input.tokens;) {
        // One alone takes twice as long as its share of two.
        const std::size_t rest = input.tokens - token;
        const std::size_t count = rest == kVqVectorsMax + 1 ? kVqVectorsMax - 1 : std::min(rest, kVqVectorsMax);
        kernels.multiplyVqRows(matrix,
            {input.x + token * input.stride, input.stride, count, output.y + token * output.stride, output.stride},
            begin, end);
        token += count;
    }
}

void multiply(const KernelTable& kernels, const MatrixView& matrix, const SideBySide& input, float* y,
    std::uint32_t begin, std::uint32_t end, float* tile)
{
    multiplySideBySide(kernels, matrix, input, y, begin, end, tile);
}

void multiply(const KernelTable& kernels, const VqMatrixView& matrix, const SideBySide& input, float* y,
    std::uint32_t begin, std::uint32_t end, float* tile)
{
    multiplySideBySide(kernels, matrix, input, y, begin, end, tile);
}

void multiplyWords(const KernelTable& kernels, const VqMatrixView& matrix, const WordBooks& books,
    const WordInput& input, float* y, std::uint32_t row, float* tile)
{
    static_assert(kWordRows * kWordGroup * sizeof(std::int16_t) <= kTileFloats * sizeof(float));
    auto* const words = reinterpret_cast<std::int16_t*>(tile);
    std::fill_n(y, input.count * kWordRows, 0.0F);
    for (std::uint32_t column = 0; column < matrix.columns; column += kWordGroup) {
        const auto columnEnd = static_cast<std::uint32_t>(std::min<std::size_t>(column + kWordGroup, matrix.columns));
        kernels.unpackVqWords(matrix, books, row, column, columnEnd, words);
        kernels.addWordProduct({.w = words,
            .x = input.groups + column / kWordGroup * input.stride,
            .columns = columnEnd - column,
            .count = input.count,
            .y = y});
    }
    float scales[kWordRows] = {};
    const std::uint32_t rows = std::min(matrix.rows - row, static_cast<std::uint32_t>(kWordRows));
    for (std::uint32_t r = 0; r < rows; ++r)
        scales[r] = floatFromHalf(matrix.scales[row + r]) * books.unit;
    for (std::size_t v = 0; v < input.count; ++v, y += kWordRows) {
        for (std::size_t r = 0; r < kWordRows; ++r)
            y[r] *= scales[r];
    }
}

} // namespace waste::kernels
