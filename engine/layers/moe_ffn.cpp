#include "layers/moe_ffn.h"

#include "layers/feed_forward.h"
#include "layers/linear.h"
#include "layers/norm.h"
#include "layers/router.h"
#include "layers/router_lookahead.h"

#include <algorithm>

namespace waste {

namespace {

using kernels::TokenInput;
using kernels::TokenOutput;

// One call of runMoe().
class MoeLayer {
public:
    MoeLayer(const Compute& compute, const ModelConfig& config, const MoeWeights& weights, const MoeScratch& scratch,
        const TokenInput& input)
        : m_compute(compute)
        , m_config(config)
        , m_weights(weights)
        , m_scratch(scratch)
        , m_input(input)
        , m_tokens(input.tokens)
        , m_width(config.expertInputWidth())
    {
    }

    // Router scores and, with latent experts, what the experts read; then every token's choice.
    void route()
    {
        forPieces(m_tokens, [this](std::size_t first, std::size_t count) { routePiece(first, count); });
    }

    // The chunk's experts, each once, ascending.
    std::span<const std::uint16_t> distinctExperts()
    {
        const auto used = m_scratch.experts.first(m_tokens * m_config.expertsPerToken);
        const auto all = m_scratch.distinct.first(used.size());
        std::copy(used.begin(), used.end(), all.begin());
        std::sort(all.begin(), all.end());
        return all.first(static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin()));
    }

    void runShared(const TokenOutput& output)
    {
        runFeedForward(m_compute, m_config, m_weights.shared, m_input,
            {m_scratch.sharedGate.data(), m_scratch.sharedUp.data()}, output);
    }

    // sum[t] = Σ_e w_e · FFN_e(ξ[t])
    Status runRouted(ExpertSource& source, std::size_t distinctCount, const CancelFlag* cancel)
    {
        const std::size_t chosen = m_tokens * m_config.expertsPerToken;
        const Routing routing = {static_cast<std::uint32_t>(m_tokens), m_config.expertsPerToken,
            m_scratch.experts.first(chosen), m_scratch.weights.first(chosen), distinctCount, m_scratch.chunkTokensMax};
        return runRoutedExperts(
            m_compute, m_config, routing, source, expertInput(), m_scratch.routed, m_scratch.sum.data(), cancel);
    }

    // output[t] += the experts' sum, through norm and up-projection if they are latent
    void addSum(const TokenOutput& output)
    {
        const float* routed = m_scratch.sum.data();
        if (m_config.latentWidth != 0) {
            if (m_weights.latentNorm != nullptr) {
                const NormRows rows = {
                    routed, m_width, m_scratch.sum.data(), m_width, static_cast<std::uint32_t>(m_tokens), m_width};
                rmsNormRows(m_compute, rows, m_weights.latentNorm, m_config.normEpsilon);
            }
            project(m_compute, {routed, m_width, m_tokens}, m_weights.latentUp,
                {m_scratch.routedOutput.data(), m_config.hiddenSize});
            routed = m_scratch.routedOutput.data();
        }
        for (std::size_t token = 0; token < m_tokens; ++token)
            m_compute.kernels.addScaled(
                1, routed + token * m_config.hiddenSize, output.y + token * output.stride, m_config.hiddenSize);
    }

private:
    void routePiece(std::size_t first, std::size_t count)
    {
        const std::size_t expertCount = m_config.expertCount;
        const Projection projections[] = {
            {m_weights.router, {m_scratch.scores.data(), expertCount}},
            {m_weights.latentDown, {m_scratch.latent.data() + first * m_width, m_width}},
        };
        project(m_compute, {m_input.x + first * m_input.stride, m_input.stride, count},
            std::span(projections).first(m_config.latentWidth != 0 ? 2 : 1));
        const std::size_t chosen = m_config.expertsPerToken;
        for (std::size_t token = 0; token < count; ++token) {
            const std::span<float> scores = m_scratch.scores.subspan(token * expertCount, expertCount);
            std::fill(m_scratch.choice.begin(), m_scratch.choice.end(), 1.0F);
            m_compute.kernels.multiplySigmoid(scores.data(), m_scratch.choice.data(), expertCount);
            std::copy(m_scratch.choice.begin(), m_scratch.choice.end(), scores.begin());
            const std::size_t place = (first + token) * chosen;
            routeToken(m_config, {scores, m_weights.routerBias, m_scratch.choice, m_scratch.groupScores},
                m_scratch.experts.subspan(place, chosen), m_scratch.weights.subspan(place, chosen));
        }
    }

    [[nodiscard]] TokenInput expertInput() const
    {
        return m_config.latentWidth != 0 ? TokenInput{m_scratch.latent.data(), m_width, m_tokens} : m_input;
    }

    const Compute& m_compute;
    const ModelConfig& m_config;
    const MoeWeights& m_weights;
    const MoeScratch& m_scratch;
    const TokenInput m_input;
    const std::size_t m_tokens;
    const std::size_t m_width; // of an expert's input
};

} // namespace

Status runMoe(const Compute& compute, const ModelConfig& config, const MoeWeights& weights, std::uint16_t layer,
    ExpertSource& source, const TokenInput& input, const MoeScratch& scratch, const TokenOutput& output,
    const CancelFlag* cancel, RouterLookahead* lookahead)
{
    MoeLayer moe(compute, config, weights, scratch, input);
    moe.route();
    const std::span<const std::uint16_t> experts = moe.distinctExperts();
    source.announce(layer, experts);
    if (lookahead != nullptr)
        lookahead->guess(input); // the scores have been used up
    moe.runShared(output); // while the experts are being read
    WASTE_TRY_STATUS(moe.runRouted(source, experts.size(), cancel));
    moe.addSum(output);
    return {};
}

} // namespace waste
