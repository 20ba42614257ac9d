#include "tokens/pre_tokenizer.h"

#include "base/utf8.h"

namespace waste {

using namespace character;

PreTokenizer::PreTokenizer(std::string_view text)
    : m_classes(UnicodeClasses::instance())
    , m_text(text)
{
}

std::optional<std::string_view> PreTokenizer::next()
{
    if (m_offset >= m_text.size())
        return std::nullopt;
    const std::size_t start = m_offset;
    m_offset = pieceEnd(start);
    return m_text.substr(start, m_offset - start);
}

// The alternatives of the pattern in their order; the first that matches wins.
std::size_t PreTokenizer::pieceEnd(std::size_t start) const
{
    const Character first = at(start);
    if ((first.bits & kHan) != 0)
        return runEnd(start, kHan);
    if (const std::size_t end = wordEnd(start))
        return end;
    if ((first.bits & kNumber) != 0)
        return digitsEnd(start);
    if (const std::size_t end = punctuationEnd(start))
        return end;
    return spaceEnd(start);
}

// A word may swallow one leading character, as in " word" or "(word". The four attempts stand in the order
// in which the pattern makes them.
std::size_t PreTokenizer::wordEnd(std::size_t start) const
{
    const Character first = at(start);
    WordEnds prefixed;
    if ((first.bits & (kNewline | kLetter | kNumber)) == 0)
        prefixed = wordEndsFrom(start + first.length);
    const WordEnds bare = wordEndsFrom(start);
    for (const std::size_t end : {prefixed.withLower, bare.withLower, prefixed.withoutLower, bare.withoutLower}) {
        if (end != 0)
            return contractionEnd(end);
    }
    return 0;
}

// [upper]*[lower]+ and [upper]+[lower]*. Modifier letters, letters without case and marks are in both
// sets. When no lower character follows the upper run, the expression gives back characters of the run
// until it stands before one that is in both sets, which is then the last of the word.
PreTokenizer::WordEnds PreTokenizer::wordEndsFrom(std::size_t start) const
{
    std::size_t offset = start;
    std::size_t lastInBothEnd = 0;
    Character character = at(offset);
    while ((character.bits & kUpper) != 0) {
        offset += character.length;
        if ((character.bits & kLower) != 0)
            lastInBothEnd = offset;
        character = at(offset);
    }
    const std::size_t withoutLower = offset > start ? offset : 0;
    if ((character.bits & kLower) != 0)
        return {runEnd(offset, kLower), withoutLower};
    return {lastInBothEnd, withoutLower};
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)? where ſ (U+017F) is an s in another case.
std::size_t PreTokenizer::contractionEnd(std::size_t offset) const
{
    const std::string_view rest = m_text.substr(offset, 3);
    if (rest.size() < 2 || rest[0] != '\'')
        return offset;
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    const char first = lower(rest[1]);
    if (first == 's' || first == 't' || first == 'm' || first == 'd')
        return offset + 2;
    if (rest.size() < 3)
        return offset;
    const char second = lower(rest[2]);
    const bool twoLetters = (first == 'r' && second == 'e') || (first == 'v' && second == 'e')
        || (first == 'l' && second == 'l') || (rest[1] == '\xC5' && rest[2] == '\xBF');
    return twoLetters ? offset + 3 : offset;
}

std::size_t PreTokenizer::digitsEnd(std::size_t start) const
{
    std::size_t offset = start;
    for (int count = 0; count < 3; ++count) {
        const Character character = at(offset);
        if ((character.bits & kNumber) == 0)
            break;
        offset += character.length;
    }
    return offset;
}

// " ?[^\s\p{L}\p{N}]+[\r\n]*"; 0 if it does not match.
std::size_t PreTokenizer::punctuationEnd(std::size_t start) const
{
    const std::size_t first = m_text[start] == ' ' ? start + 1 : start;
    const std::size_t end = runEnd(first, kPunctuation);
    return end > first ? runEnd(end, kNewline) : 0;
}

// Whitespace up to its last line end; else all of it at the end of the text; else all but the last
// character, which belongs to the word that follows; else that one character.
std::size_t PreTokenizer::spaceEnd(std::size_t start) const
{
    std::size_t offset = start;
    std::size_t lastStart = start;
    std::size_t newlineEnd = 0;
    for (Character character = at(offset); (character.bits & kSpace) != 0; character = at(offset)) {
        lastStart = offset;
        offset += character.length;
        if ((character.bits & kNewline) != 0)
            newlineEnd = offset;
    }
    if (newlineEnd != 0)
        return newlineEnd;
    const bool followed = offset < m_text.size();
    return followed && lastStart > start ? lastStart : offset;
}

PreTokenizer::Character PreTokenizer::at(std::size_t offset) const
{
    if (offset >= m_text.size())
        return {0, 0};
    const auto byte = static_cast<std::uint8_t>(m_text[offset]);
    if (byte < 0x80) // most text; saves the call
        return {m_classes[byte], 1};
    const Utf8Step step = utf8StepAt(m_text, offset);
    if (step.kind != Utf8Step::Kind::Character)
        return {kPunctuation, 1};
    return {m_classes[step.codePoint], step.length};
}

std::size_t PreTokenizer::runEnd(std::size_t offset, std::uint8_t bits) const
{
    for (Character character = at(offset); (character.bits & bits) != 0; character = at(offset))
        offset += character.length;
    return offset;
}

} // namespace waste
