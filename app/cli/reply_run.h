#pragma once

#include "host/generation_report.h"

#include "waste/chat_format.h"
#include "waste/engine.h"
#include "waste/session.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace waste::cli {

// One reply: what is still to be read, and how to answer.
struct ReplyRequest {
    std::span<const TokenId> ids; // behind what the session has evaluated already
    ReplyReader::Options reading;
    SamplingOptions sampling;
    std::uint32_t tokensMax = 0; // 0: up to the context
    bool thinking = false;
    std::string effort;
    const CancelFlag* cancel = nullptr;
};

struct ReplyEvents {
    std::function<void(std::uint64_t done, std::uint64_t total, double ms)> reading; // of `ids`
    std::function<void(const ReplyDelta&, const ReplyReader&)> delta;
};

struct ReplyOutcome {
    ReplyReader reader;
    std::vector<TokenId> sampled;
    FinishReason reason = FinishReason::Limit;
    host::GenerationReport report;
    // What ended it early: Cancelled, or a failure. Text, ids and figures up to there are good.
    std::optional<Error> error;
};

// Reads the prompt and generates until the reply is over. The session then stands behind the last sampled
// token, which may still be pending.
ReplyOutcome runReply(
    Engine& engine, Session& session, const ChatFormat& format, const ReplyRequest& request, const ReplyEvents& events);

// "stop", "length", "tool_calls", or "cancelled" and "error" for a reply that was cut.
std::string finishReasonOf(const ReplyOutcome& outcome);

} // namespace waste::cli
