#include "kernels/scalar_reduced.h"

#include "base/fused.h"
#include "base/half.h"

#include <algorithm>
#include <cmath>
#include <limits>

// A position's table is [stage][entry], 16-bit integers.

namespace waste::kernels::scalar {

namespace {

constexpr std::size_t kCodebookEntries = 256; // stored per stage

float contribution(const VqMatrixView& matrix, std::size_t stage, std::size_t entry, const float* x)
{
    const float* const vector = matrix.codebooks + (stage * kCodebookEntries + entry) * matrix.vecDim;
    float sum = 0;
    for (std::size_t j = 0; j < matrix.vecDim; ++j)
        sum = fusedMultiplyAdd(vector[j], x[j], sum);
    return sum;
}

// Calls visit(position, place in the position's table, contribution).
template<typename Visit>
void forEntries(const VqMatrixView& matrix, const float* x, std::size_t begin, std::size_t end, const Visit& visit)
{
    const TableShape shape = tableShapeOf(matrix);
    for (std::size_t position = begin; position < end; ++position) {
        for (std::size_t stage = 0; stage < shape.stages; ++stage) {
            for (std::size_t entry = 0; entry < shape.entries; ++entry)
                visit(position, stage * shape.entries + entry,
                    contribution(matrix, stage, entry, x + position * kTableColumns));
        }
    }
}

std::int16_t* tableOf(const TableInput& tables, const TableShape& shape, std::size_t position)
{
    return reinterpret_cast<std::int16_t*>(tables.entries + position * reducedTableBytes(shape));
}

// What the indices in three bytes stand for, stage 0 in the lowest bits.
std::int32_t lookUp(const std::int16_t* table, const TableShape& shape, unsigned indexBits, const std::uint8_t* indices)
{
    const std::uint32_t bits = indices[0] | std::uint32_t{indices[1]} << 8 | std::uint32_t{indices[2]} << 16;
    std::int32_t sum = 0;
    for (std::size_t stage = 0; stage < shape.stages; ++stage)
        sum += table[stage * shape.entries + ((bits >> (stage * indexBits)) & (shape.entries - 1))];
    return sum;
}

} // namespace

void buildTables(
    const VqMatrixView& matrix, const float* x, const TableInput& tables, std::size_t begin, std::size_t end)
{
    for (std::size_t first = begin; first < end; first += kTableBlock) {
        const std::size_t last = std::min(first + kTableBlock, end);
        float largest = 0;
        forEntries(matrix, x, first, last, [&](std::size_t, std::size_t, float value) {
            // Once not a number, always not a number.
            largest =
                std::isfinite(value) ? std::max(largest, std::abs(value)) : std::numeric_limits<float>::quiet_NaN();
        });
        const bool isZero = !(largest >= kReducedMagnitudeMin);
        const float perUnit = isZero ? 0.0F : kTableMax / largest;
        tables.scales[first / kTableBlock] = isZero && !std::isnan(largest) ? 0.0F : largest / kTableMax;
        forEntries(matrix, x, first, last, [&](std::size_t position, std::size_t i, float value) {
            tableOf(tables, tableShapeOf(matrix), position)[i] =
                isZero ? std::int16_t{0} : static_cast<std::int16_t>(std::lrint(value * perUnit));
        });
    }
}

void multiplyTables(
    const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end)
{
    constexpr std::size_t kBytes = 3; // of a position's indices
    const std::size_t block = matrix.indexBlock;
    const TableShape shape = tableShapeOf(matrix);
    for (std::uint32_t row = begin; row < end; ++row) {
        const std::uint8_t* indices = matrix.indices + (row / block * tables.positions * block + row % block) * kBytes;
        float result = 0;
        for (std::size_t first = 0; first < tables.positions; first += kTableBlock) {
            std::int32_t sum = 0;
            for (std::size_t p = first; p < std::min(first + kTableBlock, tables.positions); ++p) {
                sum += lookUp(tableOf(tables, shape, p), shape, matrix.indexBits, indices);
                indices += block * kBytes;
            }
            result = fusedMultiplyAdd(static_cast<float>(sum), tables.scales[first / kTableBlock], result);
        }
        y[row] = result * floatFromHalf(matrix.scales[row]);
    }
}

} // namespace waste::kernels::scalar
