#include "layers/residual_mix.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace waste {

void mixScores(const kernels::KernelTable& kernels, const MixInput& input, std::span<float> scores)
{
    for (std::size_t i = 0; i < input.candidates.size(); ++i) {
        const float* const v = input.candidates[i];
        const float meanSquare = kernels.dot(v, v, input.width) / static_cast<float>(input.width);
        scores[i] = kernels.dot(v, input.scoring, input.width) / std::sqrt(meanSquare + input.epsilon);
    }
}

void mix(const kernels::KernelTable& kernels, const MixInput& input, float* out)
{
    const std::size_t count = input.candidates.size();
    assert(count >= 1 && count <= kMixCandidatesMax);
    std::array<float, kMixCandidatesMax> weights = {};
    mixScores(kernels, input, weights);
    const float maximum = *std::max_element(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(count));
    const float sum = kernels.expAndSum(weights.data(), maximum, count);
    std::fill_n(out, input.width, 0.0F);
    for (std::size_t i = 0; i < count; ++i)
        kernels.addScaled(weights[i] / sum, input.candidates[i], out, input.width);
}

} // namespace waste
