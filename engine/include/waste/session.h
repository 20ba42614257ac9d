#pragma once

#include "waste/result.h"
#include "waste/types.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// Spec: model 8. temperature 0 = greedy (arg-max, ties to the smallest id).
struct SamplingOptions {
    double temperature = 0;
    double topP = 1; // (0, 1]
    std::uint32_t topK = 0; // 0 = off
    double minP = 0; // [0, 1]
    // 0 = the built-in constant. A session draws from one stream of random numbers: it begins anew when
    // a generate() names another seed than the one before it, and otherwise goes on.
    std::uint64_t seed = 0;
};

// What leaves one layer at one position: for `waste eval --dump-layers` and `waste bench --record-routes`.
struct LayerTrace {
    std::uint32_t layer = 0;
    std::uint64_t position = 0;
    double norm = 0; // L2 norm of the running sum that leaves the layer
    std::vector<std::uint32_t> experts; // ascending; empty for a dense layer
    std::vector<float> weights; // of these experts
};

struct GenerateOptions {
    SamplingOptions sampling;
    std::uint32_t tokensMax = 128;
    std::vector<TokenId> stopIds; // a sampled stop id is evaluated, reported, and ends the generation
    const CancelFlag* cancel = nullptr;
    std::function<void(const LayerTrace&)> layerSink; // of the evaluated tokens
};

// One generated token, reported after it was sampled.
struct TokenEvent {
    TokenId id = 0;
    std::uint32_t index = 0; // counts from 0 within this generate()
    float logProbability = 0; // of this token under temperature 1, natural logarithm
    std::uint32_t expertHits = 0;
    std::uint32_t expertMisses = 0;
    std::uint32_t speculativeIssued = 0; // reads begun on a guess
    std::uint32_t speculativeUseful = 0;
    std::uint64_t bytesRead = 0;
    std::uint64_t majorFaults = 0; // pages that this process waited for since the previous token; 0 on Windows
    bool isPaging = false; // many of them for several tokens: the machine is short of memory, all of it is far slower
    double ms = 0; // since the previous token
    double readWaitMs = 0; // of them, blocked by reads; the rest was computing
};
enum class TokenAction : std::uint8_t { Continue, Stop };
using TokenSink = std::function<TokenAction(const TokenEvent&)>;

enum class FinishReason : std::uint8_t { StopId, Limit, ContextFull, Sink };
struct GenerateResult {
    FinishReason reason = FinishReason::Limit;
    std::uint32_t tokenCount = 0;
    double ms = 0;
};

struct AppendOptions {
    const CancelFlag* cancel = nullptr;
    std::function<void(std::uint64_t done, std::uint64_t total)>
        progress; // after each layer of a chunk, which counts as a part of its tokens
    std::function<void(std::uint64_t position, std::span<const float> logits)> logitsSink; // every position, in order
    std::function<void(const LayerTrace&)> layerSink;
    // Rows that replace embeddings, in order of the placeholder ids: [rows][hidden]. The id whose
    // positions they replace is the model's media placeholder.
    std::span<const float> pictureRows;
};

// The state of one conversation: position, KDA states, convolution windows, latent rows, random
// numbers (spec: model 9). One thread at a time.
//
// A call that was cancelled or failed between layers leaves the session unfinished: the tokens
// reported before stay valid and the next append() or generate() first finishes the cut chunk. While
// unfinished it cannot be saved; rollBack() returns to the last checkpoint instead.
class Session {
public:
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Evaluates ids. Errors: InvalidArgument (id outside the vocabulary, context too small), Io, Corrupt,
    // Cancelled, Busy.
    Status append(std::span<const TokenId> ids, const AppendOptions& options = {});

    // Samples from the last logits and evaluates each sampled token; needs position() > 0. Only the
    // last sampled token of a run that ended by Limit or Sink stays pending (see pendingToken()).
    Result<GenerateResult> generate(const GenerateOptions& options, const TokenSink& sink);

    [[nodiscard]] std::uint64_t position() const; // tokens evaluated
    [[nodiscard]] std::uint32_t contextTokens() const;
    [[nodiscard]] std::span<const TokenId> tokens() const; // evaluated ids, [position()]
    [[nodiscard]] std::span<const float>
    logits() const; // after the last evaluated id, [vocabulary]; empty at position 0
    // Whether a chunk or token was cut between layers, and its ids: the next call finishes them first.
    [[nodiscard]] bool isUnfinished() const;
    [[nodiscard]] std::span<const TokenId> unfinishedIds() const;
    // A token that was sampled and reported but not evaluated yet; the next generate() or append()
    // evaluates it first.
    [[nodiscard]] std::optional<TokenId> pendingToken() const;

    void reset(); // back to position 0

    // Keeps a copy of the state in RAM / returns to it. One checkpoint is kept. rollBack() without a
    // checkpoint resets to position 0.
    Status checkpoint();
    Status rollBack();
    [[nodiscard]] std::optional<std::uint64_t> checkpointPosition() const;

    // The state file of model 9.1. save() writes beside the target, flushes and renames. restore()
    // validates the complete file before the live state changes. Errors: Io, NoSpace, Busy (unfinished),
    // Corrupt with reason other_model, other_kernels or damaged, InvalidArgument (context too small).
    Status save(const std::filesystem::path& file) const;
    Status restore(const std::filesystem::path& file);

    struct Internals;
    explicit Session(std::unique_ptr<Internals> internals);

private:
    std::unique_ptr<Internals> m_internals;
};

} // namespace waste
