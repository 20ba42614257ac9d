#include "host/journal_lines.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace waste::host {

namespace {

// The field if it is there and has the right type; leaves the target alone otherwise.
void take(const Json& object, const char* field, std::string& target)
{
    if (const auto found = object.find(field); found != object.end() && found->is_string())
        target = found->get<std::string>();
}

void take(const Json& object, const char* field, bool& target)
{
    if (const auto found = object.find(field); found != object.end() && found->is_boolean())
        target = found->get<bool>();
}

template<typename Number>
void takeNumber(const Json& object, const char* field, Number& target)
{
    if (const auto found = object.find(field); found != object.end() && found->is_number_unsigned())
        target = static_cast<Number>(found->get<std::uint64_t>());
}

// A journal may come from anywhere, and a title is printed on terminals.
std::string oneLine(std::string text)
{
    std::replace_if(text.begin(), text.end(), isControl, ' ');
    for (std::size_t c1 = text.find('\xC2'); c1 != std::string::npos; c1 = text.find('\xC2', c1 + 1)) {
        if (c1 + 1 < text.size() && static_cast<unsigned char>(text[c1 + 1]) < 0xA0)
            text.replace(c1, 2, " ");
    }
    return text;
}

void applySet(const Json& line, Conversation& conversation)
{
    take(line, "title", conversation.title);
    conversation.title = oneLine(std::move(conversation.title));
    take(line, "model", conversation.modelName);
    take(line, "system", conversation.system);
    take(line, "leaf", conversation.leaf);
    take(line, "pinned", conversation.pinned);
    take(line, "deleted", conversation.deleted);
}

} // namespace

Json blockJson(const Block& block)
{
    Json json{{"type", nameOf(block.type)}};
    switch (block.type) {
    case Block::Type::Text:
    case Block::Type::Thinking:
        json["text"] = block.text;
        break;
    case Block::Type::Image:
    case Block::Type::File:
        json["sha256"] = block.sha256;
        json["name"] = block.name;
        json["bytes"] = block.bytes;
        if (block.type == Block::Type::Image) {
            json["width"] = block.width;
            json["height"] = block.height;
            if (block.half)
                json["half"] = true;
            if (block.positions > 0)
                json["positions"] = block.positions;
        }
        break;
    case Block::Type::ToolCall:
        json["call_id"] = block.callId;
        json["name"] = block.name;
        json["arguments"] = block.text;
        break;
    case Block::Type::ToolResult:
        json["call_id"] = block.callId;
        json["text"] = block.text;
        break;
    case Block::Type::Other:
        break;
    }
    return json;
}

// Of a type that this version does not know a block keeps its place: later lines count blocks.
Block blockFrom(const Json& json)
{
    Block block;
    std::string type;
    if (json.is_object())
        take(json, "type", type);
    block.type = blockType(type).value_or(Block::Type::Other);
    if (block.type == Block::Type::Other)
        return block;
    take(json, block.type == Block::Type::ToolCall ? "arguments" : "text", block.text);
    take(json, "name", block.name);
    take(json, "call_id", block.callId);
    take(json, "sha256", block.sha256);
    takeNumber(json, "bytes", block.bytes);
    takeNumber(json, "width", block.width);
    takeNumber(json, "height", block.height);
    take(json, "half", block.half);
    takeNumber(json, "positions", block.positions);
    return block;
}

Json conversationLine(std::string_view conversationId, std::string_view createdUtc)
{
    return {{"kind", "conversation"}, {"schema", 1}, {"id", conversationId}, {"created_utc", createdUtc}};
}

Json messageLine(const Message& message)
{
    Json line{{"kind", "message"}, {"id", message.id}};
    line["parent"] = message.parent.empty() ? Json() : Json(message.parent);
    line["role"] = nameOf(message.role);
    line["blocks"] = Json::array();
    for (const Block& block : message.blocks)
        line["blocks"].push_back(blockJson(block));
    line["state"] = nameOf(message.state);
    if (!message.modelName.empty())
        line["model"] = Json{{"name", message.modelName}};
    return line;
}

Json textLine(std::string_view messageId, std::size_t blockIndex, Block::Type type, std::string_view text)
{
    return {{"kind", "text"}, {"id", messageId}, {"block", blockIndex}, {"type", nameOf(type)}, {"text", text}};
}

Json toolCallLine(std::string_view messageId, std::size_t blockIndex, const Block& call)
{
    Json line = textLine(messageId, blockIndex, Block::Type::ToolCall, call.text);
    line["name"] = call.name;
    line["call_id"] = call.callId;
    return line;
}

Json stateLine(std::string_view messageId, MessageState state, std::string_view reason)
{
    Json line{{"kind", "state"}, {"id", messageId}, {"state", nameOf(state)}};
    if (!reason.empty())
        line["reason"] = reason;
    return line;
}

Json stateLine(std::string_view messageId, MessageState state, std::string_view reason, const AnswerTimings& timings)
{
    Json line = stateLine(messageId, state, reason);
    line["timings"] =
        Json{{"queued_ms", timings.queuedMs}, {"read_ms", timings.readMs}, {"first_token_ms", timings.firstTokenMs},
            {"answer_ms", timings.answerMs}, {"prompt_tokens", timings.promptTokens}, {"tokens", timings.tokens},
            {"thinking_tokens", timings.thinkingTokens}, {"thinking_ms", timings.thinkingMs},
            {"bytes_read", timings.bytesRead}, {"seed", timings.seed}};
    return line;
}

Json setLine(std::string_view field, Json value)
{
    Json line{{"kind", "set"}};
    line[std::string(field)] = std::move(value);
    return line;
}

JournalReplay::JournalReplay(Conversation& conversation)
    : m_conversation(conversation)
{
    for (std::size_t place = 0; place < conversation.messages.size(); ++place)
        m_places[conversation.messages[place].id] = place;
}

bool JournalReplay::apply(const Json& line)
{
    std::string kind;
    take(line, "kind", kind);
    take(line, "time_utc", m_conversation.updatedUtc);
    if (kind == "message")
        return applyMessage(line);
    if (kind == "text")
        return applyText(line);
    if (kind == "state")
        return applyState(line);
    if (kind == "set")
        applySet(line, m_conversation);
    return true;
}

Message* JournalReplay::find(const std::string& messageId)
{
    const auto place = m_places.find(messageId);
    return place == m_places.end() ? nullptr : &m_conversation.messages[place->second];
}

bool JournalReplay::applyMessage(const Json& line)
{
    Message message;
    std::string roleName;
    std::string stateName = "done";
    take(line, "id", message.id);
    take(line, "parent", message.parent);
    take(line, "role", roleName);
    take(line, "state", stateName);
    take(line, "time_utc", message.timeUtc);
    const auto blocks = line.find("blocks");
    const auto knownRole = role(roleName);
    const auto knownState = messageState(stateName);
    if (message.id.empty() || !knownRole || !knownState || blocks == line.end() || !blocks->is_array()
        || find(message.id) != nullptr)
        return false;
    // A parent whose own line was lost would cut the conversation in two.
    if (!message.parent.empty() && find(message.parent) == nullptr)
        message.parent = m_conversation.messages.empty() ? std::string() : m_conversation.messages.back().id;
    message.role = *knownRole;
    message.state = *knownState;
    for (const Json& block : *blocks)
        message.blocks.push_back(blockFrom(block));
    if (const auto model = line.find("model"); model != line.end() && model->is_object())
        take(*model, "name", message.modelName);
    m_places[message.id] = m_conversation.messages.size();
    m_conversation.messages.push_back(std::move(message));
    return true;
}

bool JournalReplay::applyText(const Json& line)
{
    std::string id;
    std::string typeName;
    std::string text;
    std::size_t place = SIZE_MAX;
    take(line, "id", id);
    take(line, "type", typeName);
    take(line, "text", text);
    takeNumber(line, "block", place);
    Message* message = find(id);
    const auto type = blockType(typeName);
    if (message == nullptr || !type || place > message->blocks.size())
        return false;
    if (place == message->blocks.size()) {
        message->blocks.emplace_back();
        message->blocks.back().type = *type;
        take(line, "name", message->blocks.back().name);
        take(line, "call_id", message->blocks.back().callId);
    }
    if (message->blocks[place].type != *type)
        return false;
    message->blocks[place].text += text;
    return true;
}

bool JournalReplay::applyState(const Json& line)
{
    std::string id;
    std::string stateName;
    take(line, "id", id);
    take(line, "state", stateName);
    Message* message = find(id);
    const auto state = messageState(stateName);
    if (message == nullptr || !state)
        return false;
    message->state = *state;
    message->reason.clear();
    take(line, "reason", message->reason);
    if (const auto found = line.find("timings"); found != line.end() && found->is_object()) {
        AnswerTimings& timings = message->timings;
        takeNumber(*found, "queued_ms", timings.queuedMs);
        takeNumber(*found, "read_ms", timings.readMs);
        takeNumber(*found, "first_token_ms", timings.firstTokenMs);
        takeNumber(*found, "answer_ms", timings.answerMs);
        takeNumber(*found, "prompt_tokens", timings.promptTokens);
        takeNumber(*found, "tokens", timings.tokens);
        takeNumber(*found, "thinking_tokens", timings.thinkingTokens);
        takeNumber(*found, "thinking_ms", timings.thinkingMs);
        takeNumber(*found, "bytes_read", timings.bytesRead);
        take(*found, "seed", timings.seed);
    }
    return true;
}

bool apply(const Json& line, Conversation& conversation)
{
    return JournalReplay(conversation).apply(line);
}

std::string utcText(std::chrono::system_clock::time_point time)
{
    // std::gmtime shares one buffer among all threads, and GCC 12 cannot format its calendar types.
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{std::chrono::floor<std::chrono::seconds>(time - day)};
    char text[32];
    std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
        static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
    return text;
}

} // namespace waste::host
