#pragma once

#include <string>
#include <string_view>

namespace waste {

// An argument that the model wrote as text with a declared type, as spaced JSON (spec: chat 6.4). What does
// not fit its type becomes a string; the result is always valid JSON.
std::string typedValueJson(std::string_view type, std::string_view text);

} // namespace waste
