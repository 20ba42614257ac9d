#include "kernels/scalar_reduced.h"

#include "base/fused.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace waste::kernels::scalar {

namespace {

// Largest magnitude of a group, or NaN if a value is not finite.
float magnitude(const float* x, std::size_t columns)
{
    float largest = 0;
    for (std::size_t c = 0; c < columns; ++c) {
        if (!std::isfinite(x[c]))
            return std::numeric_limits<float>::quiet_NaN();
        largest = std::max(largest, std::abs(x[c]));
    }
    return largest;
}

std::size_t indexOf(const VqMatrixView& matrix, const std::uint8_t* indices, std::size_t stage)
{
    if (matrix.indexBits == 8)
        return indices[stage];
    const std::uint32_t bits = indices[0] | std::uint32_t{indices[1]} << 8 | std::uint32_t{indices[2]} << 16;
    return bits >> (6 * stage) & 63;
}

} // namespace

void splitWords(const float* x, std::size_t columns, WordGroup& group)
{
    const float largest = magnitude(x, columns);
    const bool isZero = !(largest >= kReducedMagnitudeMin);
    const float perUnit = isZero ? 0.0F : kWordInputMax / largest;
    for (std::size_t c = 0; c < columns; ++c)
        group.values[c] = static_cast<std::int16_t>(isZero ? 0 : std::lrint(x[c] * perUnit));
    group.scale = isZero && !std::isnan(largest) ? 0.0F : largest / kWordInputMax;
}

void unpackVqWords(const VqMatrixView& matrix, const WordBooks& books, std::uint32_t row, std::uint32_t begin,
    std::uint32_t end, std::int16_t* words)
{
    const std::size_t vectorBytes = matrix.indexBits == 8 ? matrix.stages : 3;
    for (std::size_t r = 0; r < kWordRows; ++r) {
        for (std::size_t column = begin; column < end; ++column) {
            const std::size_t vector = row / kWordRows * (matrix.columns / kWordColumns) + column / kWordColumns;
            const std::uint8_t* const indices = matrix.indices + (vector * kWordRows + r) * vectorBytes;
            int sum = 0;
            for (std::size_t stage = 0; stage < matrix.stages; ++stage) {
                const std::size_t entry = stage * kWordBookEntries + indexOf(matrix, indices, stage);
                sum += books.entries[entry * kWordColumns + column % kWordColumns];
            }
            const std::size_t place = (column - begin) / 2 * kWordRows + r;
            words[place * 2 + column % 2] = static_cast<std::int16_t>(sum);
        }
    }
}

void addWordProduct(const KernelTable::WordProduct& product)
{
    for (std::size_t v = 0; v < product.count; ++v) {
        const WordGroup& x = product.x[v];
        for (std::size_t r = 0; r < kWordRows; ++r) {
            std::int32_t sum = 0;
            for (std::size_t c = 0; c < product.columns; ++c)
                sum += product.w[(c / 2 * kWordRows + r) * 2 + c % 2] * x.values[c];
            float& y = product.y[v * kWordRows + r];
            y = fusedMultiplyAdd(static_cast<float>(sum), x.scale, y);
        }
    }
}

} // namespace waste::kernels::scalar
