#include "host/chat_request.h"

#include "host/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace waste::host {

namespace {

constexpr std::size_t kTitleBytesMax = 60;

// Where the last character of well-formed UTF-8 begins, even if its end is missing.
std::size_t lastCharacter(std::string_view text)
{
    std::size_t place = text.size();
    while (place > 0 && (static_cast<unsigned char>(text[--place]) & 0xC0) == 0x80) { }
    return place;
}

std::string textFrom(const Json& json)
{
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json imagePart(std::size_t place)
{
    return {{"type", "image"}, {"image", {{"path", std::to_string(place)}}}};
}

} // namespace

bool isAttachmentName(std::string_view text)
{
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string assistantMessage(const Message& message)
{
    const std::string content = message.textOf(Block::Type::Text);
    const std::string thinking = message.textOf(Block::Type::Thinking);
    if (content.empty() && thinking.empty())
        return {};
    Json json{{"role", "assistant"}, {"content", content}};
    if (!thinking.empty())
        json["reasoning_content"] = thinking;
    return textFrom(json);
}

ChatTurns chatTurns(
    const Conversation& conversation, std::string_view lastMessageId, const std::filesystem::path& attachmentsFolder)
{
    ChatTurns turns;
    if (!conversation.system.empty())
        turns.messages.push_back(textFrom({{"role", "system"}, {"content", conversation.system}}));
    for (const auto& entry : conversation.branchTo(lastMessageId)) {
        const Message& message = *entry.message;
        if (message.role == Role::Assistant) {
            if (std::string answer = assistantMessage(message); !answer.empty())
                turns.messages.push_back(std::move(answer));
            continue;
        }
        Json parts = Json::array();
        for (const Block& block : message.blocks) {
            if (block.type != Block::Type::Image || !isAttachmentName(block.sha256) || attachmentsFolder.empty())
                continue;
            parts.push_back(imagePart(turns.pictures.size()));
            const std::filesystem::path file = attachmentsFolder / block.sha256;
            std::filesystem::path rowsFile = file;
            rowsFile += block.half ? ".half.rows" : ".rows";
            turns.pictures.push_back(
                {block.name, file, block.half ? PictureDetail::Half : PictureDetail::Full, rowsFile});
        }
        const std::string text = message.textOf(Block::Type::Text);
        if (!parts.empty())
            parts.push_back({{"type", "text"}, {"text", text}});
        const Json content = parts.empty() ? Json(text) : std::move(parts);
        turns.messages.push_back(textFrom({{"role", nameOf(message.role)}, {"content", content}}));
    }
    return turns;
}

std::vector<std::string> chatMessages(const Conversation& conversation, std::string_view lastMessageId)
{
    return chatTurns(conversation, lastMessageId, {}).messages;
}

std::string titleFrom(std::string_view question)
{
    std::string title;
    bool cut = false;
    for (const char c : question) {
        const bool space = isControl(c) || c == ' ';
        if (space && (title.empty() || title.back() == ' '))
            continue;
        if (title.size() == kTitleBytesMax) {
            cut = true;
            break;
        }
        title += space ? ' ' : c;
    }
    if (const std::size_t lastSpace = title.rfind(' '); cut && lastSpace != std::string::npos)
        title.resize(lastSpace);
    else if (cut) // one long word, maybe cut inside its last character
        title.resize(std::min(title.size(), lastCharacter(title)));
    while (!title.empty() && title.back() == ' ')
        title.pop_back();
    return cut ? title + "…" : title;
}

} // namespace waste::host
