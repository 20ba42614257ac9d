#pragma once

#include "layers/compute.h"
#include "layers/layer_state.h"
#include "layers/model_weights.h"
#include "memory/arena.h"

#include <cstdint>
#include <span>
#include <vector>

namespace waste {

// Queries (pairs of token and head) that walk over the latent rows together, and rows per step: 64 rows of
// 576 values stay in the second-level cache while all queries of a block use them.
inline constexpr std::uint32_t kMlaQueryBlock = 8;
inline constexpr std::uint32_t kMlaTileRows = 64;

struct MlaScratch {
    std::span<float> queryLatent; // [tokens][qr]
    std::span<float> query; // [tokens][nh(n+r)]
    std::span<float> absorbedQuery; // [tokens·nh][kl+r], scale included
    std::span<float> latentOutput; // [tokens·nh][kl]
    std::span<float> headOutput, gate; // [tokens][nh·v]
    struct Worker {
        std::span<float> keyRows; // [n][kl]: K rows of one head of kv_b as f32
        std::span<float> scores; // [kMlaQueryBlock][kMlaTileRows]
    };
    std::vector<Worker> workers;

    template<typename A>
    static MlaScratch carve(
        A& arena, const ModelConfig& config, std::uint32_t chunkTokensMax, std::uint32_t threadCount)
    {
        MlaScratch scratch;
        if (config.mlaLayerCount() == 0)
            return scratch;
        const std::size_t tokens = chunkTokensMax;
        const std::size_t heads = config.attentionHeadCount;
        scratch.queryLatent = arena.template take<float>(tokens * config.queryLoraRank);
        scratch.query = arena.template take<float>(tokens * heads * (config.nopeDim + config.ropeDim));
        scratch.absorbedQuery = arena.template take<float>(tokens * heads * config.latentRowWidth());
        scratch.latentOutput = arena.template take<float>(tokens * heads * config.kvLoraRank);
        scratch.headOutput = arena.template take<float>(tokens * heads * config.valueDim);
        scratch.gate = arena.template take<float>(tokens * heads * config.valueDim);
        for (std::uint32_t worker = 0; worker < threadCount; ++worker) {
            Worker buffers;
            buffers.keyRows = arena.template take<float>(std::size_t{config.nopeDim} * config.kvLoraRank);
            buffers.scores = arena.template take<float>(std::size_t{kMlaQueryBlock} * kMlaTileRows);
            scratch.workers.push_back(buffers);
        }
        return scratch;
    }
};

// A whole MLA layer in absorbed form (spec: model 6.6 and 6.7) for tokens at `position` and after, already
// normalised. Appends their latent rows to the layer's state.
void runMlaAttention(const Compute& compute, const ModelConfig& config, const MlaWeights& weights,
    const kernels::TokenInput& input, const LayerState& state, std::uint64_t position, const MlaScratch& scratch,
    const kernels::TokenOutput& output);

} // namespace waste
