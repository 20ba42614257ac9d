#pragma once

#include "layers/kda_attention.h"
#include "layers/mla_attention.h"
#include "layers/moe_ffn.h"

#include <algorithm>

namespace waste {

// Memory for the intermediate results of one chunk. What a piece of it needs at a time does not grow with it.
struct Scratch {
    std::span<float> tiles; // of Compute
    PlaneScratch planes; // of Compute
    std::span<float> normed, delta; // [tokens][h]
    std::span<float> mixed; // [tokens of a piece][h]; Attention Residuals only
    std::span<float> mixScoring; // [h]
    std::span<float> denseGate, denseUp; // [tokens of a piece][dense width]
    std::span<float> logits; // [vocabulary]
    std::span<double> norms; // [tokens]
    KdaScratch kda;
    MlaScratch mla;
    MoeScratch moe;

    template<typename A>
    static Scratch carve(A& arena, const ModelConfig& config, std::uint32_t chunkTokensMax, std::uint32_t threadCount)
    {
        const std::uint32_t pieceTokens = std::min(chunkTokensMax, kPieceTokens);
        const std::size_t denseWidth = config.denseLayerCount != 0 || config.expertCount == 0 ? config.denseWidth : 0;
        Scratch scratch;
        scratch.tiles = arena.template take<float>(threadCount * kernels::kTileFloats);
        scratch.planes = PlaneScratch::carve(arena, widestInput(config), chunkTokensMax);
        for (std::span<float>* buffer : {&scratch.normed, &scratch.delta})
            *buffer = arena.template take<float>(std::size_t{chunkTokensMax} * config.hiddenSize);
        const std::size_t mixWidth = config.residualBlockSize != 0 ? config.hiddenSize : 0;
        scratch.mixed = arena.template take<float>(pieceTokens * mixWidth);
        scratch.mixScoring = arena.template take<float>(mixWidth);
        for (std::span<float>* buffer : {&scratch.denseGate, &scratch.denseUp})
            *buffer = arena.template take<float>(pieceTokens * denseWidth);
        scratch.logits = arena.template take<float>(config.vocabularySize);
        scratch.norms = arena.template take<double>(chunkTokensMax);
        scratch.kda = KdaScratch::carve(arena, config, pieceTokens, threadCount);
        scratch.mla = MlaScratch::carve(arena, config, pieceTokens, threadCount);
        scratch.moe = MoeScratch::carve(arena, config, chunkTokensMax);
        return scratch;
    }

    // Columns of the widest matrix of the trunk.
    static std::size_t widestInput(const ModelConfig& config)
    {
        const std::size_t denseWidth = config.denseLayerCount != 0 || config.expertCount == 0 ? config.denseWidth : 0;
        const std::size_t valueWidth = std::size_t{config.attentionHeadCount} * config.valueDim;
        return std::max<std::size_t>(
            {config.hiddenSize, config.kdaWidth(), config.kdaHeadDim, config.queryLoraRank, config.kvLoraRank,
                valueWidth, denseWidth, config.sharedWidth(), config.expertInputWidth(), config.expertWidth});
    }
};

} // namespace waste
