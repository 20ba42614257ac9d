#pragma once

#include "container/format.h"

#include <array>
#include <cstdint>

namespace waste {

// How the indices of an expert's matrices are packed (spec: container 5). A "vector" is vecDim consecutive
// columns of one row; it has one index per stage.

// Bytes of the indices of a [rows, columns] matrix; a partial last block is stored in full.
constexpr std::uint64_t indexBytes(const ExpertQuant& quant, std::uint32_t rows, std::uint32_t columns)
{
    const std::uint64_t block = quant.indexBlock == 0 ? 1 : quant.indexBlock;
    const std::uint64_t storedRows = (rows + block - 1) / block * block;
    return storedRows * (columns / quant.vecDim) * quant.bytesPerVector();
}

// Where the indices of one vector lie, from the start of the matrix's indices.
constexpr std::uint64_t indexOffset(
    const ExpertQuant& quant, std::uint32_t columns, std::uint32_t row, std::uint32_t vector)
{
    const std::uint64_t vectorsPerRow = columns / quant.vecDim;
    const std::uint64_t bytes = quant.bytesPerVector();
    if (quant.indexBlock == 0)
        return (row * vectorsPerRow + vector) * bytes;
    const std::uint64_t block = quant.indexBlock;
    return ((row / block) * vectorsPerRow + vector) * block * bytes + (row % block) * bytes;
}

// Four 6-bit indices in three bytes, stage 0 in the lowest bits.
constexpr std::array<std::uint8_t, 3> packSixBit(const std::array<std::uint8_t, 4>& stages)
{
    const std::uint32_t bits = std::uint32_t{stages[0]} | std::uint32_t{stages[1]} << 6 | std::uint32_t{stages[2]} << 12
        | std::uint32_t{stages[3]} << 18;
    return {
        static_cast<std::uint8_t>(bits), static_cast<std::uint8_t>(bits >> 8), static_cast<std::uint8_t>(bits >> 16)};
}

constexpr std::array<std::uint8_t, 4> unpackSixBit(const std::uint8_t* bytes)
{
    const std::uint32_t bits = std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16;
    return {static_cast<std::uint8_t>(bits & 63U), static_cast<std::uint8_t>((bits >> 6) & 63U),
        static_cast<std::uint8_t>((bits >> 12) & 63U), static_cast<std::uint8_t>(bits >> 18)};
}

} // namespace waste
