#pragma once

#include "prompt/json_text.h"
#include "waste/result.h"

#include <string>
#include <string_view>

namespace waste::k3 {

// The texts of the synthetic system messages (spec: chat 4). They are data the model was trained on.

std::string toolDeclaration(const JsonValue& tools);
std::string laterToolDeclaration(const JsonValue& tools);

// Errors: InvalidArgument for every value but low, high and max; medium is named in the text and must
// never be rendered.
Result<std::string> effortNote(std::string_view effort);

// Empty: no note. Errors: InvalidArgument.
Result<std::string> toolChoiceNote(std::string_view choice);
Result<std::string> responseFormatNote(const JsonValue& format);

std::string namedToolNote(std::string_view name);

} // namespace waste::k3
