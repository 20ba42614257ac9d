#pragma once

#include "waste/engine.h"
#include "waste/result.h"
#include "waste/session.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace waste::benchmark {

// One way of running a model that a benchmark compares with others: an engine with a cache of a chosen size and one
// session in it.
class BenchEngine {
public:
    struct Options {
        std::uint64_t cacheBytes = 0; // for experts; at least those of two layers are kept in any case
        std::uint32_t contextTokens = 1024;
        bool exact = false; // no reduced kernels
    };
    static Result<BenchEngine> open(const std::filesystem::path& model, const Options& options);

    // What the counters gained while something ran, per token where that is said.
    struct Run {
        std::uint64_t tokens = 0;
        double seconds = 0;
        std::uint64_t bytesRead = 0;
        std::uint64_t wastedBytes = 0; // of them, on guesses that were wrong
        double waitSeconds = 0;
        double diskBusySeconds = 0;
        std::uint64_t hits = 0;
        std::uint64_t misses = 0;

        [[nodiscard]] double rate() const { return static_cast<double>(tokens) / seconds; }
        [[nodiscard]] double bytesPerToken() const
        {
            return static_cast<double>(bytesRead) / static_cast<double>(tokens);
        }
        // What would have been read had every guess been right.
        [[nodiscard]] double demandBytesPerToken() const
        {
            return static_cast<double>(bytesRead - wastedBytes) / static_cast<double>(tokens);
        }
    };
    // Reads the prompt into an empty session.
    Result<Run> prefill(std::uint32_t tokenCount);
    // Decodes the same tokens several times over from where the session stands, and reports the fastest round. The
    // first is a warm-up: with a cache that holds the experts of them all, later rounds read nothing.
    Result<Run> decode(std::uint32_t tokenCount, std::uint32_t rounds);
    // Seconds of each layer in the fastest of several rounds of one token, the same wherever the session stands: behind
    // nothing, or whatever was appended or restored.
    Result<std::vector<double>> layerSeconds(std::uint32_t rounds);

    [[nodiscard]] Session& session() { return *m_session; }
    [[nodiscard]] const Engine& engine() const { return *m_engine; }
    [[nodiscard]] const MemoryPlan& plan() const { return m_engine->plan(); }
    // What a decoded token reads from memory when all its experts are there: trunk, experts, and the delta-attention
    // states twice.
    [[nodiscard]] double bytesPerCachedToken() const;

private:
    Result<Run> decodeOnce(std::uint32_t tokenCount);

    std::unique_ptr<Engine> m_engine;
    std::unique_ptr<Session> m_session;
};

// Ids without a pattern, the same in every run.
std::vector<TokenId> randomIds(std::size_t count, std::uint32_t vocabularySize);

} // namespace waste::benchmark
