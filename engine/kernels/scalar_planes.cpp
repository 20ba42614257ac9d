#include "kernels/scalar_reduced.h"

#include "base/fused.h"
#include "base/half.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace waste::kernels::scalar {

namespace {

constexpr float kWholeMax = 127 * 128; // leaves room for rounding: high stays within ±127

// Largest magnitude, or NaN if a value is not finite.
float magnitude(const float* x, std::size_t count)
{
    float largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (!std::isfinite(x[i]))
            return std::numeric_limits<float>::quiet_NaN();
        largest = std::max(largest, std::abs(x[i]));
    }
    return largest;
}

void storeWhole(PlaneBytes& bytes, PlaneWords& words, std::size_t column, int whole)
{
    const int high = (whole + 64) >> 7;
    const std::size_t place = column % 2 * (kPlaneGroup / 2) + column / 2;
    bytes.high[place] = static_cast<std::int8_t>(high);
    bytes.low[place] = static_cast<std::int8_t>(whole - 128 * high);
    words.values[column] = static_cast<std::int16_t>(whole);
}

int weight(const MatrixView& matrix, const std::uint8_t* row, std::size_t column)
{
    if (matrix.format == WeightFormat::Q8G)
        return static_cast<std::int8_t>(row[column]);
    return static_cast<int>((row[column / 2] >> (column % 2 * 4)) & 15U) - 8;
}

float multiplyRow(const MatrixView& matrix, std::uint32_t row, const PlaneInput& input, std::size_t token)
{
    const auto* const payload = reinterpret_cast<const std::uint8_t*>(matrix.payload) + row * matrix.rowBytes;
    const std::uint16_t* const weightScales = matrix.scales + row * input.groupCount;
    const PlaneWords* const words = input.words + token * input.stride();
    const float* const scales = input.scales + token * input.stride();
    float lanes[kPlaneLanes] = {};
    for (std::size_t g = 0; g < input.groupCount; ++g) {
        const std::size_t begin = g * kPlaneGroup;
        const std::size_t count = std::min<std::size_t>(kPlaneGroup, matrix.columns - begin);
        std::int32_t sum = 0;
        for (std::size_t i = 0; i < count; ++i)
            sum += weight(matrix, payload, begin + i) * words[g].values[i];
        const float scale = floatFromHalf(weightScales[g]) * scales[g];
        float& lane = lanes[g % kPlaneLanes];
        lane = fusedMultiplyAdd(static_cast<float>(sum), scale, lane);
    }
    for (std::size_t width = kPlaneLanes / 2; width > 0; width /= 2) {
        for (std::size_t lane = 0; lane < width; ++lane)
            lanes[lane] += lanes[lane + width];
    }
    return lanes[0];
}

} // namespace

void splitPlanes(const float* x, std::size_t columns, const PlaneInput& planes)
{
    for (std::size_t g = 0; g < planes.groupCount; ++g) {
        const float* const values = x + g * kPlaneGroup;
        const std::size_t count = std::min(kPlaneGroup, columns - g * kPlaneGroup);
        const float largest = magnitude(values, count);
        const bool isZero = !(largest >= kReducedMagnitudeMin);
        const float perUnit = isZero ? 0.0F : kWholeMax / largest;
        planes.scales[g] = isZero && !std::isnan(largest) ? 0.0F : largest / kWholeMax;
        planes.sums[g] = 0;
        planes.bytes[g] = {};
        planes.words[g] = {};
        for (std::size_t i = 0; i < count && !isZero; ++i) {
            const int whole = static_cast<int>(std::lrint(values[i] * perUnit));
            storeWhole(planes.bytes[g], planes.words[g], i, whole);
            planes.sums[g] += whole;
        }
    }
}

void multiplyPlanes(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end)
{
    for (std::size_t token = 0; token < input.tokens; ++token) {
        for (std::uint32_t row = begin; row < end; ++row)
            y[token * yStride + row] = multiplyRow(matrix, row, input, token);
    }
}

} // namespace waste::kernels::scalar
