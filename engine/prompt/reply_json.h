#pragma once

#include "prompt/reply_state.h"
#include "waste/chat_format.h"
#include "waste/result.h"

#include <string>
#include <string_view>

namespace waste {

// Reads a whole reply that is given as JSON tokens, and tells everything the reader made of it (spec:
// cli B.9, `reply`). Errors: InvalidArgument.
Result<std::string> replyJson(const ReplyRules& rules, std::string_view tokensJson, ReplyChannel start);

} // namespace waste
