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

} // namespace

WordBooks buildWordBooks(const VqMatrixView& matrix, std::span<std::int16_t> values)
{
    assert(takesWords(matrix) && values.size() >= kWordBookValues);
    const std::span codebooks(matrix.codebooks, matrix.stages * kWordBookEntries * kWordColumns);
    // Each entry is rounded by half a unit at most, which is taken off beforehand.
    constexpr float kLargest = kWordWeightMax - static_cast<float>(kWordStagesMax) / 2;
    const float largest = largestSum(codebooks, matrix.stages);
    const bool isZero = !(largest >= kReducedMagnitudeMin);
    const float perUnit = isZero ? 0 : kLargest / largest;
    for (std::size_t i = 0; i < codebooks.size(); ++i)
        values[i] = static_cast<std::int16_t>(isZero ? 0 : std::lrint(codebooks[i] * perUnit));
    return {values.data(), isZero && !std::isnan(largest) ? 0.0F : largest / kLargest};
}

} // namespace waste::kernels
