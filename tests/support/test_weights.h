#pragma once

#include "convert/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace waste::test {

// Weights with the statistics of real ones; the same numbers on every machine up to the last bit of log and cos.

inline float gaussian(Random& random)
{
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
    return static_cast<float>(radius * std::cos(6.283185307179586 * random.uniform()));
}

inline std::vector<float> gaussians(std::size_t count, std::uint64_t seed)
{
    Random random(seed);
    std::vector<float> values(count);
    for (float& value : values)
        value = gaussian(random);
    return values;
}

// Gaussian rows of different sizes, as real experts have them.
inline std::vector<float> expertLike(std::size_t rows, std::size_t columns, std::uint64_t seed)
{
    std::vector<float> values = gaussians(rows * columns, seed);
    Random random(seed + 1000);
    for (std::size_t r = 0; r < rows; ++r) {
        const float size = 0.03F * std::exp(0.3F * gaussian(random));
        for (std::size_t c = 0; c < columns; ++c)
            values[r * columns + c] *= size;
    }
    return values;
}

// The same after rounding to MXFP4: groups of 32 share a power of two, the largest magnitude of a group is above 3
// and at most 6 of it.
inline std::vector<float> mxfp4Like(std::size_t rows, std::size_t columns, std::uint64_t seed)
{
    constexpr std::array<float, 8> kMagnitudes = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    std::vector<float> values = expertLike(rows, columns, seed);
    for (std::size_t first = 0; first < values.size(); first += 32) {
        float largest = 0;
        for (std::size_t i = first; i < first + 32; ++i)
            largest = std::max(largest, std::abs(values[i]));
        const float scale = std::exp2(std::ceil(std::log2(largest / 6)));
        for (std::size_t i = first; i < first + 32; ++i) {
            const float magnitude = std::abs(values[i]) / scale;
            const auto nearest = std::min_element(kMagnitudes.begin(), kMagnitudes.end(),
                [magnitude](float a, float b) { return std::abs(a - magnitude) < std::abs(b - magnitude); });
            values[i] = std::copysign(*nearest * scale, values[i]);
        }
    }
    return values;
}

} // namespace waste::test
