#pragma once

#include "cli/arguments.h"
#include "cli/output.h"

#include "waste/chat_format.h"
#include "waste/container.h"

#include <memory>
#include <string>

namespace waste::cli {

// How a conversation becomes a prompt (spec: cli B.4): options of `run`, `chat` and `prompt`.
struct ChatFlags {
    bool raw = false;
    bool useTemplate = false;
    bool thinking = true;
    std::string effort = "low";

    [[nodiscard]] RenderOptions renderOptions() const;
};

void declareChatFlags(Arguments& arguments, ChatFlags& flags);

// The format of the model; tells its warnings, and that there is none if it has to be raw.
Result<std::shared_ptr<const ChatFormat>> openChatFormat(
    const Container& container, const ChatFlags& flags, Output& output);

} // namespace waste::cli
