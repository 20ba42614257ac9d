#include "container/dequantize.h"

#include "base/half.h"
#include "container/index_packing.h"

#include <cassert>
#include <cstddef>
#include <cstring>

namespace waste {

namespace {

// The stored integer of one column of a quantised row.
int quantisedValue(kernels::WeightFormat format, const std::byte* row, std::uint32_t column)
{
    const auto byteAt = [row](std::uint64_t index) { return std::to_integer<std::uint32_t>(row[index]); };
    switch (format) {
    case kernels::WeightFormat::Q8G:
        return static_cast<std::int8_t>(byteAt(column));
    case kernels::WeightFormat::Q4G: // the even column in the low nibble
        return static_cast<int>((byteAt(column / 2) >> (column % 2 * 4)) & 15U) - 8;
    case kernels::WeightFormat::Q3G: { // a stream of bits; the guard byte makes the second byte readable
        const std::uint64_t bit = std::uint64_t{column} * 3;
        const std::uint32_t pair = byteAt(bit / 8) | byteAt(bit / 8 + 1) << 8;
        return static_cast<int>((pair >> (bit % 8)) & 7U) - 4;
    }
    case kernels::WeightFormat::F32:
        break;
    }
    assert(false);
    return 0;
}

} // namespace

void dequantizeRow(const kernels::MatrixView& matrix, std::uint32_t row, std::span<float> target)
{
    assert(row < matrix.rows);
    assert(target.size() == matrix.columns);
    const std::byte* payload = matrix.payload + row * matrix.rowBytes;
    if (matrix.format == kernels::WeightFormat::F32) {
        std::memcpy(target.data(), payload, target.size_bytes());
        return;
    }
    const std::uint64_t groupsPerRow = (std::uint64_t{matrix.columns} + matrix.group - 1) / matrix.group;
    const std::uint16_t* scales = matrix.scales + row * groupsPerRow;
    for (std::uint32_t column = 0; column < matrix.columns; ++column) {
        const auto value = static_cast<float>(quantisedValue(matrix.format, payload, column));
        target[column] = floatFromHalf(scales[column / matrix.group]) * value;
    }
}

void dequantize(const kernels::MatrixView& matrix, std::span<float> target)
{
    assert(target.size() == std::uint64_t{matrix.rows} * matrix.columns);
    for (std::uint32_t row = 0; row < matrix.rows; ++row)
        dequantizeRow(matrix, row, target.subspan(std::size_t{row} * matrix.columns, matrix.columns));
}

void dequantize(const kernels::VqMatrixView& matrix, std::span<float> target)
{
    assert(target.size() == std::uint64_t{matrix.rows} * matrix.columns);
    const ExpertQuant packing{.stages = matrix.stages,
        .vecDim = matrix.vecDim,
        .indexBlock = matrix.indexBlock,
        .indexBits = matrix.indexBits};
    const std::uint32_t vectorCount = matrix.columns / matrix.vecDim;
    float* out = target.data();
    for (std::uint32_t row = 0; row < matrix.rows; ++row) {
        const float scale = floatFromHalf(matrix.scales[row]);
        for (std::uint32_t vector = 0; vector < vectorCount; ++vector, out += matrix.vecDim) {
            const std::uint8_t* bytes = matrix.indices + indexOffset(packing, matrix.columns, row, vector);
            const auto sixBit = matrix.indexBits == 6 ? unpackSixBit(bytes) : std::array<std::uint8_t, 4>{};
            const std::uint8_t* indices = matrix.indexBits == 6 ? sixBit.data() : bytes;
            for (std::uint32_t j = 0; j < matrix.vecDim; ++j) {
                float sum = 0;
                for (std::uint32_t s = 0; s < matrix.stages; ++s) {
                    const std::uint64_t entry = std::uint64_t{s} * kCodebookTableRows + indices[s];
                    sum += matrix.codebooks[entry * matrix.vecDim + j];
                }
                out[j] = sum * scale;
            }
        }
    }
}

} // namespace waste
