#include "host/chat_request.h"

#include "host/json.h"
#include "host/rows_file.h"

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

void addTurn(
    ChatTurns& turns, std::string_view role, std::string_view text, const std::vector<AttachedPicture>& pictures)
{
    Json content = text;
    if (!pictures.empty()) {
        content = Json::array();
        for (const AttachedPicture& picture : pictures) {
            content.push_back({{"type", "image"}, {"image", {{"path", std::to_string(turns.pictures.size())}}}});
            turns.pictures.push_back(picture);
        }
        content.push_back({{"type", "text"}, {"text", text}});
    }
    turns.messages.push_back(textFrom({{"role", role}, {"content", content}}));
}

std::vector<AttachedPicture> picturesOf(const Message& message, const std::filesystem::path& attachmentsFolder)
{
    std::vector<AttachedPicture> pictures;
    for (const Block& block : message.blocks) {
        if (block.type != Block::Type::Image || !isAttachmentName(block.sha256) || attachmentsFolder.empty())
            continue;
        pictures.push_back(
            {block.name, attachmentsFolder / block.sha256, block.half ? PictureDetail::Half : PictureDetail::Full,
                rowsFileOf(attachmentsFolder, block.sha256, block.half)});
    }
    return pictures;
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
        addTurn(turns, nameOf(message.role), message.textOf(Block::Type::Text), picturesOf(message, attachmentsFolder));
    }
    return turns;
}

void addQuestion(ChatTurns& turns, std::string_view question, const std::vector<AttachedPicture>& pictures)
{
    addTurn(turns, nameOf(Role::User), question, pictures);
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
