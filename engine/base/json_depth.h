#pragma once

#include <cstddef>
#include <string_view>

namespace waste {

// Whether JSON text opens more than `levelsMax` brackets inside each other, counted before a parser sees
// the text. Ill-formed text is the parser's business.
bool isNestedDeeperThan(std::string_view json, std::size_t levelsMax);

} // namespace waste
