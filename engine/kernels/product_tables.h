#pragma once

#include "kernels/weight_views.h"

#include <cstddef>
#include <cstdint>

namespace waste::kernels {

// Tables of products: an expert's matrices times one vector, by looking up what their codebook entries contribute.
//
// For each position (eight columns of the input) and stage: what every codebook entry contributes, Σ_j entry[j]·x[j] by
// multiply-adds in the order of j. For matrices with three bytes of indices a vector, in blocks of 64 rows: four stages
// of 64 entries, or three of 256.
//
// Exact tables hold floats; a row's sum over a block of positions is added to its result, block by block.
//
// Reduced tables hold integers. A block of positions has one scale for all its stages: its largest magnitude over
// kTableMax. A row's sum over a block is exact; it is multiplied by the scale and added to the row's result, block by
// block. All reduced tables agree bit for bit.

inline constexpr std::size_t kTableColumns = 8; // of a position
inline constexpr std::size_t kTableBlock = 8; // positions
inline constexpr std::size_t kTableRows = 64; // of a block of indices
inline constexpr float kTableMax = 8191; // 14 bits: two sums of seven bits fit a byte

struct TableShape {
    std::size_t stages = 0;
    std::size_t entries = 0; // of a stage
};
inline constexpr TableShape kPackedTables = {4, 64};
inline constexpr TableShape kWholeTables = {3, 256};

TableShape tableShapeOf(const VqMatrixView& matrix); // {} if it is not to be looked up

constexpr std::size_t reducedTableBytes(const TableShape& shape)
{
    return shape.stages * shape.entries * sizeof(std::uint16_t);
}
constexpr std::size_t exactTableBytes(const TableShape& shape)
{
    return shape.stages * shape.entries * sizeof(float);
}

// The bytes of `entries` are laid out as the kernels that built them like.
struct TableInput {
    std::uint8_t* entries = nullptr; // [positions][bytes of a position], 32-byte aligned
    float* scales = nullptr; // [blocks]; of reduced tables
    std::size_t positions = 0;
};

// The kernels of one kind of tables.
struct ProductTables {
    // Bytes of a position; 0: these kernels do not take such a matrix. Only its shape is read.
    std::size_t (*positionBytes)(const VqMatrixView& matrix);
    // Positions [begin, end) of an input of matrix.columns, for all matrices with these codebooks; `begin` is a
    // multiple of kTableBlock, and so is `end` unless it is the last. Only shape and codebooks of the matrix are read.
    void (*build)(
        const VqMatrixView& matrix, const float* x, const TableInput& tables, std::size_t begin, std::size_t end);
    // y[r] = Σ_c W[r][c]·x[c] for begin ≤ r < end, `begin` a multiple of kTableRows.
    void (*multiply)(
        const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end);
};

// The largest that any kernels build: exact ones need VBMI. Scratch is for these whatever runs, on K3 21 MB in place of
// the 4 that reduced tables of 64 entries take.
#if defined(__x86_64__)
inline constexpr std::size_t kTableBytesMax = exactTableBytes(kWholeTables);
#else
inline constexpr std::size_t kTableBytesMax = reducedTableBytes(kWholeTables);
#endif

// What takes which matrices.
std::size_t noTableBytes(const VqMatrixView& matrix);
std::size_t packedTableBytes(const VqMatrixView& matrix); // reduced, of 64 entries
std::size_t anyReducedTableBytes(const VqMatrixView& matrix);
std::size_t anyExactTableBytes(const VqMatrixView& matrix);

// Where lookups do not pay.
inline constexpr ProductTables kNoTables = {noTableBytes, nullptr, nullptr};

} // namespace waste::kernels
