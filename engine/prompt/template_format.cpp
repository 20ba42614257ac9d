#include "prompt/template_format.h"

#include "prompt/prompt_error.h"
#include "prompt/segment_list.h"

#include <algorithm>

namespace waste {

namespace {

using Kind = JsonValue::Kind;

Status readRole(const JsonValue& root, const char* key, std::string_view file, ChatTemplate::Role& role)
{
    const JsonValue* value = root.find(key);
    if (value == nullptr)
        return {};
    const auto isString = [](const JsonValue& item) { return item.is(Kind::String); };
    if (!value->is(Kind::Array) || value->items.size() != 2 || !std::ranges::all_of(value->items, isString))
        return Error{ErrorCode::Corrupt, "", std::string(file) + ": \"" + key + "\" must be an array of two strings"};
    role = {value->items[0].text, value->items[1].text};
    return {};
}

// The string after the one at `from` that looks like a control token: <|…|>, or [A-Z_] in brackets.
std::string_view nextControlToken(std::string_view text, std::size_t from)
{
    for (std::size_t i = from; i < text.size(); ++i) {
        std::size_t end = std::string_view::npos;
        if (text.substr(i).starts_with("<|")) {
            end = text.find("|>", i + 2);
            end = end == std::string_view::npos ? end : end + 2;
        } else if (text[i] == '[') {
            end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", i + 1);
            end = end != std::string_view::npos && end > i + 1 && text[end] == ']' ? end + 1 : std::string_view::npos;
        }
        if (end != std::string_view::npos)
            return text.substr(i, end - i);
    }
    return {};
}

// The calls of an assistant message and the results of tools have no form outside the native format.
Result<std::string_view> roleOf(const JsonValue& message, const std::string& place)
{
    const JsonValue* role = message.find("role");
    if (role == nullptr || !role->is(Kind::String))
        return requestError(place + ".role", "must be system, developer, user or assistant");
    const JsonValue* calls = message.find("tool_calls");
    if (role->text == "tool" || (calls != nullptr && !calls->items.empty()))
        return unsupportedFeature(place, "this model's conversation format has no tools");
    if (role->text == "developer")
        return std::string_view("system");
    if (role->text != "system" && role->text != "user" && role->text != "assistant")
        return requestError(place + ".role", "must be system, developer, user or assistant");
    return std::string_view(role->text);
}

const ChatTemplate::Role& roleIn(const ChatTemplate& chatTemplate, std::string_view role)
{
    if (role == "system")
        return chatTemplate.system;
    return role == "user" ? chatTemplate.user : chatTemplate.assistant;
}

} // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view json, std::string_view file)
{
    auto root = parseJson(json);
    if (!root)
        return Error{ErrorCode::Corrupt, "", std::string(file) + ": " + root.error().message};
    if (!root->is(Kind::Object))
        return Error{ErrorCode::Corrupt, "", std::string(file) + " is not a JSON object"};
    ChatTemplate parsed;
    WASTE_TRY_STATUS(readRole(*root, "system", file, parsed.system));
    WASTE_TRY_STATUS(readRole(*root, "user", file, parsed.user));
    WASTE_TRY_STATUS(readRole(*root, "assistant", file, parsed.assistant));
    if (const JsonValue* open = root->find("open")) {
        if (!open->is(Kind::String))
            return Error{ErrorCode::Corrupt, "", std::string(file) + ": \"open\" must be a string"};
        parsed.open = open->text;
    }
    return parsed;
}

bool ChatTemplate::isUsable() const
{
    const auto isEmpty = [](const Role& role) { return role.prefix.empty() && role.suffix.empty(); };
    return !isEmpty(user) || !isEmpty(assistant) || !open.empty();
}

TemplateStop stopOf(const ChatTemplate& chatTemplate, const Tokenizer& tokenizer)
{
    std::vector<TokenId> ids;
    const std::string& suffix = chatTemplate.assistant.suffix;
    if (tokenizer.encodeMarkup(suffix, ids) && !ids.empty() && tokenizer.isSpecial(ids.front()))
        return {ids.front(), {}};
    return {std::nullopt, suffix};
}

std::vector<std::string> unknownControlTokens(const ChatTemplate& chatTemplate, const Tokenizer& tokenizer)
{
    std::vector<std::string> unknown;
    for (const std::string* text :
        {&chatTemplate.system.prefix, &chatTemplate.system.suffix, &chatTemplate.user.prefix, &chatTemplate.user.suffix,
            &chatTemplate.assistant.prefix, &chatTemplate.assistant.suffix, &chatTemplate.open}) {
        const std::string_view all = *text;
        for (auto token = nextControlToken(all, 0); !token.empty();) {
            if (!tokenizer.special(token) && std::ranges::find(unknown, token) == unknown.end())
                unknown.emplace_back(token);
            token = nextControlToken(all, static_cast<std::size_t>(token.end() - all.begin()));
        }
    }
    return unknown;
}

Result<Prompt> renderTemplate(const ChatTemplate& chatTemplate, const std::vector<JsonValue>& messages,
    const MediaSource& media, bool addGenerationPrompt)
{
    Prompt prompt;
    SegmentList segments;
    prompt.messageEnds.push_back(0);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const std::string place = placeOf("messages", i);
        WASTE_TRY(const std::string_view role, roleOf(messages[i], place));
        segments.markup(roleIn(chatTemplate, role).prefix);
        WASTE_TRY_STATUS(
            appendContent(segments, messages[i].find("content"), place + ".content", media, ContentOrder::ImagesFirst));
        segments.markup(roleIn(chatTemplate, role).suffix);
        prompt.messageEnds.push_back(segments.size());
    }
    if (addGenerationPrompt)
        segments.markup(chatTemplate.generationPrompt());
    prompt.segments = segments.take();
    return prompt;
}

Result<Prompt> renderRaw(const std::vector<JsonValue>& messages, const MediaSource& media)
{
    Prompt prompt;
    SegmentList segments;
    prompt.messageEnds.push_back(0);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const std::string place = placeOf("messages", i);
        WASTE_TRY_STATUS(roleOf(messages[i], place));
        if (i > 0)
            segments.plain("\n");
        WASTE_TRY_STATUS(
            appendContent(segments, messages[i].find("content"), place + ".content", media, ContentOrder::ImagesFirst));
        prompt.messageEnds.push_back(segments.size());
    }
    prompt.segments = segments.take();
    return prompt;
}

} // namespace waste
