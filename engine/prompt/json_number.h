#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace waste {

// How a number that has a fraction or an exponent is written: shortest digits that read back the same,
// fixed notation from 1e-4 up to 1e16, at least one decimal; NaN, Infinity and -Infinity as words.
std::string jsonNumber(double value);

// The length of the JSON number that `text` begins with; 0 if it does not begin with one.
std::size_t jsonNumberLength(std::string_view text);

// The written form of a JSON number as it stands in a text. Integers keep their digits. Empty if it is
// beyond the range of a double and `infinityAllowed` is false.
std::optional<std::string> canonicalJsonNumber(std::string_view number, bool infinityAllowed);

} // namespace waste
