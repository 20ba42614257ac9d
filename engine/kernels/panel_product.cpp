#include "kernels/panel_product.h"

#include <algorithm>

namespace waste::kernels {

namespace {

// 16 rows of a matrix, some columns of them, as f32 one behind the other.
const float* unpackRows(const KernelTable& kernels, const MatrixView& matrix, std::uint32_t row, std::size_t rows,
    std::uint32_t column, std::uint32_t columnEnd, float* values)
{
    for (std::size_t r = 0; r < rows; ++r)
        kernels.unpackRow(matrix, row + static_cast<std::uint32_t>(r), column, columnEnd, values + r * kPanelDepth);
    return values;
}

// At most kPanelGrain rows.
void multiplyPiece(const KernelTable& kernels, const MatrixView& matrix, const TokenInput& input,
    const TokenOutput& output, std::uint32_t begin, std::uint32_t end, Sum sum, float* scratch)
{
    float* const panels = scratch;
    float* const unpacked = panels + kPanelsTogether * kPanelRows * kPanelDepth;
    float* const vectors = unpacked + kPanelRows * kPanelDepth;
    for (std::uint32_t column = 0; column < matrix.columns; column += kPanelDepth) {
        const std::uint32_t columnEnd = std::min<std::uint32_t>(column + kPanelDepth, matrix.columns);
        const std::size_t columns = columnEnd - column;
        for (std::uint32_t row = begin; row < end; row += kPanelRows) {
            const std::size_t rows = std::min<std::size_t>(kPanelRows, end - row);
            const float* w = unpackRows(kernels, matrix, row, rows, column, columnEnd, unpacked);
            kernels.packPanel(w, kPanelDepth, rows, columns, panels + (row - begin) * kPanelDepth);
        }
        for (std::size_t token = 0; token < input.tokens; token += kPanelTokens) {
            const std::size_t tokens = std::min(kPanelTokens, input.tokens - token);
            // Vectors of a power of two lie a whole number of pages apart and would push each other out.
            for (std::size_t t = 0; t < tokens; ++t)
                std::copy_n(input.x + (token + t) * input.stride + column, columns, vectors + t * kPanelDepth);
            for (std::uint32_t row = begin; row < end; row += kPanelRows) {
                kernels.multiplyPanel({.panel = panels + (row - begin) * kPanelDepth,
                    .rows = std::min<std::size_t>(kPanelRows, end - row),
                    .x = vectors,
                    .xStride = kPanelDepth,
                    .tokens = tokens,
                    .columns = columns,
                    .y = output.y + token * output.stride + row,
                    .yStride = output.stride,
                    .accumulate = sum == Sum::Added || column != 0});
            }
        }
    }
}

} // namespace

void multiplyPanels(const KernelTable& kernels, const MatrixView& matrix, const TokenInput& input,
    const TokenOutput& output, std::uint32_t begin, std::uint32_t end, Sum sum, float* scratch)
{
    constexpr auto kPiece = static_cast<std::uint32_t>(kPanelGrain);
    for (std::uint32_t first = begin; first < end; first += kPiece)
        multiplyPiece(kernels, matrix, input, output, first, std::min(first + kPiece, end), sum, scratch);
}

} // namespace waste::kernels
