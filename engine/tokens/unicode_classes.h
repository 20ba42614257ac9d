#pragma once

#include <cstdint>
#include <vector>

namespace waste {

// The properties of a code point that the pre-tokeniser asks for (spec: tokenizer 5.1), as bits.
namespace character {
inline constexpr std::uint8_t kHan = 1; // Script = Han, not Script_Extensions
inline constexpr std::uint8_t kUpper = 2; // Lu Lt Lm Lo M, not Han: what may stand in the head of a word
inline constexpr std::uint8_t kLower = 4; // Ll Lm Lo M, not Han: what may end a word
inline constexpr std::uint8_t kLetter = 8;
inline constexpr std::uint8_t kNumber = 16;
inline constexpr std::uint8_t kSpace = 32; // White_Space
inline constexpr std::uint8_t kNewline = 64; // CR and LF, which are kSpace too
inline constexpr std::uint8_t kPunctuation = 128; // neither letter nor number nor space: also marks and unassigned
} // namespace character

// The table of these bits over all of Unicode, filled once from ICU. Immutable, any thread.
class UnicodeClasses {
public:
    static const UnicodeClasses& instance();

    [[nodiscard]] std::uint8_t operator[](char32_t codePoint) const { return m_bits[codePoint]; }

private:
    UnicodeClasses();
    std::vector<std::uint8_t> m_bits; // [0x110000]
};

// What the release's tokeniser and its renderer call whitespace: White_Space and U+001C to U+001F.
[[nodiscard]] bool isBlank(char32_t codePoint);

} // namespace waste
