#include "kernels/scalar_reduced.h"

#include "base/half.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Entries of a position are [stage][entry], 16-bit integers.

namespace waste::kernels::scalar {

namespace {

constexpr std::size_t kCodebookEntries = 256; // stored per stage
constexpr float kSmallest = 1e-30F; // see scalar_planes.cpp

std::size_t entryCount(const VqMatrixView& matrix)
{
    return matrix.indexBits == 6 ? 64 : 256;
}

float contribution(const VqMatrixView& matrix, std::size_t stage, std::size_t entry, const float* x)
{
    const float* const vector = matrix.codebooks + (stage * kCodebookEntries + entry) * matrix.vecDim;
    float sum = 0;
    for (std::size_t j = 0; j < matrix.vecDim; ++j)
        sum = std::fma(vector[j], x[j], sum);
    return sum;
}

// Calls visit(position, place in the position's table, contribution).
template<typename Visit>
void forEntries(const VqMatrixView& matrix, const float* x, std::size_t begin, std::size_t end, const Visit& visit)
{
    const std::size_t entries = entryCount(matrix);
    for (std::size_t position = begin; position < end; ++position) {
        for (std::size_t i = 0; i < matrix.stages * entries; ++i)
            visit(position, i, contribution(matrix, i / entries, i % entries, x + position * matrix.vecDim));
    }
}

std::int16_t* tableOf(const VqMatrixView& matrix, const TableInput& tables, std::size_t position)
{
    return reinterpret_cast<std::int16_t*>(tables.entries + position * tableBytes(matrix));
}

std::size_t stageIndex(const VqMatrixView& matrix, const std::uint8_t* indices, std::size_t stage)
{
    if (matrix.indexBits == 8)
        return indices[stage];
    const std::uint32_t bits = indices[0] | std::uint32_t{indices[1]} << 8 | std::uint32_t{indices[2]} << 16;
    return (bits >> (stage * 6)) & 63U;
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
        const bool isZero = !(largest >= kSmallest);
        const float perUnit = isZero ? 0.0F : kTableMax / largest;
        tables.scales[first / kTableBlock] = isZero && !std::isnan(largest) ? 0.0F : largest / kTableMax;
        forEntries(matrix, x, first, last, [&](std::size_t position, std::size_t i, float value) {
            tableOf(matrix, tables, position)[i] =
                isZero ? std::int16_t{0} : static_cast<std::int16_t>(std::lrint(value * perUnit));
        });
    }
}

void multiplyTables(
    const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end)
{
    const std::size_t bytesPerVector = matrix.indexBits == 6 ? 3U : matrix.stages;
    const std::size_t block = matrix.indexBlock;
    for (std::uint32_t row = begin; row < end; ++row) {
        const std::uint8_t* indices =
            matrix.indices + (row / block * tables.positions * block + row % block) * bytesPerVector;
        float result = 0;
        for (std::size_t first = 0; first < tables.positions; first += kTableBlock) {
            std::int32_t sum = 0;
            for (std::size_t p = first; p < std::min(first + kTableBlock, tables.positions); ++p) {
                const std::int16_t* const table = tableOf(matrix, tables, p);
                for (std::size_t stage = 0; stage < matrix.stages; ++stage)
                    sum += table[stage * entryCount(matrix) + stageIndex(matrix, indices, stage)];
                indices += block * bytesPerVector;
            }
            result = std::fma(static_cast<float>(sum), tables.scales[first / kTableBlock], result);
        }
        y[row] = result * floatFromHalf(matrix.scales[row]);
    }
}

} // namespace waste::kernels::scalar
