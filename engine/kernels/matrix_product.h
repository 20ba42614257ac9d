#pragma once

#include "kernels/kernel_table.h"

#include <cstddef>
#include <cstdint>

namespace waste::kernels {

// Some rows of a matrix times one or several vectors, from the kernels of one table.

// Vectors as rows of a buffer.
struct TokenInput {
    const float* x = nullptr; // [tokens][columns]
    std::size_t stride = 0;
    std::size_t tokens = 1;
};
struct TokenOutput {
    float* y = nullptr; // [tokens][rows]; row r of the matrix goes to column r
    std::size_t stride = 0;
};

// Rows of a quantised matrix are unpacked to f32 in tiles of this many values, once for all tokens.
inline constexpr std::size_t kTileRows = 4;
inline constexpr std::size_t kTileColumns = 1024;
// A little more than the columns, so that the rows of a tile do not fall into the same cache sets.
inline constexpr std::size_t kTileStride = kTileColumns + 16;
inline constexpr std::size_t kTileFloats = kTileRows * kTileStride;

// Vectors side by side: value i of vector v at x[i · count + v]. A multiple of this many, so that whole registers of
// vectors are multiplied by one weight; what stands in the places of missing vectors means nothing.
inline constexpr std::size_t kSideBySide = 8;
struct SideBySide {
    const float* x = nullptr; // [columns][count]
    std::size_t count = 0;
};

// `count` rows from `first` on, as a matrix of their own.
MatrixView rowRange(const MatrixView& matrix, std::uint32_t first, std::uint32_t count);

// Rows begin..end-1. `tile` is scratch of kTileFloats. A row's result does not depend on begin and end.
void multiply(const KernelTable& kernels, const MatrixView& matrix, const TokenInput& input, const TokenOutput& output,
    std::uint32_t begin, std::uint32_t end, float* tile);
// An expert's rows are decoded again for every few vectors.
void multiply(const KernelTable& kernels, const VqMatrixView& matrix, const TokenInput& input,
    const TokenOutput& output, std::uint32_t begin, std::uint32_t end);

// The same for vectors that lie side by side, y [rows][input.count]; rows are decoded once for all of them.
void multiply(const KernelTable& kernels, const MatrixView& matrix, const SideBySide& input, float* y,
    std::uint32_t begin, std::uint32_t end, float* tile);
void multiply(const KernelTable& kernels, const VqMatrixView& matrix, const SideBySide& input, float* y,
    std::uint32_t begin, std::uint32_t end, float* tile);
// Rows of the index block that begins at `row` times vectors in words; y [input.count][kWordRows], where what follows
// the matrix's last row means nothing.
void multiplyWords(const KernelTable& kernels, const VqMatrixView& matrix, const WordBooks& books,
    const WordInput& input, float* y, std::uint32_t row, float* tile);

} // namespace waste::kernels
