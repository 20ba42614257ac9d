#pragma once

#include <cstddef>
#include <string_view>

namespace waste {

// Whitespace of the release's renderer and reader: White_Space and U+001C to U+001F (spec: tokenizer 6.1).

std::string_view trimBlanks(std::string_view text); // at both ends
std::size_t leadingBlankBytes(std::string_view text);

} // namespace waste
