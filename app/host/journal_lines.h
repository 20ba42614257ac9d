#pragma once

#include "host/conversation.h"
#include "host/json.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace waste::host {

// The lines of a journal (spec: desktop 3.7), without `seq` and `time_utc`, which the journal adds.
Json conversationLine(std::string_view conversationId, std::string_view createdUtc);
Json messageLine(const Message& message);
Json textLine(std::string_view messageId, std::size_t blockIndex, Block::Type type, std::string_view text);
Json toolCallLine(std::string_view messageId, std::size_t blockIndex, const Block& call); // that an answer gained
Json stateLine(std::string_view messageId, MessageState state, std::string_view reason = {});
Json stateLine(std::string_view messageId, MessageState state, std::string_view reason, const AnswerTimings& timings);
Json setLine(std::string_view field, Json value);

// A block as it stands in a message's line, and in a draft.
Json blockJson(const Block& block);
Block blockFrom(const Json& json); // of type Other: it says nothing that this version knows

// Carries out what lines say, in their order. The conversation gains messages by this alone while it lives.
class JournalReplay {
public:
    explicit JournalReplay(Conversation& conversation);
    // A line of unknown kind or with fields of wrong types changes nothing; false for the latter.
    bool apply(const Json& line);

private:
    Message* find(const std::string& messageId);
    bool applyMessage(const Json& line);
    bool applyText(const Json& line);
    bool applyState(const Json& line);

    Conversation& m_conversation;
    std::unordered_map<std::string, std::size_t> m_places; // of messages, by id: journals may be long
};

// One line.
bool apply(const Json& line, Conversation& conversation);

// "2026-11-29T15:00:00Z"
std::string utcText(std::chrono::system_clock::time_point time);

} // namespace waste::host
