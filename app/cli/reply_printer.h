#pragma once

#include "cli/output.h"
#include "host/generation_report.h"

#include "waste/chat_format.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace waste::cli {

// What is known of a reply when it is over.
struct ReplySummary {
    std::string finishReason; // "stop", "length", "tool_calls", or "cancelled" and "error" for one that was cut
    std::string messageJson; // as an OpenAI message
    std::vector<ToolCall> calls;
    host::GenerationReport report;
};

// Shows one reply while it comes: as text (content on standard output, thinking beside it on standard error)
// or as one JSON event a line (spec: cli B.4).
class ReplyPrinter {
public:
    struct Options {
        bool showThinking = false;
        bool statistics = true;
    };
    ReplyPrinter(Output& output, Options options);

    struct Start {
        std::string model;
        std::uint32_t contextTokens = 0;
        std::uint64_t promptTokens = 0;
        std::uint64_t cachedTokens = 0;
        std::uint64_t seed = 0;
        bool thinking = false;
        std::string effort; // empty: no note
    };
    void start(const Start& start); // in JSON only
    void reading(std::uint64_t done, std::uint64_t total, double ms); // at most one event a second
    void text(const ReplyDelta& delta);
    void toolCall(std::size_t position, const ToolCall& call); // once each
    // The calls that were not shown yet, statistics, and in text mode the line feed behind the content.
    void end(const ReplySummary& summary);

private:
    void endJson(const ReplySummary& summary);
    void endText(const ReplySummary& summary);

    Output& m_output;
    const Options m_options;
    std::chrono::steady_clock::time_point m_lastProgress;
    std::vector<bool> m_callShown;
};

// "[128 tokens, 251.3 s, 0.51 tok/s | prompt 33 in 71.2 s | experts 38 % hit | 10.5 GiB/token from disk | seed 1234]"
std::string statisticsLine(const host::GenerationReport& report);

} // namespace waste::cli
