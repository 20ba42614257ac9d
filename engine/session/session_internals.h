#pragma once

#include "layers/decoder.h"
#include "layers/layer_state.h"
#include "memory/arena.h"
#include "memory/reservation.h"
#include "session/engine_internals.h"
#include "session/session_memory.h"
#include "session/state_metadata.h"
#include "waste/session.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace waste {

// What a conversation remembers besides the model's own state; small enough to be copied.
struct Continuation {
    TokenId pendingToken = -1; // sampled and reported, not evaluated yet; −1: none
    bool hasLogits = false; // of the last evaluated token
    SamplingOptions sampling; // of the last generate()
    std::uint64_t randomState = 0; // of the stream that sampling.seed began, before its next draw
};

// The state of one conversation. A session is at rest, or unfinished: a chunk was cut between layers
// (memory.chunk is not empty), so some layers have seen its tokens and others have not. The next call
// finishes it; dropping it needs a copy of the state from before.
//
// Its member functions lie with the ideas they belong to: prefill.cpp, decode_loop.cpp, checkpoints.cpp,
// saved_state.cpp.
struct Session::Internals {
    static Result<std::unique_ptr<Internals>> create(std::shared_ptr<Engine::Internals> engine);
    Internals(std::shared_ptr<Engine::Internals> owner, Reservation sessionReservation, Arena sessionArena);

    // prefill.cpp. The caller of these holds the engine's GenerationLock.
    Status append(std::span<const TokenId> ids, const AppendOptions& options);
    // Put tokens on their way, at most a chunk, and take them the rest of it. After an error in between the
    // session is unfinished.
    Status beginChunk(std::span<const TokenId> ids, std::span<const float* const> pictureRows = {});
    Status beginSampled(TokenId id);
    Status finishChunk(Decoder::RunOptions options, Engine::Internals::Count& tokenCount);
    // How many more tokens the context takes behind those that are pending or on their way.
    [[nodiscard]] std::uint64_t roomTokens() const;

    // decode_loop.cpp
    Result<GenerateResult> generate(const GenerateOptions& options, const TokenSink& sink);

    // checkpoints.cpp
    void reset();
    void keepCheckpoint();
    void rollBack();

    // saved_state.cpp
    Status save(const std::filesystem::path& file) const;
    Status restore(const std::filesystem::path& file);

    [[nodiscard]] const ModelConfig& config() const { return engine->config(); }
    [[nodiscard]] bool isUnfinished() const { return !memory.chunk.isEmpty(); }
    [[nodiscard]] std::span<const TokenId> evaluatedIds() const { return memory.ids.first(state.position); }
    void forgetPicturesFrom(std::uint64_t position);

    const std::shared_ptr<Engine::Internals> engine;
    Reservation reservation;
    Arena arena;
    SessionMemory memory;
    SequenceState state;
    Continuation continuation;
    std::vector<state::PictureSpan> pictures;
    bool chunkIsSampled = false; // the chunk in flight is a token that generate() reported
    std::vector<const float*> chunkRows; // scratch of append(): one picture row per token of a chunk, or null

    struct Checkpoint {
        std::uint64_t position = 0;
        Continuation continuation;
    };
    std::optional<Checkpoint> checkpoint; // its tensors are in memory.keptState and memory.keptLogits
};

} // namespace waste
