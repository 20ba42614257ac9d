#include "cli/chat_flags.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/picture_files.h"
#include "cli/text_input.h"
#include "cli/token_text.h"

#include "waste/chat_format.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace waste::cli {

namespace {

using nlohmann::ordered_json;

ordered_json segmentJson(const Segment& segment)
{
    ordered_json object = {{"text", segment.text}, {"markup", segment.kind != Segment::Kind::Plain}};
    if (segment.kind == Segment::Kind::Image)
        object["image"] = {{"width", segment.imageWidth}, {"height", segment.imageHeight}};
    return object;
}

class PromptCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("prompt MODEL --messages FILE [OPTIONS]",
            "Shows what the model would get to read for a chat request (messages, tools, response_format, ...;\n"
            "or only the array of messages): one segment a line, M markup or P plain, and its text as JSON.");
        declareModel(arguments, m_flags);
        arguments.group("Prompt");
        arguments.value("--messages", "FILE", into(m_messages), "the request (- is standard input)");
        arguments.flag("--ids", m_ids, "only the token ids");
        arguments.flag("--renderer-input", m_rendererInput, "FILE goes to the renderer as it is, without defaults");
        declareChatFlags(arguments, m_chat);
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        if (!m_messages)
            return Error{ErrorCode::InvalidArgument, "", "prompt needs --messages FILE"};
        WASTE_TRY(const auto container, openContainer(m_flags));
        WASTE_TRY(const auto format, openChatFormat(*container, m_chat, context.output));
        WASTE_TRY(const std::string request, readInput(*m_messages));
        PictureFiles pictures(container);
        RenderOptions options = m_chat.renderOptions();
        options.image = pictures.resolver();
        WASTE_TRY(
            const Prompt prompt, m_rendererInput ? format->renderInput(request) : format->render(request, options));
        WASTE_TRY(const auto ids, encodeSegments(format->tokenizer(), prompt.segments, pictures.positionCounts()));
        if (context.output.isJson())
            context.output.json(json(prompt, ids));
        else
            context.output.text(text(prompt, ids));
        return 0;
    }

private:
    static ordered_json json(const Prompt& prompt, const std::vector<TokenId>& ids)
    {
        ordered_json segments = ordered_json::array();
        for (const Segment& segment : prompt.segments)
            segments.push_back(segmentJson(segment));
        return {{"segments", std::move(segments)}, {"ids", ids}};
    }

    [[nodiscard]] std::string text(const Prompt& prompt, const std::vector<TokenId>& ids) const
    {
        std::string text;
        if (m_ids) {
            for (const TokenId id : ids)
                text += (text.empty() ? "" : " ") + std::to_string(id);
            return text + "\n";
        }
        for (const Segment& segment : prompt.segments)
            text += (segment.kind == Segment::Kind::Plain ? "P " : "M ") + jsonString(segment.text) + "\n";
        return text;
    }

    EngineFlags m_flags;
    ChatFlags m_chat;
    std::optional<std::string> m_messages;
    bool m_ids = false;
    bool m_rendererInput = false;
};

} // namespace

std::unique_ptr<Command> makePromptCommand()
{
    return std::make_unique<PromptCommand>();
}

} // namespace waste::cli
