#pragma once

#include "waste/chat_format.h"
#include "waste/result.h"

#include <string_view>

namespace waste {

// Renders one `input` of the render cases in the native K3 format, without the defaults of a layer above:
// media blocks come as texts, and placeholders inside texts take them too (spec: cli B.9).
// Errors: InvalidArgument.
Result<Prompt> renderRendererInput(std::string_view inputJson);

} // namespace waste
