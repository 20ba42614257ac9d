#include "prompt/reply_json.h"

#include "prompt/json_text.h"
#include "prompt/prompt_error.h"

#include <charconv>

namespace waste {

namespace {

using Kind = JsonValue::Kind;

Result<TokenId> idOf(const ReplyRules& rules, const JsonValue& value, const std::string& place)
{
    TokenId id = -1;
    const char* end = value.text.data() + value.text.size();
    const auto parsed = std::from_chars(value.text.data(), end, id);
    const bool isId = value.is(Kind::Number) && parsed.ec == std::errc() && parsed.ptr == end;
    if (!isId || !rules.tokenizer->piece(id))
        return requestError(place + ".id", "is no token id of this model");
    return id;
}

Result<ReplyDelta> feedToken(
    const ReplyRules& rules, ReplyReader::State& reader, const JsonValue& token, const std::string& place)
{
    if (const JsonValue* id = token.find("id")) {
        WASTE_TRY(const TokenId value, idOf(rules, *id, place));
        return reader.feed(value);
    }
    const JsonValue* text = token.find("text");
    const JsonValue* markup = token.find("markup");
    if (text == nullptr || !text->is(Kind::String) || markup == nullptr || !markup->is(Kind::Boolean))
        return requestError(place, "must have an id, or a text and a boolean markup");
    if (!markup->boolean)
        return reader.feedText(text->text);
    const auto marker = rules.tokenizer->special(text->text);
    if (!marker || !rules.markers || !rules.markers->find(*marker))
        return requestError(place + ".text", "is no control token of this model's replies");
    return reader.feed(*marker);
}

void appendMember(std::string& json, std::string_view key, std::string_view text)
{
    appendJsonString(json, key);
    json += ": ";
    appendJsonString(json, text);
}

void appendDelta(std::string& json, const std::string& after, const ReplyDelta& delta)
{
    if (delta.isEmpty())
        return;
    json += json.ends_with('[') ? "{" : ", {";
    json += "\"after\": " + after + ", ";
    appendMember(json, "reasoning", delta.reasoning);
    json += ", ";
    appendMember(json, "content", delta.content);
    json += ", \"calls\": [";
    for (std::size_t i = 0; i < delta.calls.size(); ++i)
        json += (i > 0 ? ", " : "") + std::to_string(delta.calls[i]);
    json += "]}";
}

void appendCall(std::string& json, const ToolCall& call)
{
    json += json.ends_with('[') ? "{" : ", {";
    appendMember(json, "name", call.name);
    json += ", \"index\": " + std::to_string(call.index) + ", \"id_attribute\": ";
    if (call.idAttribute)
        appendJsonString(json, *call.idAttribute);
    else
        json += "null";
    json += ", ";
    appendMember(json, "arguments_text", call.arguments);
    json += call.rawJson ? ", \"raw_json\": true}" : ", \"raw_json\": false}";
}

std::string finalJson(const ReplyReader::State& reader)
{
    std::string json = "{";
    appendMember(json, "reasoning", reader.reasoning());
    json += ", ";
    appendMember(json, "content", reader.content());
    json += ", \"tool_calls\": [";
    const std::size_t callCount = reader.elements() ? reader.elements()->calls().size() : 0;
    for (std::size_t i = 0; i < callCount; ++i)
        appendCall(json, reader.call(i));
    return json + (reader.messageEnded() ? "], \"ended\": true}" : "], \"ended\": false}");
}

} // namespace

Result<std::string> replyJson(const ReplyRules& rules, std::string_view tokensJson, ReplyChannel start)
{
    auto tokens = parseJson(tokensJson);
    if (!tokens)
        return requestError("tokens", tokens.error().message);
    if (!tokens->is(Kind::Array))
        return requestError("tokens", "must be an array");

    ReplyReader::State reader(rules, {.start = start});
    std::string json = "{\"deltas\": [";
    for (std::size_t i = 0; i < tokens->items.size(); ++i) {
        WASTE_TRY(const ReplyDelta delta, feedToken(rules, reader, tokens->items[i], placeOf("tokens", i)));
        appendDelta(json, std::to_string(i), delta);
    }
    appendDelta(json, "\"finish\"", reader.finish());
    return json + "], \"final\": " + finalJson(reader) + '}';
}

} // namespace waste
