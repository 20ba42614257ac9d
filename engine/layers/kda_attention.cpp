#include "layers/kda_attention.h"

#include "layers/linear.h"
#include "layers/norm.h"
#include "layers/short_convolution.h"

#include <cmath>

namespace waste {

namespace {

// W x for everything that reads the layer's input, then the second halves of the factorised matrices.
void projectInput(const Compute& compute, const ModelConfig& config, const KdaWeights& weights,
    const kernels::TokenInput& input, const KdaScratch& scratch)
{
    const std::size_t width = config.kdaWidth();
    const std::size_t dim = config.kdaHeadDim;
    const bool fullRank = config.kdaFullRankGate;
    const Projection first[] = {
        {weights.query, {scratch.query.data(), width}},
        {weights.key, {scratch.key.data(), width}},
        {weights.value, {scratch.value.data(), width}},
        {fullRank ? weights.gate : weights.gateDown,
            {fullRank ? scratch.gate.data() : scratch.gateLatent.data(), fullRank ? width : dim}},
        {weights.decayDown, {scratch.decayLatent.data(), dim}},
        {weights.beta, {scratch.beta.data(), config.kdaHeadCount}},
    };
    project(compute, input, first);
    project(compute, {scratch.decayLatent.data(), dim, input.tokens}, weights.decayUp, {scratch.decay.data(), width});
    if (!fullRank)
        project(compute, {scratch.gateLatent.data(), dim, input.tokens}, weights.gateUp, {scratch.gate.data(), width});
}

void convolveAll(const Compute& compute, const ModelConfig& config, const KdaWeights& weights, std::uint32_t tokens,
    const LayerState& state, const KdaScratch& scratch)
{
    const std::uint32_t width = config.kdaWidth();
    const std::size_t windowFloats = std::size_t{width} * (config.convolutionKernel - 1);
    float* const samples[] = {scratch.query.data(), scratch.key.data(), scratch.value.data()};
    const float* const taps[] = {weights.queryConvolution, weights.keyConvolution, weights.valueConvolution};
    for (std::size_t i = 0; i < 3; ++i) {
        convolve(compute,
            {.samples = samples[i],
                .tokens = tokens,
                .channels = width,
                .kernel = config.convolutionKernel,
                .taps = taps[i],
                .window = state.windows + i * windowFloats});
    }
}

// Steps 4 to 8 for one head; its output takes the place of its decay input.
void runHead(const Compute& compute, const ModelConfig& config, const KdaWeights& weights, std::uint32_t tokens,
    std::size_t head, const LayerState& state, const KdaScratch& scratch, std::uint32_t worker)
{
    const std::size_t width = config.kdaWidth();
    const std::size_t dim = config.kdaHeadDim;
    const std::size_t first = head * dim; // column
    float* const decay = scratch.decay.data() + first;
    for (std::size_t token = 0; token < tokens; ++token) {
        for (std::size_t d = 0; d < dim; ++d)
            decay[token * width + d] += weights.decayBias[first + d];
        float& beta = scratch.beta[token * config.kdaHeadCount + head];
        beta = 1 / (1 + std::exp(-beta));
    }
    runKdaHead(compute.kernels,
        {.dim = config.kdaHeadDim,
            .tokens = tokens,
            .stride = width,
            .query = scratch.query.data() + first,
            .key = scratch.key.data() + first,
            .value = scratch.value.data() + first,
            .decayInput = decay,
            .output = decay,
            .beta = scratch.beta.data() + head,
            .betaStride = config.kdaHeadCount,
            .decay = {.rate = std::exp(weights.decayLog[head]), .lowerBound = config.gateLowerBound},
            .state = state.kda + head * dim * dim},
        scratch.workers[worker]);
    for (std::size_t token = 0; token < tokens; ++token)
        gatedRmsNorm(compute.kernels, scratch.gate.data() + token * width + first, weights.outputNorm,
            config.normEpsilon, decay + token * width, dim);
}

} // namespace

void runKdaAttention(const Compute& compute, const ModelConfig& config, const KdaWeights& weights,
    const kernels::TokenInput& input, const LayerState& state, const KdaScratch& scratch,
    const kernels::TokenOutput& output)
{
    const auto tokens = static_cast<std::uint32_t>(input.tokens);
    projectInput(compute, config, weights, input, scratch);
    convolveAll(compute, config, weights, tokens, state, scratch);
    const std::size_t multiplyAdds = std::size_t{3} * config.kdaHeadDim * config.kdaHeadDim * tokens;
    compute.pool.parallelFor(config.kdaHeadCount, pieceGrain(multiplyAdds),
        [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
            for (std::uint32_t head = begin; head < end; ++head)
                runHead(compute, config, weights, tokens, head, state, scratch, worker);
        });
    project(compute, {scratch.decay.data(), config.kdaWidth(), input.tokens}, weights.output, output);
}

} // namespace waste
