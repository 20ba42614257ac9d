#pragma once

#include "kernels/kernel_table.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// Attention Residuals, one token (spec: model 6.3): the pushed blocks and, last, the running sum are
// candidates V_i; Mix = Σ softmax(s)_i V_i with s_i = Σ_j V_i[j] / sqrt(mean(V_i²) + ε) · w[j] · u[j].

inline constexpr std::size_t kMixCandidatesMax = 129; // layers are at most 128 (spec: model 2.3)

struct MixInput {
    std::span<const float* const> candidates; // each [width]
    const float* scoring = nullptr; // w ⊙ u [width]
    std::size_t width = 0;
    float epsilon = 0;
};

void mixScores(const kernels::KernelTable& kernels, const MixInput& input, std::span<float> scores);

// `out` is none of the candidates.
void mix(const kernels::KernelTable& kernels, const MixInput& input, float* out);

} // namespace waste
