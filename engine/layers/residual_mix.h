#pragma once

#include "layers/compute.h"
#include "layers/model_weights.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

inline constexpr std::size_t kMixCandidatesMax = 129; // layers are at most 128 (spec: model 2.3)

// Attention Residuals, one token: out = Σ π_i V_i over the pushed blocks and the running sum, which is the
// last candidate (spec: model 6.3). `out` is none of the inputs.
struct MixInput {
    std::span<const float* const> blocks; // each [h]
    const float* sum = nullptr; // [h]
    std::size_t width = 0;
    float epsilon = 0;
};
void mixScores(const kernels::KernelTable& kernels, const MixInput& input, const MixWeights& weights, float* scores);
void mix(const kernels::KernelTable& kernels, const MixInput& input, const MixWeights& weights, float* out);

} // namespace waste
