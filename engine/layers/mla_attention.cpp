#include "layers/mla_attention.h"

#include "layers/linear.h"
#include "layers/norm.h"

#include <span>

namespace waste {

namespace {

// Queries, gate, and the latent rows of the new positions, which go straight to their places.
void projectInput(const Compute& compute, const ModelConfig& config, const MlaWeights& weights,
    const kernels::TokenInput& input, float* rows, const MlaScratch& scratch)
{
    const LatentShape shape = latentShape(config);
    const auto tokens = static_cast<std::uint32_t>(input.tokens);
    const std::size_t rank = config.queryLoraRank;
    float* const query = scratch.query.data();
    float* const queryLatent = scratch.queryLatent.data();
    const bool isFactorised = rank != 0;
    const Projection projections[] = {
        {weights.latent, {rows, shape.rowWidth()}},
        {isFactorised ? weights.queryDown : weights.query,
            {isFactorised ? queryLatent : query, isFactorised ? rank : shape.queryWidth()}},
        {weights.gate, {scratch.gate.data(), shape.outputWidth()}},
    };
    project(compute, input, std::span(projections).first(config.attentionOutputGate ? 3 : 2));
    rmsNormRows(compute, {rows, shape.rowWidth(), rows, shape.rowWidth(), tokens, shape.latent}, weights.latentNorm,
        kLatentNormEpsilon);
    if (!isFactorised)
        return;
    rmsNormRows(compute, {queryLatent, rank, queryLatent, rank, tokens, rank}, weights.queryNorm, kLatentNormEpsilon);
    project(compute, {queryLatent, rank, input.tokens}, weights.queryUp, {query, shape.queryWidth()});
}

} // namespace

void runMlaAttention(const Compute& compute, const ModelConfig& config, const MlaWeights& weights,
    const kernels::TokenInput& input, const LayerState& state, std::uint64_t position, const MlaScratch& scratch,
    const kernels::TokenOutput& output)
{
    const LatentShape shape = latentShape(config);
    projectInput(compute, config, weights, input, state.latentRows + position * shape.rowWidth(), scratch);
    attendLatentRows(compute, shape, weights.expand,
        {.query = scratch.query.data(),
            .rows = state.latentRows,
            .position = position,
            .tokens = static_cast<std::uint32_t>(input.tokens)},
        scratch.latent, scratch.headOutput.data());
    if (config.attentionOutputGate)
        compute.kernels.multiplySigmoid(
            scratch.gate.data(), scratch.headOutput.data(), input.tokens * shape.outputWidth());
    project(compute, {scratch.headOutput.data(), shape.outputWidth(), input.tokens}, weights.output, output);
}

} // namespace waste
