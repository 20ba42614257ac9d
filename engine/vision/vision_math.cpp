#include "vision/vision_math.h"

#include <algorithm>
#include <cmath>

namespace waste {
namespace {

// The two neighbours of output t and the share of the second.
struct Neighbours {
    std::size_t first;
    std::size_t second;
    float share;
};

Neighbours neighboursOf(std::uint32_t t, std::uint32_t from, std::uint32_t to)
{
    const double place = (t + 0.5) * from / to - 0.5;
    const double floor = std::floor(place);
    const double last = static_cast<double>(from - 1);
    return {static_cast<std::size_t>(std::clamp(floor, 0.0, last)),
        static_cast<std::size_t>(std::clamp(floor + 1, 0.0, last)), static_cast<float>(place - floor)};
}

} // namespace

void geluErf(std::span<float> values)
{
    constexpr float kRootOfHalf = 0.7071067811865476F;
    for (float& t : values)
        t = 0.5F * t * (1.0F + std::erf(t * kRootOfHalf));
}

std::vector<float> resizeGrid(std::span<const float> values, std::size_t width, std::uint32_t fromRows,
    std::uint32_t fromColumns, std::uint32_t toRows, std::uint32_t toColumns)
{
    if (fromRows == toRows && fromColumns == toColumns)
        return {values.begin(), values.end()};
    std::vector<float> result(width * toRows * toColumns);
    float* out = result.data();
    for (std::uint32_t row = 0; row < toRows; ++row) {
        const Neighbours y = neighboursOf(row, fromRows, toRows);
        for (std::uint32_t column = 0; column < toColumns; ++column, out += width) {
            const Neighbours x = neighboursOf(column, fromColumns, toColumns);
            const float* topLeft = values.data() + (y.first * fromColumns + x.first) * width;
            const float* topRight = values.data() + (y.first * fromColumns + x.second) * width;
            const float* bottomLeft = values.data() + (y.second * fromColumns + x.first) * width;
            const float* bottomRight = values.data() + (y.second * fromColumns + x.second) * width;
            for (std::size_t i = 0; i < width; ++i) {
                const float top = (1 - x.share) * topLeft[i] + x.share * topRight[i];
                const float bottom = (1 - x.share) * bottomLeft[i] + x.share * bottomRight[i];
                out[i] = (1 - y.share) * top + y.share * bottom;
            }
        }
    }
    return result;
}

PatchRotation::PatchRotation(std::uint32_t headDim, std::uint32_t rows, std::uint32_t columns)
    : m_frequencies(headDim / 4)
    , m_turns(m_frequencies * std::max(rows, columns))
{
    for (std::size_t place = 0; place < std::max(rows, columns); ++place) {
        for (std::size_t f = 0; f < m_frequencies; ++f) {
            const double frequency = std::pow(10000.0, -4.0 * static_cast<double>(f) / headDim);
            const double angle = static_cast<double>(place) * frequency;
            m_turns[place * m_frequencies + f] = {
                static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
        }
    }
}

void PatchRotation::apply(std::span<float> head, std::uint32_t row, std::uint32_t column) const
{
    for (std::size_t j = 0; j < head.size() / 2; ++j) {
        const std::size_t place = j % 2 == 0 ? column : row;
        const Turn turn = m_turns[place * m_frequencies + j / 2];
        const float a = head[2 * j];
        const float b = head[2 * j + 1];
        head[2 * j] = a * turn.cosine - b * turn.sine;
        head[2 * j + 1] = a * turn.sine + b * turn.cosine;
    }
}

} // namespace waste
