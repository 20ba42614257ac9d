#pragma once

#include "experts/expert_source.h"
#include "layers/compute.h"
#include "layers/model_weights.h"
#include "layers/routed_experts.h"
#include "layers/router_lookahead.h"
#include "memory/arena.h"
#include "waste/result.h"
#include "waste/types.h"

#include <cstdint>
#include <span>

namespace waste {

struct MoeScratch {
    std::uint32_t chunkTokensMax = 0;
    std::span<float> scores; // [tokens of a piece][E]
    std::span<float> choice; // [E]
    std::span<float> groupScores; // [groups]
    std::span<std::uint16_t> experts; // [tokens][k], ascending per token
    std::span<float> weights; // [tokens][k]
    std::span<std::uint16_t> distinct; // [tokens·k]
    std::span<float> latent; // [tokens][lat]; latent experts only
    std::span<float> sum; // [tokens][lat]
    std::span<float> sharedGate, sharedUp; // [tokens of a piece][S]
    std::span<float> routedOutput; // [tokens][h]; latent experts only
    RoutedScratch routed;

    template<typename A>
    static MoeScratch carve(A& arena, const ModelConfig& config, std::uint32_t chunkTokensMax)
    {
        MoeScratch scratch;
        if (config.moeLayerCount() == 0)
            return scratch;
        scratch.chunkTokensMax = chunkTokensMax;
        const std::size_t tokens = chunkTokensMax;
        const std::size_t pieceTokens = std::min(chunkTokensMax, kPieceTokens);
        const std::size_t latentTokens = config.latentWidth != 0 ? tokens : 0;
        const std::size_t chosen = tokens * config.expertsPerToken;
        const std::size_t width = config.expertInputWidth();
        scratch.scores = arena.template take<float>(pieceTokens * config.expertCount);
        scratch.choice = arena.template take<float>(config.expertCount);
        scratch.groupScores = arena.template take<float>(config.expertGroupCount);
        scratch.experts = arena.template take<std::uint16_t>(chosen);
        scratch.weights = arena.template take<float>(chosen);
        scratch.distinct = arena.template take<std::uint16_t>(chosen);
        scratch.latent = arena.template take<float>(latentTokens * width);
        scratch.sum = arena.template take<float>(tokens * width);
        for (std::span<float>* buffer : {&scratch.sharedGate, &scratch.sharedUp})
            *buffer = arena.template take<float>(pieceTokens * config.sharedWidth());
        scratch.routedOutput = arena.template take<float>(latentTokens * config.hiddenSize);
        scratch.routed = RoutedScratch::carve(arena, config, chunkTokensMax);
        return scratch;
    }
};

// A whole mixture-of-experts layer (spec: model 6.9) for tokens that are already normalised. Each distinct
// expert of the chunk is acquired once, in the order of arrival. After an error or a cancel nothing has been changed
// but scratch and output; the call can be repeated. `lookahead` makes its first guess. Errors: Cancelled, Io, Corrupt.
Status runMoe(const Compute& compute, const ModelConfig& config, const MoeWeights& weights, std::uint16_t layer,
    ExpertSource& source, const kernels::TokenInput& input, const MoeScratch& scratch,
    const kernels::TokenOutput& output, const CancelFlag* cancel, RouterLookahead* lookahead = nullptr);

} // namespace waste
