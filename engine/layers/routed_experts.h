#pragma once

#include "container/model_config.h"
#include "experts/expert_source.h"
#include "kernels/matrix_product.h"
#include "kernels/product_tables.h"
#include "kernels/reduced_inputs.h"
#include "layers/compute.h"
#include "layers/expert_pipeline.h"
#include "waste/result.h"
#include "waste/types.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// What the routed experts of a layer add to each token of a chunk.
//
// A pair is a token and one of the experts that it chose. Experts are computed as they arrive (ExpertPipeline), each
// for all its tokens, some of them at a time: gate, up and activation; what down-projections need of the result; down.
// Each pair's output is kept apart and the outputs are summed in ascending order of the experts: the result does not
// depend on the order of arrival.
//
// A lone token's products are looked up in tables where the kernels have some for the experts' format, reduced or
// exact. Of more tokens reduced products are in words, where the format has them. All others are exact: few vectors are
// multiplied while rows are decoded; more of them lie side by side, and rows are decoded once for all.

struct RoutedScratch {
    // Pairs by ascending expert, those of one expert by ascending token.
    std::span<std::uint32_t> firstPair; // [E + 1]
    std::span<std::uint32_t> pairTokens; // [tokens·k]
    std::span<std::uint32_t> pairOfChoice; // [tokens][k]
    std::span<float> outputs; // [tokens·k pairs][width]

    // Vectors of the experts at work; width and I rounded up to whole groups of words.
    std::span<float> inputs; // [vectors][width]
    std::span<float> gate, up; // [vectors][I]

    // Tables of one token's input for gate and up, and of each expert's hidden vector for down.
    std::span<std::uint8_t> inputEntries; // [2][positions of the input][kTableBytesMax]
    std::span<float> inputScales; // [2][blocks]
    std::span<std::uint8_t> hiddenEntries; // [k][positions of I][kTableBytesMax]
    std::span<float> hiddenScales; // [k][blocks]

    std::span<std::int16_t> books; // three of kWordBookBytes, unless all chunks are single tokens

    template<typename A>
    static RoutedScratch carve(A& arena, const ModelConfig& config, std::uint32_t chunkTokensMax)
    {
        const std::size_t pairs = std::size_t{chunkTokensMax} * config.expertsPerToken;
        const std::size_t width = config.expertInputWidth();
        const std::size_t oneToken = placesFor(config, 1);
        const std::size_t many = std::size_t{placesFor(config, chunkTokensMax)} * partTokens(chunkTokensMax);
        const std::size_t vectors = chunkTokensMax == 1 ? oneToken : std::max(oneToken, many);
        RoutedScratch scratch;
        scratch.firstPair = arena.template take<std::uint32_t>(std::size_t{config.expertCount} + 1);
        scratch.pairTokens = arena.template take<std::uint32_t>(pairs);
        scratch.pairOfChoice = arena.template take<std::uint32_t>(pairs);
        scratch.outputs = arena.template take<float>(pairs * width);
        scratch.inputs = arena.template take<float>(vectors * roundUp(width, kernels::kWordGroup));
        for (std::span<float>* buffer : {&scratch.gate, &scratch.up})
            *buffer =
                arena.template take<float>(vectors * roundUp(std::size_t{config.expertWidth}, kernels::kWordGroup));
        const std::size_t inputPositions = width / kernels::kTableColumns;
        const std::size_t hiddenPositions = config.expertWidth / kernels::kTableColumns;
        scratch.inputEntries = arena.template take<std::uint8_t>(2 * inputPositions * kernels::kTableBytesMax);
        scratch.inputScales = arena.template take<float>(2 * blocksOf(inputPositions));
        scratch.hiddenEntries = arena.template take<std::uint8_t>(oneToken * hiddenPositions * kernels::kTableBytesMax);
        scratch.hiddenScales = arena.template take<float>(oneToken * blocksOf(hiddenPositions));
        scratch.books = arena.template take<std::int16_t>(chunkTokensMax == 1 ? 0 : 3 * kBookWords);
        return scratch;
    }
    // Experts at work at a time: all of one token's; of more tokens so many that every core has something to do while
    // the first of them ends.
    static std::uint32_t placesFor(const ModelConfig& config, std::uint32_t tokens)
    {
        return std::min(config.expertsPerToken, tokens == 1 ? ExpertPipeline::kPlacesMax : 4U);
    }
    // Tokens for which an expert's rows are decoded at a time. More than 64 save nothing, fewer save memory where
    // chunks are short.
    static std::uint32_t partTokens(std::uint32_t chunkTokensMax)
    {
        constexpr auto kMultiple = static_cast<std::uint32_t>(kernels::kSideBySide);
        return std::clamp(chunkTokensMax / 4 / kMultiple * kMultiple, kMultiple, 8 * kMultiple);
    }
    static constexpr std::size_t kBookWords = kernels::kWordBookBytes / sizeof(std::int16_t);
    static std::size_t blocksOf(std::size_t positions) { return ceilDivide(positions, kernels::kTableBlock); }
};

// What the router chose.
struct Routing {
    std::uint32_t tokens = 0;
    std::uint32_t expertsPerToken = 0;
    std::span<const std::uint16_t> experts; // [tokens][k], ascending per token
    std::span<const float> weights; // [tokens][k]
    std::size_t distinctCount = 0; // announced experts
    std::uint32_t chunkTokensMax = 1; // of which the scratch was carved
};

// sum[t] = Σ_e w_e · FFN_e(input[t]), with the experts that have been announced to the source. After an error
// or a cancel only scratch has been changed. Errors: Cancelled, Io, Corrupt.
Status runRoutedExperts(const Compute& compute, const ModelConfig& config, const Routing& routing, ExpertSource& source,
    const kernels::TokenInput& input, const RoutedScratch& scratch, float* sum, const CancelFlag* cancel);

} // namespace waste
