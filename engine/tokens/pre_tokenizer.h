#pragma once

#include "tokens/unicode_classes.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace waste {

// Cuts text into the pieces that byte pairs are merged in (spec: tokenizer 5): the release's regular
// expression as a scan without backtracking. Linear: no character is looked at more than a few times.
//
// Any bytes: one that is no part of a well-formed character counts as punctuation.
class PreTokenizer {
public:
    explicit PreTokenizer(std::string_view text);

    // The next piece, never empty; empty optional at the end. All pieces concatenated are the text.
    std::optional<std::string_view> next();

private:
    struct Character {
        std::uint8_t bits; // 0 at the end of the text
        std::uint8_t length;
    };
    // Where a word that starts at one place may end; 0: nowhere.
    struct WordEnds {
        std::size_t withLower = 0;
        std::size_t withoutLower = 0;
    };

    [[nodiscard]] Character at(std::size_t offset) const;
    [[nodiscard]] std::size_t runEnd(std::size_t offset, std::uint8_t bits) const;
    [[nodiscard]] std::size_t pieceEnd(std::size_t start) const;
    [[nodiscard]] std::size_t wordEnd(std::size_t start) const;
    [[nodiscard]] WordEnds wordEndsFrom(std::size_t start) const;
    [[nodiscard]] std::size_t contractionEnd(std::size_t offset) const;
    [[nodiscard]] std::size_t digitsEnd(std::size_t start) const;
    [[nodiscard]] std::size_t punctuationEnd(std::size_t start) const;
    [[nodiscard]] std::size_t spaceEnd(std::size_t start) const;

    const UnicodeClasses& m_classes;
    const std::string_view m_text;
    std::size_t m_offset = 0;
};

} // namespace waste
