#pragma once

#include "container/model_config.h"
#include "layers/chunk_in_flight.h"
#include "layers/layer_state.h"
#include "memory/arena.h"
#include "waste/types.h"

#include <cstdint>
#include <span>

namespace waste {

// All memory of one conversation.
struct SessionMemory {
    std::span<float> state; // of SequenceState, for the whole context
    std::span<float> keptState; // the checkpoint's copy of S and windows; its latent rows are the live ones
    std::span<float> logits; // [vocabulary]
    std::span<float> keptLogits; // [vocabulary]
    std::span<TokenId> ids; // [context], evaluated
    std::span<TokenId> chunkIds; // [chunk], of the chunk in flight
    ChunkInFlight chunk;

    // Takes the memory from an Arena, or adds it up with an ArenaSize.
    template<typename A>
    static SessionMemory carve(
        A& arena, const ModelConfig& config, std::uint32_t contextTokens, std::uint32_t chunkTokensMax)
    {
        SessionMemory memory;
        memory.state = arena.template take<float>(sequenceStateBytes(config, contextTokens) / sizeof(float));
        memory.keptState = arena.template take<float>(sequenceStateBytes(config, 0) / sizeof(float));
        memory.logits = arena.template take<float>(config.vocabularySize);
        memory.keptLogits = arena.template take<float>(config.vocabularySize);
        memory.ids = arena.template take<TokenId>(contextTokens);
        memory.chunkIds = arena.template take<TokenId>(chunkTokensMax);
        memory.chunk = ChunkInFlight::carve(arena, config, chunkTokensMax);
        return memory;
    }

    static std::uint64_t bytes(const ModelConfig& config, std::uint32_t contextTokens, std::uint32_t chunkTokensMax)
    {
        ArenaSize size;
        carve(size, config, contextTokens, chunkTokensMax);
        return size.bytes();
    }
    // The part that the plan counts as state: one sequence and its checkpoint. The rest is scratch.
    static std::uint64_t stateBytes(const ModelConfig& config, std::uint32_t contextTokens)
    {
        return sequenceStateBytes(config, contextTokens) + sequenceStateBytes(config, 0);
    }
};

} // namespace waste
