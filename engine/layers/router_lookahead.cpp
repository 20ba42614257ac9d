#include "layers/router_lookahead.h"

#include "layers/linear.h"
#include "layers/moe_ffn.h"
#include "layers/router.h"

#include <algorithm>
#include <array>

namespace waste {

namespace {

constexpr std::size_t kGuessesMax = 16;

} // namespace

void guessNextExperts(const Compute& compute, const ModelConfig& config, const NextMoe& next,
    const kernels::TokenInput& input, const MoeScratch& scratch, ExpertSource& source)
{
    if (next.weights == nullptr || input.tokens != 1)
        return;
    const std::size_t count = std::min<std::size_t>({source.guessesWanted(), kGuessesMax, config.expertCount});
    if (count == 0)
        return;
    const std::span<float> scores = scratch.scores.first(config.expertCount);
    project(compute, input, next.weights->router, {scores.data(), scores.size()});
    std::fill(scratch.choice.begin(), scratch.choice.end(), 1.0F);
    compute.kernels.multiplySigmoid(scores.data(), scratch.choice.data(), scores.size());
    std::copy(scratch.choice.begin(), scratch.choice.end(), scores.begin());
    std::array<std::uint16_t, kGuessesMax> experts;
    const auto ranked = std::span(experts).first(count);
    rankExperts(config, {scores, next.weights->routerBias, scratch.choice, scratch.groupScores}, ranked);
    source.prefetch(next.layer, ranked);
}

} // namespace waste
