#include "prompt/k3_format.h"

#include "prompt/blanks.h"
#include "prompt/k3_notes.h"
#include "prompt/prompt_error.h"
#include "prompt/segment_list.h"
#include "prompt/tool_calls.h"

namespace waste {

namespace {

using Kind = JsonValue::Kind;
using Attributes = std::vector<SegmentList::Attribute>;

// A member that must be a string if it is there; empty otherwise.
Result<std::string_view> optionalString(const JsonValue& object, const char* key, const std::string& place)
{
    const JsonValue* value = object.find(key);
    if (value == nullptr)
        return std::string_view();
    if (!value->is(Kind::String))
        return requestError(place + '.' + key, "must be a string");
    return std::string_view(value->text);
}

class Renderer {
public:
    explicit Renderer(const K3Input& input)
        : m_input(input)
    {
    }
    Result<Prompt> render();

private:
    Status appendHead();
    Status appendMessage(const OrderedMessage& ordered);
    Status appendSpoken(const JsonValue& message, const std::string& role, const std::string& place);
    Status appendAssistant(const JsonValue& message, const std::string& place);
    Status appendToolResult(const OrderedMessage& ordered, const std::string& place);
    Result<std::string_view> toolNameOf(const OrderedMessage& ordered, const std::string& place) const;
    Status appendNotes();
    void appendNote(std::string_view type, std::string_view body);
    void openGenerationPrompt();

    const K3Input& m_input;
    SegmentList m_segments;
    const JsonValue* m_lastCalls = nullptr; // of the last assistant message
    std::size_t m_resultCount = 0; // tool results since then
};

Result<Prompt> Renderer::render()
{
    Prompt prompt;
    WASTE_TRY_STATUS(appendHead());
    prompt.messageEnds.push_back(m_segments.size());
    for (const OrderedMessage& ordered : orderMessages(m_input.messages)) {
        WASTE_TRY_STATUS(appendMessage(ordered));
        prompt.messageEnds.push_back(m_segments.size());
    }
    WASTE_TRY_STATUS(appendNotes());
    if (m_input.addGenerationPrompt)
        openGenerationPrompt();

    prompt.segments = m_segments.take();
    prompt.thinking = m_input.thinking;
    if (m_input.thinking)
        prompt.effort = m_input.effort.value_or("");
    prompt.startChannel = m_input.thinking ? ReplyChannel::Think : ReplyChannel::Response;
    return prompt;
}

Status Renderer::appendHead()
{
    if (m_input.tools != nullptr && !m_input.tools->items.empty())
        appendNote("tool-declare", k3::toolDeclaration(*m_input.tools));
    if (m_input.thinking && m_input.effort) {
        WASTE_TRY(const std::string note, k3::effortNote(*m_input.effort));
        appendNote("thinking-effort", note);
    }
    return {};
}

Status Renderer::appendMessage(const OrderedMessage& ordered)
{
    const JsonValue& message = *ordered.message;
    const std::string place = placeOf("messages", ordered.index);
    if (!message.is(Kind::Object))
        return requestError(place, "must be an object");
    WASTE_TRY(const std::string_view role, optionalString(message, "role", place));
    if (role == "assistant")
        return appendAssistant(message, place);
    if (role == "tool")
        return appendToolResult(ordered, place);
    if (role == "user")
        return appendSpoken(message, "user", place);
    if (role != "system" && role != "developer")
        return requestError(place + ".role", "must be system, developer, user, assistant or tool");
    if (const JsonValue* tools = message.find("tools"); tools != nullptr) {
        if (!tools->is(Kind::Array))
            return requestError(place + ".tools", "must be an array");
        if (!tools->items.empty()) {
            appendNote("tool-declare", k3::laterToolDeclaration(*tools));
            return {};
        }
    }
    return appendSpoken(message, "system", place);
}

Status Renderer::appendSpoken(const JsonValue& message, const std::string& role, const std::string& place)
{
    WASTE_TRY(const std::string_view name, optionalString(message, "name", place));
    Attributes attributes{{"role", role}};
    if (!name.empty())
        attributes.push_back({"name", name});
    m_segments.open("message", attributes);
    WASTE_TRY_STATUS(appendContent(m_segments, message.find("content"), place + ".content", m_input.media));
    m_segments.close("message");
    m_segments.endOfMessage();
    return {};
}

// The think element is there whenever thinking is on, also without reasoning; the response element always.
Status Renderer::appendAssistant(const JsonValue& message, const std::string& place)
{
    WASTE_TRY(const std::string_view name, optionalString(message, "name", place));
    Attributes attributes{{"role", "assistant"}};
    if (!name.empty())
        attributes.push_back({"name", name});
    m_segments.open("message", attributes);

    if (m_input.thinking) {
        WASTE_TRY(std::string_view reasoning, optionalString(message, "reasoning_content", place));
        WASTE_TRY(const std::string_view alias, optionalString(message, "reasoning", place));
        if (reasoning.empty())
            reasoning = alias;
        m_segments.open("think");
        if (!trimBlanks(reasoning).empty())
            WASTE_TRY_STATUS(appendText(m_segments, reasoning, m_input.media));
        m_segments.close("think");
    }
    m_segments.open("response");
    WASTE_TRY_STATUS(appendContent(m_segments, message.find("content"), place + ".content", m_input.media));
    m_segments.close("response");

    m_lastCalls = message.find("tool_calls");
    m_resultCount = 0;
    if (m_lastCalls != nullptr)
        WASTE_TRY_STATUS(appendToolCalls(m_segments, *m_lastCalls, place + ".tool_calls", m_input.media));
    m_segments.close("message");
    m_segments.endOfMessage();
    return {};
}

Status Renderer::appendToolResult(const OrderedMessage& ordered, const std::string& place)
{
    ++m_resultCount;
    WASTE_TRY(const std::string_view name, toolNameOf(ordered, place));
    const std::string index = std::to_string(m_resultCount);
    m_segments.open("message", {{"role", "tool"}, {"tool", name}, {"index", index}});
    WASTE_TRY_STATUS(appendContent(m_segments, ordered.message->find("content"), place + ".content", m_input.media));
    m_segments.close("message");
    m_segments.endOfMessage();
    return {};
}

Result<std::string_view> Renderer::toolNameOf(const OrderedMessage& ordered, const std::string& place) const
{
    if (ordered.tool && !ordered.tool->empty())
        return *ordered.tool;
    for (const char* key : {"tool", "name"}) {
        WASTE_TRY(const std::string_view name, optionalString(*ordered.message, key, place));
        if (!name.empty())
            return name;
    }
    if (m_lastCalls != nullptr && m_resultCount <= m_lastCalls->items.size())
        return toolCallName(m_lastCalls->items[m_resultCount - 1]);
    return requestError(place, "the result cannot be matched with a tool call");
}

// They describe this request only, so they stand behind the conversation.
Status Renderer::appendNotes()
{
    if (m_input.namedTool) {
        m_segments.open("message", {{"role", "system"}});
        m_segments.plain(k3::namedToolNote(*m_input.namedTool));
        m_segments.close("message");
        m_segments.endOfMessage();
    }
    if (m_input.toolChoice) {
        WASTE_TRY(const std::string note, k3::toolChoiceNote(*m_input.toolChoice));
        if (!note.empty())
            appendNote("tool-choice", note);
    }
    if (m_input.responseFormat != nullptr) {
        WASTE_TRY(const std::string note, k3::responseFormatNote(*m_input.responseFormat));
        if (!note.empty())
            appendNote("response-format", note);
    }
    return {};
}

void Renderer::appendNote(std::string_view type, std::string_view body)
{
    m_segments.open("message", {{"role", "system"}, {"type", type}});
    m_segments.plain(body);
    m_segments.close("message");
    m_segments.endOfMessage();
}

void Renderer::openGenerationPrompt()
{
    m_segments.open("message", {{"role", "assistant"}});
    m_segments.open(m_input.thinking ? "think" : "response");
}

} // namespace

Result<Prompt> renderK3(const K3Input& input)
{
    return Renderer(input).render();
}

} // namespace waste
