#include "waste/chat_format.h"

#include "platform/path_text.h"
#include "platform/small_file.h"
#include "prompt/chat_request.h"
#include "prompt/k3_format.h"
#include "prompt/prompt_error.h"
#include "prompt/renderer_input.h"
#include "prompt/reply_closing.h"
#include "prompt/reply_json.h"
#include "prompt/reply_state.h"
#include "prompt/template_format.h"
#include "prompt/template_presets.h"
#include "prompt/thinking_choice.h"

#include <algorithm>

namespace waste {

struct ChatFormat::Data {
    Kind kind = Kind::Raw;
    ChatTemplate chatTemplate; // Template
    ReplyRules replies;
    std::vector<std::string> warnings;
};

namespace {

// chat.json, or else a preset that fits; empty: neither.
Result<std::optional<ChatTemplate>> findTemplate(const std::filesystem::path& directory, const Tokenizer& tokenizer)
{
    const std::filesystem::path file = directory / "chat.json";
    auto content = readSmallFile(file, kChatTemplateBytesMax);
    if (!content && content.error().code != ErrorCode::NotFound)
        return std::move(content.error());
    if (content) {
        WASTE_TRY(auto own, ChatTemplate::parse(*content, textFromPath(file)));
        if (own.isUsable())
            return std::optional(std::move(own));
    }
    if (const TemplatePreset* preset = presetForTokenizer(tokenizer)) {
        WASTE_TRY(auto known, ChatTemplate::parse(preset->json, preset->name));
        return std::optional(std::move(known));
    }
    return std::optional<ChatTemplate>();
}

// Only the K3 format has a place for these.
Status refuseNativeFeatures(const ChatRequest& request)
{
    const std::string reason = "this model's conversation format has no ";
    if (!request.declaredTools().empty())
        return unsupportedFeature("tools", reason + "tools");
    if (request.toolChoice() && *request.toolChoice() == "required")
        return unsupportedFeature("tool_choice", reason + "tools");
    if (const JsonValue* format = request.responseFormat()) {
        const JsonValue* type = format->find("type");
        if (type == nullptr || type->text != "text")
            return unsupportedFeature("response_format", reason + "response formats");
    }
    return {};
}

Result<Prompt> renderNative(const ChatRequest& request, const RenderOptions& options, const MediaSource& media)
{
    WASTE_TRY(auto choice, chooseThinking(request.root(), options));
    WASTE_TRY(auto prompt,
        renderK3({.messages = request.messages(),
            .tools = request.tools(),
            .thinking = choice.thinking,
            .effort = std::move(choice.effort),
            .toolChoice = request.toolChoice(),
            .responseFormat = request.responseFormat(),
            .namedTool = request.namedTool(),
            .addGenerationPrompt = options.addGenerationPrompt,
            .media = media}));
    prompt.declaredTools = request.declaredTools();
    return prompt;
}

} // namespace

Result<std::shared_ptr<const ChatFormat>> ChatFormat::open(
    const std::filesystem::path& modelDirectory, std::shared_ptr<const Tokenizer> tokenizer, Choice choice)
{
    auto data = std::make_unique<Data>();
    data->replies.stopIds.assign(tokenizer->stopIds().begin(), tokenizer->stopIds().end());
    const auto addStopId = [&](TokenId id) {
        if (std::ranges::find(data->replies.stopIds, id) == data->replies.stopIds.end())
            data->replies.stopIds.push_back(id);
    };
    const auto markers = K3Markers::of(*tokenizer);
    if (choice == Choice::Automatic && markers) {
        data->kind = Kind::Xtml;
        data->replies.markers = markers;
        addStopId(markers->end);
    } else if (choice != Choice::Raw) {
        WASTE_TRY(auto found, findTemplate(modelDirectory, *tokenizer));
        if (found) {
            data->kind = Kind::Template;
            data->chatTemplate = std::move(*found);
            TemplateStop stop = stopOf(data->chatTemplate, *tokenizer);
            if (stop.id)
                addStopId(*stop.id);
            data->replies.stopText = std::move(stop.text);
            for (const std::string& token : unknownControlTokens(data->chatTemplate, *tokenizer))
                data->warnings.push_back("the conversation template uses " + token
                    + ", which is no control token of this model; the model reads it as prose");
        } else if (choice == Choice::Template) {
            return Error{ErrorCode::NotFound, "no_template",
                textFromPath(modelDirectory) + " has no usable chat.json, and no known template fits its tokens"};
        } else {
            data->warnings.emplace_back("this model has no known conversation format; it gets the bare text");
        }
    }
    data->replies.tokenizer = std::move(tokenizer);
    return std::shared_ptr<const ChatFormat>(new ChatFormat(std::move(data)));
}

ChatFormat::ChatFormat(std::unique_ptr<const Data> data)
    : m_data(std::move(data))
{
}

ChatFormat::~ChatFormat() = default;

ChatFormat::Kind ChatFormat::kind() const
{
    return m_data->kind;
}

std::string_view ChatFormat::name() const
{
    switch (m_data->kind) {
    case Kind::Xtml:
        return "xtml";
    case Kind::Template:
        return "template";
    case Kind::Raw:
        break;
    }
    return "raw";
}

const Tokenizer& ChatFormat::tokenizer() const
{
    return *m_data->replies.tokenizer;
}

std::span<const std::string> ChatFormat::warnings() const
{
    return m_data->warnings;
}

std::span<const TokenId> ChatFormat::stopIds() const
{
    return m_data->replies.stopIds;
}

Result<Prompt> ChatFormat::render(std::string_view requestJson, const RenderOptions& options) const
{
    WASTE_TRY(const auto request, ChatRequest::parse(requestJson));
    const MediaSource media = resolvedMedia(options.image);
    if (m_data->kind == Kind::Xtml)
        return renderNative(request, options, media);
    WASTE_TRY_STATUS(refuseNativeFeatures(request));
    if (m_data->kind == Kind::Template)
        return renderTemplate(m_data->chatTemplate, request.messages(), media, options.addGenerationPrompt);
    return renderRaw(request.messages(), media);
}

Result<Prompt> ChatFormat::renderInput(std::string_view inputJson) const
{
    if (m_data->kind != Kind::Xtml)
        return Error{ErrorCode::InvalidArgument, "unsupported_feature", "this model has no renderer of its own"};
    return renderRendererInput(inputJson);
}

ReplyReader ChatFormat::readReply(const ReplyReader::Options& options) const
{
    return ReplyReader(std::make_unique<ReplyReader::State>(m_data->replies, options));
}

Result<std::string> ChatFormat::readReplyJson(std::string_view tokensJson, ReplyChannel start) const
{
    return replyJson(m_data->replies, tokensJson, start);
}

Result<std::optional<std::vector<TokenId>>> ChatFormat::closeReply(
    std::span<const TokenId> sampled, std::string_view messageJson, bool thinking) const
{
    auto parsed = parseJson(messageJson);
    if (!parsed)
        return requestError("message", parsed.error().message);
    const std::vector<JsonValue> message{std::move(*parsed)};
    const MediaSource media = resolvedMedia({});
    const auto renderPart = [&](const std::vector<JsonValue>& messages, bool opensTurn) -> Result<Prompt> {
        if (m_data->kind == Kind::Xtml)
            return renderK3(
                {.messages = messages, .thinking = thinking, .addGenerationPrompt = opensTurn, .media = media});
        if (m_data->kind == Kind::Template)
            return renderTemplate(m_data->chatTemplate, messages, media, opensTurn);
        return renderRaw(messages, media);
    };
    WASTE_TRY(const Prompt turn, renderPart({}, true));
    WASTE_TRY(const Prompt whole, renderPart(message, false));
    // The reply stands behind the generation prompt; the rendered message must begin with the same.
    const std::span segments(whole.segments);
    const auto same = [](const Segment& a, const Segment& b) { return a.kind == b.kind && a.text == b.text; };
    const std::size_t openedCount = turn.segments.size();
    if (segments.size() < openedCount || !std::ranges::equal(turn.segments, segments.first(openedCount), same))
        return std::optional<std::vector<TokenId>>();
    return missingIds(tokenizer(), sampled, segments.subspan(openedCount));
}

} // namespace waste
