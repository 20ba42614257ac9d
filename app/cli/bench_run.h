#pragma once

#include "waste/engine.h"
#include "waste/result.h"
#include "waste/session.h"
#include "waste/types.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace waste::cli {

// One measured round of `waste bench`: a prompt is read into an empty session, then tokens are written.
struct BenchRound {
    std::uint64_t promptTokens = 0;
    std::uint64_t decodedTokens = 0; // sampled and evaluated
    double prefillSeconds = 0;
    double decodeSeconds = 0;
    // Of the decoded tokens alone.
    std::uint64_t expertHits = 0;
    std::uint64_t expertMisses = 0;
    std::uint64_t guessesIssued = 0; // reads on a guess
    std::uint64_t guessesUseful = 0; // of the hits, those that a guess had brought
    std::uint64_t decodeBytesRead = 0;
    // Of the whole round.
    std::uint64_t bytesRead = 0;
    double readWaitSeconds = 0;
    double diskBusySeconds = 0;
    double computeSeconds = 0;
    bool isWhole = false; // else it was cancelled; the figures end with the last token that was finished

    [[nodiscard]] double prefillRate() const; // tokens a second; 0 where nothing was measured
    [[nodiscard]] double decodeRate() const;
};

struct BenchOptions {
    std::span<const TokenId> prompt;
    std::uint32_t tokenCount = 64; // to decode
    std::function<void(const LayerTrace&)> layerSink; // of the decoded tokens
    const CancelFlag* cancel = nullptr;
};
// Greedy, and without stop tokens: every round does the same work. Errors: those of the session; Cancelled only
// before the first token was finished.
Result<BenchRound> runBenchRound(const Engine& engine, Session& session, const BenchOptions& options);

// Median with smallest and largest of the values.
struct Spread {
    double median = 0;
    double least = 0;
    double most = 0;
};
Spread spreadOf(std::vector<double> values); // at least one

} // namespace waste::cli
