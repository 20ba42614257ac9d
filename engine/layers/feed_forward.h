#pragma once

#include "container/model_config.h"
#include "experts/expert_source.h"
#include "layers/compute.h"

#include <span>

namespace waste {

// gate ← act(gate, up) (spec: model 6.8)
void activate(
    const kernels::KernelTable& kernels, const ModelConfig& config, float* gate, const float* up, std::size_t count);

// W2 · act(W1 x, W3 x) for every token: the dense layer and the shared experts. `gate` and `up` are scratch of
// [tokens of a piece][width].
struct FeedForwardScratch {
    float* gate = nullptr;
    float* up = nullptr;
};
void runFeedForward(const Compute& compute, const ModelConfig& config, const DenseExpert& weights,
    const kernels::TokenInput& input, const FeedForwardScratch& scratch, const kernels::TokenOutput& output);

} // namespace waste
