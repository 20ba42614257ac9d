#include "prompt/json_text.h"
#include "prompt/reply_state.h"

#include <cassert>

namespace waste {

ReplyReader::ReplyReader(std::unique_ptr<State> state)
    : m_state(std::move(state))
{
}

ReplyReader::~ReplyReader() = default;
ReplyReader::ReplyReader(ReplyReader&&) noexcept = default;
ReplyReader& ReplyReader::operator=(ReplyReader&&) noexcept = default;

ReplyDelta ReplyReader::feed(TokenId id)
{
    return m_state->feed(id);
}

ReplyDelta ReplyReader::finish()
{
    return m_state->finish();
}

bool ReplyReader::isOver() const
{
    return m_state->isOver();
}

bool ReplyReader::messageEnded() const
{
    return m_state->messageEnded();
}

bool ReplyReader::stopStringMatched() const
{
    return m_state->stopStringMatched();
}

bool ReplyReader::isReasoning() const
{
    return m_state->elements() && m_state->elements()->isReasoning();
}

const std::string& ReplyReader::reasoning() const
{
    return m_state->reasoning();
}

const std::string& ReplyReader::content() const
{
    return m_state->content();
}

std::size_t ReplyReader::callCount() const
{
    return m_state->elements() ? m_state->elements()->calls().size() : 0;
}

ToolCall ReplyReader::call(std::size_t position) const
{
    assert(position < callCount());
    return m_state->call(position);
}

std::uint32_t ReplyReader::droppedCalls() const
{
    return m_state->elements() ? m_state->elements()->droppedCalls() : 0;
}

bool ReplyReader::answerIsEmpty() const
{
    return m_state->answerIsEmpty();
}

std::string ReplyReader::messageJson() const
{
    std::string json = R"({"role": "assistant", "content": )";
    if (content().empty())
        json += "null";
    else
        appendJsonString(json, content());
    if (!reasoning().empty()) {
        json += R"(, "reasoning_content": )";
        appendJsonString(json, reasoning());
    }
    for (std::size_t i = 0; i < callCount(); ++i) {
        const ToolCall toolCall = call(i);
        json += i == 0 ? R"(, "tool_calls": [{"id": )" : R"(, {"id": )";
        appendJsonString(json, toolCall.id);
        json += R"(, "type": "function", "function": {"name": )";
        appendJsonString(json, toolCall.name);
        json += R"(, "arguments": )";
        appendJsonString(json, toolCall.arguments);
        json += "}}";
    }
    return json + (callCount() > 0 ? "]}" : "}");
}

} // namespace waste
