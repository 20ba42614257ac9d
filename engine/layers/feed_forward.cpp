#include "layers/feed_forward.h"

#include "base/checked.h"
#include "layers/linear.h"

#include <algorithm>

namespace waste {

namespace {

constexpr std::uint32_t kRowsPerItem = 32;

// Calls body(rowBegin, rowEnd, worker) in parallel for all rows.
template<typename Body>
void forRows(
    const Compute& compute, std::uint32_t rows, std::size_t weightsPerRow, std::size_t tokens, const Body& body)
{
    compute.pool.parallelFor(ceilDivide(rows, kRowsPerItem), rowGrain(kRowsPerItem * weightsPerRow, tokens),
        [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
            body(begin * kRowsPerItem, std::min(end * kRowsPerItem, rows), worker);
        });
}

void runPiece(const Compute& compute, const ModelConfig& config, const DenseExpert& weights,
    const kernels::TokenInput& input, const FeedForwardScratch& scratch, const kernels::TokenOutput& output)
{
    const auto& [gate, up, down] = weights;
    const std::size_t width = gate.rows;
    const LinearInput prepared = prepareInput(compute, input, {weights.data(), 2});
    forRows(compute, gate.rows, std::size_t{2} * gate.columns, input.tokens,
        [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
            multiplyRows(compute, gate, prepared, {scratch.gate, width}, begin, end, worker);
            multiplyRows(compute, up, prepared, {scratch.up, width}, begin, end, worker);
            for (std::size_t token = 0; token < input.tokens; ++token) {
                const std::size_t first = token * width + begin;
                activate(compute.kernels, config, scratch.gate + first, scratch.up + first, end - begin);
            }
        });
    const LinearInput hidden = prepareInput(compute, {scratch.gate, width, input.tokens}, {&down, 1});
    forRows(compute, down.rows, down.columns, input.tokens,
        [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
            multiplyRows(compute, down, hidden, output, begin, end, worker);
        });
}

} // namespace

void activate(
    const kernels::KernelTable& kernels, const ModelConfig& config, float* gate, const float* up, std::size_t count)
{
    if (config.activation == ModelConfig::Activation::Situ)
        kernels.situ({config.situBeta, config.situLinearBeta}, gate, up, count);
    else
        kernels.silu(gate, up, count);
}

void runFeedForward(const Compute& compute, const ModelConfig& config, const DenseExpert& weights,
    const kernels::TokenInput& input, const FeedForwardScratch& scratch, const kernels::TokenOutput& output)
{
    forPieces(input.tokens, [&](std::size_t first, std::size_t count) {
        runPiece(compute, config, weights, {input.x + first * input.stride, input.stride, count}, scratch,
            {output.y + first * output.stride, output.stride});
    });
}

} // namespace waste
