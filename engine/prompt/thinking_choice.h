#pragma once

#include "prompt/json_text.h"
#include "waste/chat_format.h"
#include "waste/result.h"

#include <optional>
#include <string>

namespace waste {

struct ThinkingChoice {
    bool thinking = true;
    std::optional<std::string> effort; // low, high, max; none: no note
};

// What a request says about thinking, under all the names that clients use for it, and the defaults where
// it says nothing (spec: server 3.4). Errors: InvalidArgument.
Result<ThinkingChoice> chooseThinking(const JsonValue& request, const RenderOptions& defaults);

} // namespace waste
