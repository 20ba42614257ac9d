#pragma once

#include "experts/expert_source.h"
#include "layers/compute.h"
#include "layers/model_weights.h"

#include <cstdint>

namespace waste {

struct MoeScratch;

// The layer after the current one.
struct NextMoe {
    const MoeWeights* weights = nullptr; // null if it has no experts
    std::uint16_t layer = 0;
};

// Guesses which experts the next layer will choose and has them read while the drive has nothing announced to
// read: the next layer's router on what the current layer's feed-forward network reads (spec: model 11).
// Of a chunk of 64 tokens and more those that it likes best on the average, which nearly all are chosen by some token;
// of a shorter one none. Never changes a result. Does nothing where the source wants no guesses.
//
// To be called as soon as the current layer's own experts are announced: those that have a slot are read first, and the
// drive then goes on without a pause. Overwrites the scores and choices in `scratch`.
void guessNextExperts(const Compute& compute, const ModelConfig& config, const NextMoe& next,
    const kernels::TokenInput& input, const MoeScratch& scratch, ExpertSource& source);

} // namespace waste
