#pragma once

#include "host/conversation.h"
#include "host/engine_events.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace waste::host {

// The branch that ends with `lastMessageId`, as messages of a chat request (JSON): what the model reads.
// Answers without any text are left out, and pictures where there is no folder.
struct ChatTurns {
    std::vector<std::string> messages;
    std::vector<AttachedPicture> pictures; // which the image parts of the messages name by their place here
};
ChatTurns chatTurns(
    const Conversation& conversation, std::string_view lastMessageId, const std::filesystem::path& attachmentsFolder);

// One more question behind them, its pictures in front of its words.
void addQuestion(ChatTurns& turns, std::string_view question, const std::vector<AttachedPicture>& pictures);

// A journal or a draft may say anything; nothing but such a name is ever used as one of a file.
bool isAttachmentName(std::string_view text);

// An answer as an assistant message; empty if it has no text yet.
std::string assistantMessage(const Message& message);

// The first words of a question, on one line, cut at a word (spec: desktop 3.1, no hidden model calls).
std::string titleFrom(std::string_view question);

} // namespace waste::host
