#pragma once

#include "prompt/json_text.h"
#include "prompt/message_content.h"
#include "waste/chat_format.h"
#include "waste/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// A conversation format of prefixes and suffixes: chat.json (spec: chat 7). A value.
struct ChatTemplate {
    struct Role {
        std::string prefix;
        std::string suffix;
    };
    Role system;
    Role user;
    Role assistant;
    std::string open; // what starts the model's turn; empty: the assistant's prefix

    // Errors: Corrupt naming `file` and the key.
    static Result<ChatTemplate> parse(std::string_view json, std::string_view file);
    [[nodiscard]] bool isUsable() const; // says how a person or the model speaks
    [[nodiscard]] const std::string& generationPrompt() const { return open.empty() ? assistant.prefix : open; }
};

inline constexpr std::uint64_t kChatTemplateBytesMax = std::uint64_t{64} << 10;

// What ends a reply besides the model's own stop ids: the control token that the assistant's suffix begins
// with, or else the suffix itself.
struct TemplateStop {
    std::optional<TokenId> id;
    std::string text;
};
TemplateStop stopOf(const ChatTemplate& chatTemplate, const Tokenizer& tokenizer);

// Everything in the strings that looks like a control token and is none of this model's.
std::vector<std::string> unknownControlTokens(const ChatTemplate& chatTemplate, const Tokenizer& tokenizer);

// Errors: InvalidArgument with the path of the field; those of the media source.
Result<Prompt> renderTemplate(const ChatTemplate& chatTemplate, const std::vector<JsonValue>& messages,
    const MediaSource& media, bool addGenerationPrompt);

// The messages' texts with a line feed between two of them (spec: chat 8).
Result<Prompt> renderRaw(const std::vector<JsonValue>& messages, const MediaSource& media);

} // namespace waste
