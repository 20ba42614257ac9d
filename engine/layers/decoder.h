#pragma once

#include "container/model_config.h"
#include "experts/expert_source.h"
#include "kernels/kernels.h"
#include "kernels/thread_pool.h"
#include "layers/chunk_in_flight.h"
#include "layers/embedding.h"
#include "layers/layer_state.h"
#include "layers/model_weights.h"
#include "layers/scratch.h"
#include "memory/arena.h"
#include "waste/result.h"
#include "waste/types.h"

#include <cstdint>
#include <functional>
#include <span>

namespace waste {

// What left one layer, for all tokens of a chunk.
struct LayerReport {
    std::uint32_t layer = 0;
    std::uint64_t firstPosition = 0;
    std::span<const double> norms; // [tokens], L2 norm of the running sum
    std::uint32_t expertsPerToken = 0; // 0: a dense layer
    std::span<const std::uint16_t> experts; // [tokens][expertsPerToken], ascending per token
    std::span<const float> weights; // of these experts
};

// Runs chunks of tokens through the layers of one model (spec: model 6 and 10).
//
// Keeps no sequence: what a sequence remembers is in SequenceState and ChunkInFlight, so one decoder
// serves all conversations of an engine. Memory for intermediate results is taken from the arena when the
// decoder is made; nothing is allocated afterwards. One thread at a time; loops run on the pool.
class Decoder {
public:
    struct Parts { // all outlive the decoder
        const ModelConfig& config;
        const ModelWeights& weights;
        EmbeddingSource& embedding;
        ExpertSource* experts = nullptr; // null for a model without experts
        const kernels::KernelTable& kernels;
        ThreadPool& pool;
        std::uint32_t chunkTokensMax = 64;
        Arithmetic arithmetic = Arithmetic::Exact;
    };
    struct RunOptions {
        const CancelFlag* cancel = nullptr; // polled before each step of a layer, each piece of tokens and each expert
        std::span<float> lastLogits; // [vocabulary], of the chunk's last token; empty: not wanted
        // Every position of the chunk, in order.
        std::function<void(std::uint64_t position, std::span<const float> logits)> logitsSink;
        std::function<void(const LayerReport&)> layerSink;
        std::function<void(std::uint32_t layersDone)> progress;
    };

    static std::uint64_t scratchBytes(
        const ModelConfig& config, std::uint32_t chunkTokensMax, std::uint32_t threadCount);

    // The arena has room for scratchBytes() with the parts' own figures.
    Decoder(const Parts& parts, Arena& arena);

    // Puts 1..chunkTokensMax tokens on their way. `replacements` is empty or has one pointer per token: null
    // for the embedding row, else the row [h] to use in its place (a picture). On an error the chunk stays
    // empty. Errors: InvalidArgument (id outside the vocabulary, no room in the context), Io (embedding).
    Status begin(ChunkInFlight& chunk, const SequenceState& state, std::span<const TokenId> ids,
        std::span<const float* const> replacements = {});

    // Takes the chunk the rest of its way, then empties it and moves the position. After an error or a
    // cancel the chunk keeps its place and the next run() continues there, with the same results as if
    // nothing had happened. Errors: Cancelled; Io, Corrupt (an expert).
    Status run(ChunkInFlight& chunk, SequenceState& state, const RunOptions& options);

private:
    void attendPiece(ChunkInFlight& chunk, const SequenceState& state);
    Status feedForward(ChunkInFlight& chunk, const CancelFlag* cancel);
    struct Piece { // of the chunk's tokens
        std::size_t first = 0;
        std::size_t count = 0;
    };
    void normalizePiece(
        const ChunkInFlight& chunk, const Piece& piece, const MixWeights& mix, const float* norm, float* normed);
    void mixTokens(const ChunkInFlight& chunk, const Piece& piece, const MixWeights& weights);
    void report(const ChunkInFlight& chunk, const SequenceState& state, const RunOptions& options);
    void deliverLogits(const ChunkInFlight& chunk, const SequenceState& state, const RunOptions& options);
    void computeLogits(const ChunkInFlight& chunk, std::uint32_t token, std::span<float> logits);

    Parts m_parts;
    Scratch m_scratch;
    Compute m_compute;
};

} // namespace waste
