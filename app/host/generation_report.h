#pragma once

#include "waste/chat_format.h"
#include "waste/engine.h"
#include "waste/session.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace waste::host {

// What one reply took, in the words of the command line's JSON and of the server (spec: server 4).
struct GenerationReport {
    std::uint64_t promptTokens = 0; // positions before the reply
    std::uint64_t cachedTokens = 0; // of these, taken from a state that was there
    std::uint64_t completionTokens = 0; // sampled: reasoning, markers and end token included
    std::uint64_t reasoningTokens = 0;
    std::uint64_t expertHits = 0;
    std::uint64_t expertMisses = 0;
    std::uint64_t bytesRead = 0;
    bool directIo = false;
    double queueMs = 0;
    double prefillMs = 0;
    double decodeMs = 0;
    SamplingOptions sampling;
    bool thinking = false;
    std::string effort; // empty: no note
    std::string session; // name; empty: none
    std::vector<std::string> warnings;
    std::uint32_t droppedCalls = 0;
    bool emptyAnswer = false;

    // What the engine's counters gained since `before`.
    void addStatistics(const Statistics& before, const Statistics& after);

    [[nodiscard]] double tokensPerSecond() const; // while decoding; 0 without tokens
    [[nodiscard]] double hitRate() const; // 0 without accesses
    [[nodiscard]] double bytesPerToken() const; // over prompt and reply
};

nlohmann::ordered_json usageJson(const GenerationReport& report);
nlohmann::ordered_json wasteJson(const GenerationReport& report);

// "tool_calls", "stop" or "length" (spec: server 4.1).
std::string_view finishReason(const ReplyReader& reader, FinishReason reason);

} // namespace waste::host
