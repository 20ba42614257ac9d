#pragma once

#include "layers/compute.h"
#include "layers/kda_recurrence.h"
#include "layers/layer_state.h"
#include "layers/model_weights.h"

#include <cstdint>
#include <span>
#include <vector>

namespace waste {

struct KdaScratch {
    std::span<float> query, key, value, decay, gate; // [tokens][C]
    std::span<float> decayLatent, gateLatent; // [tokens][D]
    std::span<float> beta; // [tokens][H]
    std::vector<KdaHeadScratch> workers;

    template<typename A>
    static KdaScratch carve(A& arena, const ModelConfig& config, std::uint32_t tokensMax, std::uint32_t threadCount)
    {
        KdaScratch scratch;
        if (config.kdaLayerCount() == 0)
            return scratch;
        const std::size_t tokens = tokensMax;
        for (std::span<float>* buffer : {&scratch.query, &scratch.key, &scratch.value, &scratch.decay, &scratch.gate})
            *buffer = arena.template take<float>(tokens * config.kdaWidth());
        scratch.decayLatent = arena.template take<float>(tokens * config.kdaHeadDim);
        scratch.gateLatent = arena.template take<float>(tokens * config.kdaHeadDim);
        scratch.beta = arena.template take<float>(tokens * config.kdaHeadCount);
        for (std::uint32_t worker = 0; worker < threadCount; ++worker)
            scratch.workers.push_back(KdaHeadScratch::carve(arena, config.kdaHeadDim, tokensMax));
        return scratch;
    }
};

// A whole KDA layer (spec: model 6.4): y[t] = W_o(...) for tokens x[t], which are already normalised.
// Advances the layer's S and windows.
void runKdaAttention(const Compute& compute, const ModelConfig& config, const KdaWeights& weights,
    const kernels::TokenInput& input, const LayerState& state, const KdaScratch& scratch,
    const kernels::TokenOutput& output);

} // namespace waste
