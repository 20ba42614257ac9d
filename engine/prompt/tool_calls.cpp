#include "prompt/tool_calls.h"

#include "prompt/blanks.h"
#include "prompt/prompt_error.h"

#include <algorithm>
#include <map>

namespace waste {

namespace {

using Kind = JsonValue::Kind;

std::string_view typeName(const JsonValue& value)
{
    switch (value.kind) {
    case Kind::Null:
        return "null";
    case Kind::Boolean:
        return "boolean";
    case Kind::Number:
        return "number";
    case Kind::String:
        return "string";
    case Kind::Array:
        return "array";
    case Kind::Object:
        return "object";
    }
    return {};
}

Status appendArguments(SegmentList& segments, const JsonValue& arguments, const MediaSource& media)
{
    for (const JsonMember& argument : arguments.members) {
        segments.open("argument", {{"key", argument.key}, {"type", typeName(argument.value)}});
        if (argument.value.is(Kind::String))
            WASTE_TRY_STATUS(appendText(segments, argument.value.text, media));
        else
            segments.plain(writeJson(argument.value, JsonStyle::Spaced));
        segments.close("argument");
    }
    return {};
}

// Arguments in a string: JSON of an object becomes elements, text that is no JSON stays as it is.
Status appendArgumentText(
    SegmentList& segments, const std::string& text, const std::string& place, const MediaSource& media)
{
    if (trimBlanks(text).empty())
        return {};
    const auto parsed = parseJson(text);
    if (parsed && !parsed->is(Kind::Object))
        return requestError(place, "tool call arguments must be a JSON object");
    if (parsed)
        return appendArguments(segments, *parsed, media);
    if (parsed.error().reason == "too_large")
        return requestError(place, parsed.error().message);
    segments.open("json", {{"type", "object"}});
    WASTE_TRY_STATUS(appendText(segments, text, media));
    segments.close("json");
    return {};
}

const JsonValue& functionOf(const JsonValue& call)
{
    const JsonValue* function = call.find("function");
    return function != nullptr ? *function : call;
}

std::string_view stringMember(const JsonValue& object, std::string_view key)
{
    const JsonValue* value = object.find(key);
    return value != nullptr && value->is(Kind::String) ? std::string_view(value->text) : std::string_view();
}

bool hasRole(const JsonValue& message, std::string_view role)
{
    return stringMember(message, "role") == role;
}

// The calls of one assistant message by their ids; of a repeated id the first counts.
class CallPositions {
public:
    explicit CallPositions(const JsonValue& assistant)
    {
        const JsonValue* calls = assistant.find("tool_calls");
        if (calls == nullptr)
            return;
        for (std::size_t i = 0; i < calls->items.size(); ++i) {
            m_names.push_back(toolCallName(calls->items[i]));
            if (const std::string_view id = stringMember(calls->items[i], "id"); !id.empty())
                m_positions.emplace(id, i);
        }
    }
    CallPositions() = default;

    [[nodiscard]] std::optional<std::size_t> find(const JsonValue& result) const
    {
        std::string_view id = stringMember(result, "tool_call_id");
        if (id.empty())
            id = stringMember(result, "id");
        const auto found = m_positions.find(id);
        return found != m_positions.end() ? std::optional(found->second) : std::nullopt;
    }
    [[nodiscard]] std::string_view name(std::size_t position) const { return m_names[position]; }

private:
    std::vector<std::string_view> m_names;
    std::map<std::string_view, std::size_t> m_positions;
};

} // namespace

std::string_view toolCallName(const JsonValue& call)
{
    return stringMember(functionOf(call), "name");
}

Status appendToolCalls(
    SegmentList& segments, const JsonValue& calls, const std::string& place, const MediaSource& media)
{
    if (!calls.is(Kind::Array))
        return requestError(place, "must be an array");
    if (calls.items.empty())
        return {};
    segments.open("tools");
    for (std::size_t i = 0; i < calls.items.size(); ++i) {
        const JsonValue& call = calls.items[i];
        const std::string callPlace = placeOf(place, i);
        const std::string_view name = toolCallName(call);
        if (name.empty())
            return requestError(callPlace, "has no function name");
        segments.open("call", {{"tool", name}, {"index", std::to_string(i + 1)}});
        if (const JsonValue* arguments = functionOf(call).find("arguments")) {
            const std::string argumentsPlace = callPlace + ".function.arguments";
            if (arguments->is(Kind::String))
                WASTE_TRY_STATUS(appendArgumentText(segments, arguments->text, argumentsPlace, media));
            else if (arguments->is(Kind::Object))
                WASTE_TRY_STATUS(appendArguments(segments, *arguments, media));
            else
                return requestError(argumentsPlace, "tool call arguments must be a JSON object");
        }
        segments.close("call");
    }
    segments.close("tools");
    return {};
}

std::vector<OrderedMessage> orderMessages(const std::vector<JsonValue>& messages)
{
    std::vector<OrderedMessage> ordered;
    ordered.reserve(messages.size());
    CallPositions calls;
    for (std::size_t first = 0; first < messages.size();) {
        if (!hasRole(messages[first], "tool")) {
            if (hasRole(messages[first], "assistant"))
                calls = CallPositions(messages[first]);
            ordered.push_back({&messages[first], first, std::nullopt});
            ++first;
            continue;
        }
        struct Answer {
            std::size_t position;
            OrderedMessage message;
        };
        std::vector<Answer> run;
        bool allFound = true;
        std::size_t i = first;
        for (; i < messages.size() && hasRole(messages[i], "tool"); ++i) {
            const auto position = calls.find(messages[i]);
            allFound = allFound && position.has_value();
            run.push_back({position.value_or(0), {&messages[i], i, std::nullopt}});
        }
        if (allFound) {
            const auto earlier = [](const Answer& a, const Answer& b) { return a.position < b.position; };
            std::stable_sort(run.begin(), run.end(), earlier);
            for (Answer& answer : run)
                answer.message.tool = calls.name(answer.position);
        }
        for (const Answer& answer : run)
            ordered.push_back(answer.message);
        first = i;
    }
    return ordered;
}

} // namespace waste
