#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace waste {

// One step through text that should be UTF-8 (Unicode 3.9, table 3-7).
struct Utf8Step {
    enum class Kind : std::uint8_t {
        Character, // codePoint is valid
        IllFormed, // a maximal subpart that can never become a character
        Cut, // the text ends inside what may still become one
    };
    Kind kind = Kind::IllFormed;
    std::uint8_t length = 1; // bytes, 1 to 4
    char32_t codePoint = 0;
};

// The step at `offset` < text.size().
Utf8Step utf8StepAt(std::string_view text, std::size_t offset);

bool isWellFormedUtf8(std::string_view text);

// Appends `text` to `target`, each ill-formed part as one U+FFFD. Returns how many bytes at the end were
// left out because a character may be cut there (at most 3).
std::size_t appendWellFormed(std::string& target, std::string_view text);

// The UTF-8 form of a code point that is not a surrogate.
void appendUtf8(std::string& target, char32_t codePoint);

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

} // namespace waste
