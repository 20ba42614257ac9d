#include "kernels/word_books.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>

namespace waste::kernels {

namespace {

// The largest magnitude that a sum over the stages can have.
float largestSum(std::span<const float> codebooks, std::size_t stages)
{
    const std::size_t stageValues = codebooks.size() / stages;
    float sum = 0;
    for (std::size_t stage = 0; stage < stages; ++stage) {
        float largest = 0;
        for (const float value : codebooks.subspan(stage * stageValues, stageValues)) {
            if (!std::isfinite(value))
                return std::numeric_limits<float>::quiet_NaN();
            largest = std::max(largest, std::abs(value));
        }
        sum += largest;
    }
    return sum;
}

void splitBytes(std::span<const std::int16_t> values, std::uint8_t* planes)
{
    for (std::size_t stage = 0; stage < kWordStagesMax; ++stage) {
        for (std::size_t column = 0; column < kWordColumns; ++column, planes += 2 * kWordPlaneEntries) {
            for (std::size_t entry = 0; entry < kWordPlaneEntries; ++entry) {
                const auto value =
                    static_cast<std::uint16_t>(values[(stage * kWordBookEntries + entry) * kWordColumns + column]);
                planes[entry] = static_cast<std::uint8_t>(value & 0xFFU);
                planes[kWordPlaneEntries + entry] = static_cast<std::uint8_t>(value >> 8);
            }
        }
    }
}

} // namespace

WordBooks buildWordBooks(const VqMatrixView& matrix, std::span<std::int16_t> memory)
{
    assert(takesWords(matrix) && memory.size_bytes() >= kWordBookBytes);
    const std::span<std::int16_t> values = memory.first(kWordBookValues);
    const bool isPacked = matrix.indexBits == 6;
    auto* const planes = isPacked ? reinterpret_cast<std::uint8_t*>(memory.data() + kWordBookValues) : nullptr;
    const std::span codebooks(matrix.codebooks, matrix.stages * kWordBookEntries * kWordColumns);
    // Each entry is rounded by half a unit at most, which is taken off beforehand.
    constexpr float kLargest = kWordWeightMax - static_cast<float>(kWordStagesMax) / 2;
    const float largest = largestSum(codebooks, matrix.stages);
    const bool isZero = !(largest >= kReducedMagnitudeMin);
    const float perUnit = isZero ? 0 : kLargest / largest;
    for (std::size_t i = 0; i < codebooks.size(); ++i)
        values[i] = static_cast<std::int16_t>(isZero ? 0 : std::lrint(codebooks[i] * perUnit));
    if (isPacked)
        splitBytes(values, planes);
    return {values.data(), planes, isZero && !std::isnan(largest) ? 0.0F : largest / kLargest};
}

} // namespace waste::kernels
