#include "prompt/thinking_choice.h"

#include "prompt/prompt_error.h"

#include <algorithm>

namespace waste {

namespace {

using Kind = JsonValue::Kind;

std::string lowered(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(),
        [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return text;
}

// An object that groups fields; null if it is not there.
Result<const JsonValue*> group(const JsonValue& request, const char* key)
{
    const JsonValue* value = request.find(key);
    if (value != nullptr && !value->is(Kind::Object))
        return requestError(key, "must be an object");
    return value;
}

Result<std::optional<bool>> statedThinking(const JsonValue& request, const JsonValue* arguments)
{
    if (const JsonValue* thinking = request.find("thinking")) {
        if (thinking->is(Kind::Boolean))
            return std::optional(thinking->boolean);
        const JsonValue* type = thinking->find("type");
        if (type == nullptr || !type->is(Kind::String) || (type->text != "enabled" && type->text != "disabled"))
            return requestError("thinking", "must be true, false or an object whose type is enabled or disabled");
        return std::optional(type->text == "enabled");
    }
    for (const char* key : {"thinking", "enable_thinking"}) {
        const JsonValue* value = arguments != nullptr ? arguments->find(key) : nullptr;
        if (value == nullptr)
            continue;
        if (!value->is(Kind::Boolean))
            return requestError(std::string("chat_template_kwargs.") + key, "must be true or false");
        return std::optional(value->boolean);
    }
    return std::optional<bool>();
}

struct StatedEffort {
    std::string place;
    std::string value; // low, high, max, or none = no thinking
};

// The ladder of the portable names has more steps than the model.
Result<std::string> portableEffort(const std::string& value, const std::string& place)
{
    if (value == "minimal" || value == "low")
        return std::string("low");
    if (value == "medium" || value == "high")
        return std::string("high");
    if (value == "xhigh" || value == "max" || value == "ultra")
        return std::string("max");
    return requestError(place, "must be none, off, minimal, low, medium, high, xhigh, max or ultra");
}

Result<std::string> nativeEffort(const std::string& value, const std::string& place)
{
    if (value == "low" || value == "high" || value == "max")
        return value;
    if (value == "medium")
        return requestError(place, "medium is not supported by the model; use low, high or max");
    return requestError(place, "must be none, off, low, high or max");
}

Result<std::optional<StatedEffort>> statedEffort(
    const JsonValue& request, const JsonValue* reasoning, const JsonValue* arguments)
{
    struct Field {
        const JsonValue* parent;
        const char* key;
        const char* place;
        bool portable;
    };
    for (const Field& field : {Field{&request, "reasoning_effort", "reasoning_effort", true},
             Field{&request, "thinking_effort", "thinking_effort", false},
             Field{reasoning, "effort", "reasoning.effort", true},
             Field{arguments, "thinking_effort", "chat_template_kwargs.thinking_effort", false}}) {
        const JsonValue* value = field.parent != nullptr ? field.parent->find(field.key) : nullptr;
        if (value == nullptr)
            continue;
        if (!value->is(Kind::String))
            return requestError(field.place, "must be a string");
        const std::string word = lowered(value->text);
        if (word == "none" || word == "off")
            return std::optional(StatedEffort{field.place, "none"});
        WASTE_TRY(auto effort, field.portable ? portableEffort(word, field.place) : nativeEffort(word, field.place));
        return std::optional(StatedEffort{field.place, std::move(effort)});
    }
    return std::optional<StatedEffort>();
}

} // namespace

Result<ThinkingChoice> chooseThinking(const JsonValue& request, const RenderOptions& defaults)
{
    WASTE_TRY(const JsonValue* arguments, group(request, "chat_template_kwargs"));
    WASTE_TRY(const JsonValue* reasoning, group(request, "reasoning"));
    WASTE_TRY(const auto thinking, statedThinking(request, arguments));
    WASTE_TRY(const auto effort, statedEffort(request, reasoning, arguments));

    ThinkingChoice choice;
    const bool effortThinks = effort && effort->value != "none";
    if (thinking && effort && *thinking != effortThinks)
        return requestError(effort->place, "contradicts the request's thinking field");
    choice.thinking = thinking.value_or(effort ? effortThinks : defaults.thinking);
    if (!choice.thinking)
        return choice;
    if (effort)
        choice.effort = effort->value;
    else if (defaults.effort != "none")
        choice.effort = defaults.effort;
    return choice;
}

} // namespace waste
