#pragma once

#include "layers/compute.h"
#include "layers/latent_attention.h"
#include "layers/layer_state.h"
#include "layers/model_weights.h"

#include <cstdint>
#include <span>

namespace waste {

struct MlaScratch {
    std::span<float> queryLatent; // [tokens][qr]
    std::span<float> query; // [tokens][nh(n+r)]
    std::span<float> headOutput, gate; // [tokens][nh·v]
    LatentScratch latent;

    template<typename A>
    static MlaScratch carve(A& arena, const ModelConfig& config, std::uint32_t tokensMax, std::uint32_t threadCount);
};

inline LatentShape latentShape(const ModelConfig& config)
{
    return {.heads = config.attentionHeadCount,
        .nope = config.nopeDim,
        .rope = config.ropeDim,
        .value = config.valueDim,
        .latent = config.kvLoraRank};
}

// A whole MLA layer (spec: model 6.6) for tokens at `position` and after, already normalised. Appends their
// latent rows to the layer's state.
void runMlaAttention(const Compute& compute, const ModelConfig& config, const MlaWeights& weights,
    const kernels::TokenInput& input, const LayerState& state, std::uint64_t position, const MlaScratch& scratch,
    const kernels::TokenOutput& output);

template<typename A>
MlaScratch MlaScratch::carve(A& arena, const ModelConfig& config, std::uint32_t tokensMax, std::uint32_t threadCount)
{
    MlaScratch scratch;
    if (config.mlaLayerCount() == 0)
        return scratch;
    const std::size_t tokens = tokensMax;
    const LatentShape shape = latentShape(config);
    scratch.queryLatent = arena.template take<float>(tokens * config.queryLoraRank);
    scratch.query = arena.template take<float>(tokens * shape.queryWidth());
    scratch.headOutput = arena.template take<float>(tokens * shape.outputWidth());
    scratch.gate = arena.template take<float>(config.attentionOutputGate ? tokens * shape.outputWidth() : 0);
    scratch.latent = LatentScratch::carve(arena, shape, tokensMax, threadCount);
    return scratch;
}

} // namespace waste
