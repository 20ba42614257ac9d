#include "layers/router_lookahead.h"

#include "layers/linear.h"
#include "layers/moe_ffn.h"
#include "layers/router.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace waste {

namespace {

constexpr std::size_t kGuessesMax = 64;
// Of a lone token's first guess, to bridge the time until the second one is made: K3's first two ranks are right nine
// times in ten. More of them cost more in wrong reads than the drive gains by having begun.
constexpr std::size_t kFirstGuesses = 2;

} // namespace

RouterLookahead::RouterLookahead(const Compute& compute, const ModelConfig& config, const NextMoe& next,
    const MoeScratch& scratch, ExpertSource* source)
    : m_compute(compute)
    , m_config(config)
    , m_next(next)
    , m_scratch(scratch)
    , m_source(source)
{
}

void RouterLookahead::guess(const kernels::TokenInput& input)
{
    const bool isChunk = input.tokens >= kPieceTokens;
    if (m_next.weights == nullptr || (input.tokens != 1 && !isChunk))
        return;
    const std::uint32_t wanted = isChunk ? m_source->chunkGuessesWanted() : m_source->guessesWanted();
    const std::size_t count = std::min<std::size_t>({wanted, kGuessesMax, m_config.expertCount});
    if (count == 0)
        return;
    if (isChunk)
        return prefetch(input, count, ExpertSource::GuessFor::Chunk);
    m_secondGuesses = count;
    prefetch(input, std::min(count, kFirstGuesses), ExpertSource::GuessFor::Token);
}

void RouterLookahead::refine(const float* input)
{
    assert(wantsRefining());
    prefetch({input, m_config.hiddenSize, 1}, m_secondGuesses, ExpertSource::GuessFor::Token);
}

void RouterLookahead::prefetch(const kernels::TokenInput& input, std::size_t count, ExpertSource::GuessFor guessFor)
{
    std::array<std::uint16_t, kGuessesMax> experts;
    const auto ranked = std::span(experts).first(count);
    rankExperts(m_config, {scores(input), m_next.weights->routerBias, m_scratch.choice, m_scratch.groupScores}, ranked);
    m_source->prefetch(m_next.layer, ranked, guessFor);
}

// Of a lone token, or the means over tokens spread over a chunk.
std::span<float> RouterLookahead::scores(const kernels::TokenInput& input)
{
    const std::size_t expertCount = m_scratch.choice.size();
    const std::size_t tokens = std::min<std::size_t>(input.tokens, kPieceTokens);
    const kernels::TokenInput sample = {input.x, input.stride * (input.tokens / tokens), tokens};
    project(m_compute, sample, m_next.weights->router, {m_scratch.scores.data(), expertCount});
    const std::span<float> sum = m_scratch.scores.first(expertCount);
    for (std::size_t token = 0; token < tokens; ++token) {
        std::fill(m_scratch.choice.begin(), m_scratch.choice.end(), 1.0F);
        m_compute.kernels.multiplySigmoid(
            m_scratch.scores.data() + token * expertCount, m_scratch.choice.data(), expertCount);
        if (token == 0)
            std::copy(m_scratch.choice.begin(), m_scratch.choice.end(), sum.begin());
        else
            m_compute.kernels.addScaled(1, m_scratch.choice.data(), sum.data(), expertCount);
    }
    if (tokens > 1)
        std::for_each(sum.begin(), sum.end(), [tokens](float& score) { score /= static_cast<float>(tokens); });
    return sum;
}

} // namespace waste
