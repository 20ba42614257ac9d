#pragma once

#include "cli/output.h"
#include "cli/reply_run.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace waste::cli {

// Shows one reply while it comes: as text (content on standard output, thinking beside it on standard error)
// or as one JSON event a line (spec: cli B.4).
class ReplyPrinter {
public:
    struct Options {
        bool showThinking = false;
        bool statistics = true;
    };
    ReplyPrinter(Output& output, Options options);

    [[nodiscard]] ReplyEvents events();
    // The end of it: statistics, and in text mode the line feed behind the content.
    void end(const ReplyOutcome& outcome);

private:
    void reading(std::uint64_t done, std::uint64_t total, double ms);
    void delta(const ReplyDelta& delta, const ReplyReader& reader);
    void toolCall(std::size_t position, const ReplyReader& reader);
    void endJson(const ReplyOutcome& outcome);
    void endText(const ReplyOutcome& outcome);

    Output& m_output;
    const Options m_options;
    std::chrono::steady_clock::time_point m_lastProgress;
    std::vector<bool> m_callShown;
};

// "[128 tokens, 251.3 s, 0.51 tok/s | prompt 33 in 71.2 s | experts 38 % hit | 10.5 GiB/token from disk | seed 1234]"
std::string statisticsLine(const host::GenerationReport& report);

} // namespace waste::cli
