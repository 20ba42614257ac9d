#pragma once

#include "container/model_config.h"
#include "memory/arena.h"

#include <cstdint>
#include <span>

namespace waste {

// Tokens of one sequence on their way through the layers, at most `tokensMax` at a time.
//
// Attention changes the sequence's state and cannot be repeated; a feed-forward network changes nothing
// until its result is added. So a chunk may stop (a cancel, an expert that cannot be read) between the pieces of an
// attention and anywhere between two attentions, and be taken up again later: `layer`, `step` and `attendedTokens`
// say what comes next, and `sum` and `blocks` are all that the rest of the way needs. Belongs to its sequence, because
// another one may run before it is taken up again.
struct ChunkInFlight {
    enum class Step : std::uint8_t { Attention, FeedForward };

    std::uint32_t tokenCount = 0; // 0: no chunk is on its way
    std::uint32_t layer = 0;
    Step step = Step::Attention;
    std::uint32_t attendedTokens = 0; // that this layer's attention has seen, while it is the step
    std::uint32_t blockCount = 0; // blocks pushed so far

    std::span<float> sum; // [tokensMax][h]; the running sum, spec: model 6.2 and 6.3
    std::span<float> blocks; // [blocks][tokensMax][h]; Attention Residuals only

    [[nodiscard]] bool isEmpty() const { return tokenCount == 0; }
    [[nodiscard]] std::span<float> block(std::uint32_t index) const // [tokensMax][h]
    {
        return blocks.subspan(index * sum.size(), sum.size());
    }
    // Forgets the chunk. The sequence's state has been changed by the layers it passed: the caller restores
    // it from a copy or resets it.
    void drop() { tokenCount = 0; }

    // Takes its memory from an Arena, or adds it up with an ArenaSize.
    template<typename A>
    static ChunkInFlight carve(A& arena, const ModelConfig& config, std::uint32_t tokensMax)
    {
        const std::size_t rows = std::size_t{tokensMax} * config.hiddenSize;
        ChunkInFlight chunk;
        chunk.sum = arena.template take<float>(rows);
        chunk.blocks = arena.template take<float>(rows * blocksMax(config));
        return chunk;
    }
    static std::size_t blocksMax(const ModelConfig& config)
    {
        return config.residualBlockSize == 0 ? 0 : ceilDivide(config.layerCount, config.residualBlockSize);
    }
};

} // namespace waste
