#pragma once

#include "container/model_config.h"
#include "experts/expert_source.h"
#include "layers/compute.h"

#include <span>

namespace waste {

// W2 · act(W1 x, W3 x) for every token (spec: model 6.8): the dense layer, the shared experts and each
// routed expert. `gate` and `up` are scratch of [tokens][width].
struct FeedForwardScratch {
    float* gate = nullptr;
    float* up = nullptr;
};
void runFeedForward(const Compute& compute, const ModelConfig& config, const ExpertView& weights,
    const kernels::TokenInput& input, const FeedForwardScratch& scratch, const kernels::TokenOutput& output);

} // namespace waste
