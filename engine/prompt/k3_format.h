#pragma once

#include "prompt/json_text.h"
#include "prompt/message_content.h"
#include "waste/chat_format.h"
#include "waste/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// What the K3 encoder takes, without any defaults of a layer above it (spec: chat 2).
struct K3Input {
    const std::vector<JsonValue>& messages;
    const JsonValue* tools = nullptr; // null or an array
    bool thinking = true;
    std::optional<std::string> effort = {}; // none: no note
    std::optional<std::string> toolChoice = {};
    const JsonValue* responseFormat = nullptr;
    std::optional<std::string> namedTool = {}; // asked for by name: said in a message of its own
    bool addGenerationPrompt = true;
    const MediaSource& media;
};

// Renders a conversation in the native format of K3, byte for byte as the release's encoder does.
// Errors: InvalidArgument with the path of the field; those of the media source.
Result<Prompt> renderK3(const K3Input& input);

} // namespace waste
