#include "layers/router_lookahead.h"

#include "layers/linear.h"
#include "layers/moe_ffn.h"
#include "layers/router.h"

#include <algorithm>
#include <array>

namespace waste {

namespace {

constexpr std::size_t kGuessesMax = 64;

// Scores of the next layer's router: of a lone token, or the means over tokens spread over a chunk.
std::span<float> guessScores(
    const Compute& compute, const MoeWeights& next, const kernels::TokenInput& input, const MoeScratch& scratch)
{
    const std::size_t expertCount = scratch.choice.size();
    const std::size_t tokens = std::min<std::size_t>(input.tokens, kPieceTokens);
    const kernels::TokenInput sample = {input.x, input.stride * (input.tokens / tokens), tokens};
    project(compute, sample, next.router, {scratch.scores.data(), expertCount});
    const std::span<float> sum = scratch.scores.first(expertCount);
    for (std::size_t token = 0; token < tokens; ++token) {
        std::fill(scratch.choice.begin(), scratch.choice.end(), 1.0F);
        compute.kernels.multiplySigmoid(
            scratch.scores.data() + token * expertCount, scratch.choice.data(), expertCount);
        if (token == 0)
            std::copy(scratch.choice.begin(), scratch.choice.end(), sum.begin());
        else
            compute.kernels.addScaled(1, scratch.choice.data(), sum.data(), expertCount);
    }
    if (tokens > 1)
        std::for_each(sum.begin(), sum.end(), [tokens](float& score) { score /= static_cast<float>(tokens); });
    return sum;
}

} // namespace

void guessNextExperts(const Compute& compute, const ModelConfig& config, const NextMoe& next,
    const kernels::TokenInput& input, const MoeScratch& scratch, ExpertSource& source)
{
    const bool isChunk = input.tokens >= kPieceTokens;
    if (next.weights == nullptr || (input.tokens != 1 && !isChunk))
        return;
    const std::uint32_t wanted = isChunk ? source.chunkGuessesWanted() : source.guessesWanted();
    const std::size_t count = std::min<std::size_t>({wanted, kGuessesMax, config.expertCount});
    if (count == 0)
        return;
    const std::span<const float> scores = guessScores(compute, *next.weights, input, scratch);
    std::array<std::uint16_t, kGuessesMax> experts;
    const auto ranked = std::span(experts).first(count);
    rankExperts(config, {scores, next.weights->routerBias, scratch.choice, scratch.groupScores}, ranked);
    source.prefetch(next.layer, ranked, isChunk ? ExpertSource::GuessFor::Chunk : ExpertSource::GuessFor::Token);
}

} // namespace waste
