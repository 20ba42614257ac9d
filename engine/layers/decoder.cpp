#include "layers/decoder.h"

#include "layers/feed_forward.h"
#include "layers/kda_attention.h"
#include "layers/linear.h"
#include "layers/mla_attention.h"
#include "layers/moe_ffn.h"
#include "layers/norm.h"
#include "layers/residual_mix.h"
#include "layers/router_lookahead.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <string>

namespace waste {

std::uint64_t Decoder::scratchBytes(const ModelConfig& config, std::uint32_t chunkTokensMax, std::uint32_t threadCount)
{
    ArenaSize size;
    Scratch::carve(size, config, chunkTokensMax, threadCount);
    return size.bytes();
}

Decoder::Decoder(const Parts& parts, Arena& arena)
    : m_parts(parts)
    , m_scratch(Scratch::carve(arena, parts.config, parts.chunkTokensMax, parts.pool.threadCount()))
    , m_compute{parts.kernels, parts.pool, m_scratch.tiles, m_scratch.planes, parts.arithmetic}
{
    assert(parts.chunkTokensMax >= 1);
    assert(parts.experts != nullptr || parts.config.moeLayerCount() == 0);
}

Status Decoder::begin(ChunkInFlight& chunk, const SequenceState& state, std::span<const TokenId> ids,
    std::span<const float* const> replacements)
{
    assert(chunk.isEmpty());
    assert(!ids.empty() && ids.size() <= m_parts.chunkTokensMax);
    assert(replacements.empty() || replacements.size() == ids.size());
    const std::size_t hidden = m_parts.config.hiddenSize;
    if (ids.size() > state.contextTokens - state.position)
        return Error{ErrorCode::InvalidArgument, "context",
            "the context of " + std::to_string(state.contextTokens) + " tokens is full"};
    for (std::size_t token = 0; token < ids.size(); ++token) {
        const std::span<float> row = chunk.sum.subspan(token * hidden, hidden);
        if (ids[token] < 0 || static_cast<std::uint32_t>(ids[token]) >= m_parts.config.vocabularySize)
            return Error{ErrorCode::InvalidArgument, "token",
                "the token id " + std::to_string(ids[token]) + " is outside of the vocabulary"};
        if (!replacements.empty() && replacements[token] != nullptr)
            std::copy_n(replacements[token], hidden, row.begin());
        else
            WASTE_TRY_STATUS(m_parts.embedding.read(ids[token], row));
    }
    chunk.tokenCount = static_cast<std::uint32_t>(ids.size());
    chunk.layer = 0;
    chunk.step = ChunkInFlight::Step::Attention;
    chunk.attendedTokens = 0;
    chunk.blockCount = 0;
    return {};
}

Status Decoder::run(ChunkInFlight& chunk, SequenceState& state, const RunOptions& options)
{
    assert(!chunk.isEmpty());
    while (chunk.layer < m_parts.config.layerCount) {
        if (options.cancel != nullptr && options.cancel->isCancelled())
            return Error{ErrorCode::Cancelled, "", "stopped while computing"};
        if (chunk.step == ChunkInFlight::Step::Attention) {
            attendPiece(chunk, state);
            continue;
        }
        WASTE_TRY_STATUS(feedForward(chunk, options.cancel));
        if (options.layerSink)
            report(chunk, state, options);
        ++chunk.layer;
        chunk.step = ChunkInFlight::Step::Attention;
        if (options.progress)
            options.progress(chunk.layer);
    }
    deliverLogits(chunk, state, options);
    state.position += chunk.tokenCount;
    chunk.tokenCount = 0;
    return {};
}

// sum ← sum + Attn(RMS(x)) for the next piece, where x is the sum, or with Attention Residuals a mix of it and the
// blocks; where a block ends, the sum becomes a block and starts anew (spec: model 6.2 and 6.3).
void Decoder::attendPiece(ChunkInFlight& chunk, const SequenceState& state)
{
    const ModelConfig& config = m_parts.config;
    const LayerWeights& weights = m_parts.weights.layers[chunk.layer];
    const Piece piece = {
        chunk.attendedTokens, std::min<std::size_t>(kPieceTokens, chunk.tokenCount - chunk.attendedTokens)};
    normalizePiece(chunk, piece, weights.attentionMix, weights.inputNorm, m_scratch.normed.data());
    const std::span<float> sum = chunk.sum.subspan(piece.first * config.hiddenSize, piece.count * config.hiddenSize);
    const bool startsBlock = config.residualBlockSize != 0 && chunk.layer % config.residualBlockSize == 0;
    if (startsBlock)
        std::copy(
            sum.begin(), sum.end(), chunk.block(chunk.blockCount).subspan(piece.first * config.hiddenSize).begin());

    const kernels::TokenInput input = {m_scratch.normed.data(), config.hiddenSize, piece.count};
    const kernels::TokenOutput output = {m_scratch.delta.data(), config.hiddenSize};
    const LayerState& layerState = state.layers[chunk.layer];
    if (const auto* kda = std::get_if<KdaWeights>(&weights.attention))
        runKdaAttention(m_compute, config, *kda, input, layerState, m_scratch.kda, output);
    else
        runMlaAttention(m_compute, config, std::get<MlaWeights>(weights.attention), input, layerState,
            state.position + piece.first, m_scratch.mla, output);

    if (startsBlock)
        std::copy_n(m_scratch.delta.begin(), sum.size(), sum.begin());
    else
        m_compute.kernels.addScaled(1, m_scratch.delta.data(), sum.data(), sum.size());
    chunk.attendedTokens += static_cast<std::uint32_t>(piece.count);
    if (chunk.attendedTokens < chunk.tokenCount)
        return;
    chunk.attendedTokens = 0;
    chunk.blockCount += startsBlock ? 1 : 0;
    chunk.step = ChunkInFlight::Step::FeedForward;
}

// sum ← sum + FFN(RMS(x)); the chunk changes only when everything has succeeded.
Status Decoder::feedForward(ChunkInFlight& chunk, const CancelFlag* cancel)
{
    const ModelConfig& config = m_parts.config;
    const LayerWeights& weights = m_parts.weights.layers[chunk.layer];
    forPieces(chunk.tokenCount, [&](std::size_t first, std::size_t count) {
        normalizePiece(chunk, {first, count}, weights.ffnMix, weights.ffnNorm,
            m_scratch.normed.data() + first * config.hiddenSize);
    });

    const kernels::TokenInput input = {m_scratch.normed.data(), config.hiddenSize, chunk.tokenCount};
    const kernels::TokenOutput output = {m_scratch.delta.data(), config.hiddenSize};
    const NextMoe next = {chunk.layer + 1 < config.layerCount
            ? std::get_if<MoeWeights>(&m_parts.weights.layers[chunk.layer + 1].ffn)
            : nullptr,
        static_cast<std::uint16_t>(chunk.layer + 1)};
    RouterLookahead lookahead(m_compute, config, next, m_scratch.moe, m_parts.experts);
    if (const auto* moe = std::get_if<MoeWeights>(&weights.ffn)) {
        const auto layer = static_cast<std::uint16_t>(chunk.layer);
        WASTE_TRY_STATUS(
            runMoe(m_compute, config, *moe, layer, *m_parts.experts, input, m_scratch.moe, output, cancel, &lookahead));
    } else {
        lookahead.guess(input);
        runFeedForward(m_compute, config, std::get<FfnWeights>(weights.ffn), input,
            {m_scratch.denseGate.data(), m_scratch.denseUp.data()}, output);
    }
    m_compute.kernels.addScaled(
        1, m_scratch.delta.data(), chunk.sum.data(), std::size_t{chunk.tokenCount} * config.hiddenSize);
    if (lookahead.wantsRefining()) { // the input has been used up
        const LayerWeights& nextWeights = m_parts.weights.layers[chunk.layer + 1];
        normalizePiece(chunk, {0, 1}, nextWeights.ffnMix, nextWeights.ffnNorm, m_scratch.normed.data());
        lookahead.refine(m_scratch.normed.data());
    }
    return {};
}

// normed ← RMS(x) for a piece
void Decoder::normalizePiece(
    const ChunkInFlight& chunk, const Piece& piece, const MixWeights& mixWeights, const float* norm, float* normed)
{
    const std::size_t hidden = m_parts.config.hiddenSize;
    const bool isMixed = chunk.blockCount > 0;
    if (isMixed)
        mixTokens(chunk, piece, mixWeights);
    const float* const x = isMixed ? m_scratch.mixed.data() : chunk.sum.data() + piece.first * hidden;
    rmsNormRows(m_compute, {x, hidden, normed, hidden, static_cast<std::uint32_t>(piece.count), hidden}, norm,
        m_parts.config.normEpsilon);
}

// mixed ← Mix(blocks, sum)
void Decoder::mixTokens(const ChunkInFlight& chunk, const Piece& piece, const MixWeights& weights)
{
    const std::size_t hidden = m_parts.config.hiddenSize;
    for (std::size_t i = 0; i < hidden; ++i)
        m_scratch.mixScoring[i] = weights.norm[i] * weights.projection[i];
    const std::size_t candidateCount = chunk.blockCount + 1;
    m_compute.pool.parallelFor(static_cast<std::uint32_t>(piece.count), pieceGrain(3 * candidateCount * hidden),
        [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
            std::array<const float*, kMixCandidatesMax> candidates;
            for (std::size_t token = begin; token < end; ++token) {
                const std::size_t row = (piece.first + token) * hidden;
                for (std::uint32_t block = 0; block < chunk.blockCount; ++block)
                    candidates[block] = chunk.block(block).data() + row;
                candidates[chunk.blockCount] = chunk.sum.data() + row;
                mix(m_compute.kernels,
                    {.candidates = std::span(candidates).first(candidateCount),
                        .scoring = m_scratch.mixScoring.data(),
                        .width = hidden,
                        .epsilon = m_parts.config.normEpsilon},
                    m_scratch.mixed.data() + token * hidden);
            }
        });
}

void Decoder::report(const ChunkInFlight& chunk, const SequenceState& state, const RunOptions& options)
{
    const std::size_t hidden = m_parts.config.hiddenSize;
    LayerReport report;
    report.layer = chunk.layer;
    report.firstPosition = state.position;
    for (std::size_t token = 0; token < chunk.tokenCount; ++token) {
        double square = 0;
        for (const float value : chunk.sum.subspan(token * hidden, hidden))
            square += double{value} * double{value};
        m_scratch.norms[token] = std::sqrt(square);
    }
    report.norms = m_scratch.norms.first(chunk.tokenCount);
    if (m_parts.config.isMoe(chunk.layer)) {
        report.expertsPerToken = m_parts.config.expertsPerToken;
        const std::size_t chosen = std::size_t{chunk.tokenCount} * report.expertsPerToken;
        report.experts = m_scratch.moe.experts.first(chosen);
        report.weights = m_scratch.moe.weights.first(chosen);
    }
    options.layerSink(report);
}

void Decoder::deliverLogits(const ChunkInFlight& chunk, const SequenceState& state, const RunOptions& options)
{
    if (options.logitsSink) {
        for (std::uint32_t token = 0; token < chunk.tokenCount; ++token) {
            computeLogits(chunk, token, m_scratch.logits);
            options.logitsSink(state.position + token, m_scratch.logits);
        }
    }
    if (!options.lastLogits.empty())
        computeLogits(chunk, chunk.tokenCount - 1, options.lastLogits);
}

void Decoder::computeLogits(const ChunkInFlight& chunk, std::uint32_t token, std::span<float> logits)
{
    assert(logits.size() == m_parts.config.vocabularySize);
    const std::size_t hidden = m_parts.config.hiddenSize;
    const bool isMixed = chunk.blockCount > 0;
    if (isMixed)
        mixTokens(chunk, {token, 1}, m_parts.weights.outputMix);
    const float* const x = isMixed ? m_scratch.mixed.data() : chunk.sum.data() + token * hidden;
    rmsNorm(
        m_compute.kernels, x, m_parts.weights.outputNorm, m_parts.config.normEpsilon, m_scratch.normed.data(), hidden);
    project(m_compute, {m_scratch.normed.data(), hidden, 1}, m_parts.weights.head, {logits.data(), logits.size()});
}

} // namespace waste
