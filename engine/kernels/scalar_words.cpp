#include "kernels/scalar_reduced.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace waste::kernels::scalar {

namespace {

// Largest magnitude of a vector's group, or NaN if a value is not finite.
float magnitude(const float* x, std::size_t columns, std::size_t count)
{
    float largest = 0;
    for (std::size_t c = 0; c < columns; ++c) {
        if (!std::isfinite(x[c * count]))
            return std::numeric_limits<float>::quiet_NaN();
        largest = std::max(largest, std::abs(x[c * count]));
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

// The words are copied into the floats' places, which are read before they are written.
void splitWords(float* x, std::size_t columns, std::size_t count)
{
    for (std::size_t v = 0; v < count; ++v) {
        const float largest = magnitude(x + v, columns, count);
        const bool isZero = !(largest >= kReducedMagnitudeMin);
        const float perUnit = isZero ? 0.0F : kWordInputMax / largest;
        const auto word = [&](std::size_t column) {
            return static_cast<std::int16_t>(isZero ? 0 : std::lrint(x[column * count + v] * perUnit));
        };
        for (std::size_t pair = 0; pair < columns / 2; ++pair) {
            const std::int16_t words[2] = {word(2 * pair), word(2 * pair + 1)};
            std::memcpy(x + pair * count + v, words, sizeof words);
        }
        x[columns / 2 * count + v] = isZero && !std::isnan(largest) ? 0.0F : largest / kWordInputMax;
    }
}

void unpackVqWords(const VqMatrixView& matrix, const WordBooks& books, std::uint32_t rowBegin, std::uint32_t rowEnd,
    std::uint32_t begin, std::uint32_t end, std::int16_t* words, std::size_t stride)
{
    const std::size_t vectorBytes = matrix.indexBits == 8 ? matrix.stages : 3;
    const std::size_t block = matrix.indexBlock;
    for (std::size_t row = rowBegin; row < rowEnd; ++row, words += stride) {
        for (std::size_t column = begin; column < end; column += kWordColumns) {
            const std::size_t vector = row / block * (matrix.columns / kWordColumns) + column / kWordColumns;
            const std::uint8_t* const indices = matrix.indices + (vector * block + row % block) * vectorBytes;
            for (std::size_t i = 0; i < kWordColumns; ++i) {
                int sum = 0;
                for (std::size_t stage = 0; stage < matrix.stages; ++stage) {
                    const std::size_t entry = stage * kWordBookEntries + indexOf(matrix, indices, stage);
                    sum += books.entries[entry * kWordColumns + i];
                }
                words[column - begin + i] = static_cast<std::int16_t>(sum);
            }
        }
    }
}

void addWordProduct(const KernelTable::WordProduct& product)
{
    for (std::size_t r = 0; r < product.rows; ++r) {
        const std::int16_t* const w = product.w + r * product.wStride;
        for (std::size_t v = 0; v < product.count; ++v) {
            std::int32_t sum = 0;
            for (std::size_t pair = 0; pair < product.columns / 2; ++pair) {
                std::int16_t x[2];
                std::memcpy(x, product.x + pair * product.count + v, sizeof x);
                sum += w[2 * pair] * x[0] + w[2 * pair + 1] * x[1];
            }
            const float scale = product.x[product.columns / 2 * product.count + v];
            float& y = product.y[r * product.count + v];
            y = std::fma(static_cast<float>(sum), scale, y);
        }
    }
}

} // namespace waste::kernels::scalar
