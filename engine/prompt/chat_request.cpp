#include "prompt/chat_request.h"

#include "prompt/prompt_error.h"

#include <algorithm>

namespace waste {

namespace {

using Kind = JsonValue::Kind;

constexpr std::size_t kMessagesMax = 10'000;
constexpr std::size_t kToolsMax = 1'024;

// The text of a member that must be a string and not be empty; null otherwise.
const std::string* text(const JsonValue& object, const char* key)
{
    const JsonValue* value = object.find(key);
    return value != nullptr && value->is(Kind::String) && !value->text.empty() ? &value->text : nullptr;
}

const std::string* functionName(const JsonValue& object)
{
    const std::string* type = text(object, "type");
    const JsonValue* function = object.find("function");
    return type != nullptr && *type == "function" && function != nullptr ? text(*function, "name") : nullptr;
}

Status checkParts(const JsonValue& message, const std::string& place)
{
    const JsonValue* content = message.find("content");
    if (content == nullptr)
        return {};
    for (std::size_t i = 0; i < content->items.size(); ++i) {
        if (text(content->items[i], "type") == nullptr)
            return requestError(placeOf(place + ".content", i), "must be an object with a type");
    }
    return {};
}

} // namespace

Result<ChatRequest> ChatRequest::parse(std::string_view json)
{
    auto parsed = parseJson(json);
    if (!parsed)
        return requestError("request", parsed.error().message);
    ChatRequest request;
    if (parsed->is(Kind::Object)) {
        request.m_root = std::move(*parsed);
    } else if (parsed->is(Kind::Array)) {
        request.m_root.kind = Kind::Object;
        request.m_root.members.push_back({"messages", std::move(*parsed)});
    } else {
        return requestError("request", "must be an object or an array of messages");
    }
    for (const char* old : {"functions", "function_call"}) {
        if (request.m_root.find(old) != nullptr)
            return requestError(old, "is not supported; use tools");
    }
    WASTE_TRY_STATUS(request.checkMessages());
    if (const JsonValue* tools = request.tools())
        WASTE_TRY_STATUS(request.addTools(*tools, "tools"));
    WASTE_TRY_STATUS(request.readToolChoice());
    return request;
}

Status ChatRequest::checkMessages()
{
    const JsonValue* messages = m_root.find("messages");
    if (messages == nullptr || !messages->is(Kind::Array) || messages->items.empty())
        return requestError("messages", "must be an array that is not empty");
    if (messages->items.size() > kMessagesMax)
        return requestError("messages", "must not be more than 10000");
    for (std::size_t i = 0; i < messages->items.size(); ++i) {
        const JsonValue& message = messages->items[i];
        const std::string place = placeOf("messages", i);
        if (!message.is(Kind::Object))
            return requestError(place, "must be an object");
        const std::string* role = text(message, "role");
        if (message.find("tool_calls") != nullptr && (role == nullptr || *role != "assistant"))
            return requestError(place + ".tool_calls", "may stand in assistant messages only");
        WASTE_TRY_STATUS(checkParts(message, place));
        if (const JsonValue* tools = message.find("tools"))
            WASTE_TRY_STATUS(addTools(*tools, place + ".tools"));
    }
    return {};
}

Status ChatRequest::addTools(const JsonValue& tools, const std::string& place)
{
    if (!tools.is(Kind::Array))
        return requestError(place, "must be an array");
    if (tools.items.size() > kToolsMax)
        return requestError(place, "must not be more than 1024");
    for (std::size_t i = 0; i < tools.items.size(); ++i) {
        const std::string* name = functionName(tools.items[i]);
        if (name == nullptr)
            return requestError(placeOf(place, i), "must be an object with type function and a function with a name");
        m_declaredTools.push_back(*name);
    }
    return {};
}

Status ChatRequest::readToolChoice()
{
    const JsonValue* choice = m_root.find("tool_choice");
    if (choice == nullptr)
        return {};
    if (choice->is(Kind::String)) {
        m_toolChoice = choice->text;
        return {};
    }
    const std::string* name = functionName(*choice);
    if (name == nullptr)
        return requestError("tool_choice", "must be auto, none, required or the name of a function");
    if (std::ranges::find(m_declaredTools, *name) == m_declaredTools.end())
        return requestError("tool_choice", "names a tool that the request does not declare: " + *name);
    m_toolChoice = "required";
    m_namedTool = *name;
    return {};
}

} // namespace waste
