#pragma once

#include "cli/reply_printer.h"

#include "waste/chat_format.h"
#include "waste/engine.h"
#include "waste/session.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace waste::cli {

// What a new session is to read, and how to answer.
struct ReplyRequest {
    std::span<const TokenId> ids;
    std::span<const float> pictureRows; // in place of the placeholders' embeddings
    ReplyReader::Options reading;
    SamplingOptions sampling;
    std::uint32_t tokensMax = 128;
    bool thinking = false;
    std::string effort;
    const CancelFlag* cancel = nullptr;
};

struct ReplyOutcome {
    ReplySummary summary;
    FinishReason reason = FinishReason::Limit;
    // What ended it early: Cancelled, or a failure. The summary is good up to there.
    std::optional<Error> error;
};

// Reads the prompt and generates until the reply is over, showing both.
ReplyOutcome runReply(
    Engine& engine, Session& session, const ChatFormat& format, const ReplyRequest& request, ReplyPrinter& printer);

} // namespace waste::cli
