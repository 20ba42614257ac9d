#include "prompt/renderer_input.h"

#include "prompt/json_text.h"
#include "prompt/k3_format.h"
#include "prompt/prompt_error.h"

#include <optional>
#include <string>

namespace waste {

namespace {

using Kind = JsonValue::Kind;

Result<const JsonValue*> arrayMember(const JsonValue& input, const char* key)
{
    const JsonValue* value = input.find(key);
    if (value != nullptr && !value->is(Kind::Array))
        return requestError(key, "must be an array");
    return value;
}

Result<std::optional<std::string>> stringMember(const JsonValue& input, const char* key)
{
    const JsonValue* value = input.find(key);
    if (value == nullptr)
        return std::optional<std::string>();
    if (!value->is(Kind::String))
        return requestError(key, "must be a string");
    return std::optional(value->text);
}

Result<bool> booleanMember(const JsonValue& input, const char* key)
{
    const JsonValue* value = input.find(key);
    if (value == nullptr)
        return true;
    if (!value->is(Kind::Boolean))
        return requestError(key, "must be true or false");
    return value->boolean;
}

// Hands out the blocks one by one.
class GivenBlocks {
public:
    explicit GivenBlocks(const std::vector<JsonValue>& blocks)
        : m_blocks(blocks)
    {
    }
    Result<Segment> next()
    {
        if (m_used == m_blocks.size())
            return requestError("image_prompts", "has fewer blocks than the conversation has pictures");
        const JsonValue& block = m_blocks[m_used++];
        if (!block.is(Kind::String))
            return requestError("image_prompts", "must be an array of strings");
        return Segment{Segment::Kind::Markup, block.text};
    }
    [[nodiscard]] bool allUsed() const { return m_used == m_blocks.size(); }

private:
    const std::vector<JsonValue>& m_blocks;
    std::size_t m_used = 0;
};

} // namespace

Result<Prompt> renderRendererInput(std::string_view inputJson)
{
    auto parsed = parseJson(inputJson);
    if (!parsed)
        return requestError("input", parsed.error().message);
    const JsonValue& input = *parsed;
    WASTE_TRY(const JsonValue* messages, arrayMember(input, "messages"));
    if (messages == nullptr)
        return requestError("messages", "must be an array");
    WASTE_TRY(const JsonValue* tools, arrayMember(input, "tools"));
    WASTE_TRY(const bool thinking, booleanMember(input, "thinking"));
    WASTE_TRY(const bool addGenerationPrompt, booleanMember(input, "add_generation_prompt"));
    WASTE_TRY(auto effort, stringMember(input, "thinking_effort"));
    WASTE_TRY(auto toolChoice, stringMember(input, "tool_choice"));
    WASTE_TRY(const JsonValue* blocks, arrayMember(input, "image_prompts"));

    // Without a list of blocks pictures are not resolved: a part stays a placeholder, a placeholder text.
    std::optional<GivenBlocks> given;
    MediaSource media;
    media.ofPart = [&](const JsonValue&, const std::string&) -> Result<Segment> {
        return given ? given->next() : Segment{Segment::Kind::Markup, std::string(kImagePlaceholder)};
    };
    if (blocks != nullptr) {
        given.emplace(blocks->items);
        media.ofPlaceholder = [&] { return given->next(); };
    }
    WASTE_TRY(auto prompt,
        renderK3({.messages = messages->items,
            .tools = tools,
            .thinking = thinking,
            .effort = std::move(effort),
            .toolChoice = std::move(toolChoice),
            .responseFormat = input.find("response_format"),
            .namedTool = std::nullopt,
            .addGenerationPrompt = addGenerationPrompt,
            .media = media}));
    if (given && !given->allUsed())
        return requestError("image_prompts", "has more blocks than the conversation has pictures");
    return prompt;
}

} // namespace waste
