#pragma once

#include "container/model_config.h"
#include "experts/expert_source.h"
#include "kernels/reduced_inputs.h"
#include "layers/compute.h"
#include "waste/result.h"
#include "waste/types.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// What the routed experts of a layer add to each token of a chunk.
//
// A pair is a token and one of the experts that it chose. Experts are taken as they arrive from the disk, all
// that are there as one batch, in three loops: gate, up and activation; what down-projections need of the result;
// down. A loop's pieces are ranges of rows of one expert, so that few and small experts keep every core busy.
// Each pair's output is kept apart and the outputs are summed in ascending order of the experts: the result
// depends neither on the order of arrival nor on the batches.
//
// One token's reduced products come from tables, where the experts' format has them; all others are exact, and
// decode an expert once for all its tokens.

inline constexpr std::uint32_t kBatchExpertsMax = 32;

struct RoutedScratch {
    // Pairs by ascending expert, those of one expert by ascending token.
    std::span<std::uint32_t> firstPair; // [E + 1]
    std::span<std::uint32_t> pairTokens; // [tokens·k]
    std::span<std::uint32_t> pairOfChoice; // [tokens][k]
    std::span<float> outputs; // [tokens·k pairs][width]

    // Of the pairs of a batch.
    std::span<float> inputs; // [batch pairs][width]
    std::span<float> gate, up; // [batch pairs][I]

    // Tables of one token's input for gate and up, and of each expert's hidden vector for down.
    std::span<std::uint8_t> inputEntries; // [2][positions of the input][kTableBytes]
    std::span<float> inputScales; // [2][blocks]
    std::span<std::uint8_t> hiddenEntries; // [k][positions of I][kTableBytes]
    std::span<float> hiddenScales; // [k][blocks]

    template<typename A>
    static RoutedScratch carve(A& arena, const ModelConfig& config, std::uint32_t chunkTokensMax)
    {
        const std::size_t pairs = std::size_t{chunkTokensMax} * config.expertsPerToken;
        const std::size_t width = config.expertInputWidth();
        RoutedScratch scratch;
        scratch.firstPair = arena.template take<std::uint32_t>(std::size_t{config.expertCount} + 1);
        scratch.pairTokens = arena.template take<std::uint32_t>(pairs);
        scratch.pairOfChoice = arena.template take<std::uint32_t>(pairs);
        scratch.outputs = arena.template take<float>(pairs * width);
        scratch.inputs = arena.template take<float>(batchPairsMax(config, chunkTokensMax) * width);
        for (std::span<float>* buffer : {&scratch.gate, &scratch.up})
            *buffer = arena.template take<float>(batchPairsMax(config, chunkTokensMax) * config.expertWidth);
        const std::size_t inputPositions = width / kernels::kTableColumns;
        const std::size_t hiddenPositions = config.expertWidth / kernels::kTableColumns;
        const std::size_t experts = std::min(config.expertsPerToken, kBatchExpertsMax);
        scratch.inputEntries = arena.template take<std::uint8_t>(2 * inputPositions * kernels::kTableBytes);
        scratch.inputScales = arena.template take<float>(2 * blocksOf(inputPositions));
        scratch.hiddenEntries = arena.template take<std::uint8_t>(experts * hiddenPositions * kernels::kTableBytes);
        scratch.hiddenScales = arena.template take<float>(experts * blocksOf(hiddenPositions));
        return scratch;
    }
    // Enough for every token with one expert, and for one token with all of its.
    static std::uint32_t batchPairsMax(const ModelConfig& config, std::uint32_t chunkTokensMax)
    {
        return std::max(chunkTokensMax, config.expertsPerToken);
    }
    static std::size_t blocksOf(std::size_t positions) { return ceilDivide(positions, kernels::kTableBlock); }
};

// What the router chose.
struct Routing {
    std::uint32_t tokens = 0;
    std::uint32_t expertsPerToken = 0;
    std::span<const std::uint16_t> experts; // [tokens][k], ascending per token
    std::span<const float> weights; // [tokens][k]
    std::size_t distinctCount = 0; // announced experts
};

// sum[t] = Σ_e w_e · FFN_e(input[t]), with the experts that have been announced to the source. After an error
// or a cancel only scratch has been changed. Errors: Cancelled, Io, Corrupt.
Status runRoutedExperts(const Compute& compute, const ModelConfig& config, const Routing& routing, ExpertSource& source,
    const kernels::TokenInput& input, const RoutedScratch& scratch, float* sum, const CancelFlag* cancel);

} // namespace waste
