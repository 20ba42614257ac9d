#include "base/utf8.h"

#include <cassert>

namespace waste {

namespace {

// What a lead byte promises: how many bytes follow, and the range of the first of them. The range is what
// excludes overlong forms, surrogates and everything above U+10FFFF.
struct Lead {
    std::uint8_t trailCount;
    std::uint8_t firstMin = 0x80;
    std::uint8_t firstMax = 0xBF;
};

constexpr Lead leadOf(std::uint8_t byte)
{
    if (byte >= 0xC2 && byte <= 0xDF)
        return {1};
    if (byte == 0xE0)
        return {2, 0xA0, 0xBF};
    if (byte == 0xED)
        return {2, 0x80, 0x9F};
    if (byte >= 0xE1 && byte <= 0xEF)
        return {2};
    if (byte == 0xF0)
        return {3, 0x90, 0xBF};
    if (byte >= 0xF1 && byte <= 0xF3)
        return {3};
    if (byte == 0xF4)
        return {3, 0x80, 0x8F};
    return {0};
}

} // namespace

Utf8Step utf8StepAt(std::string_view text, std::size_t offset)
{
    assert(offset < text.size());
    const auto first = static_cast<std::uint8_t>(text[offset]);
    if (first < 0x80)
        return {Utf8Step::Kind::Character, 1, first};

    const Lead lead = leadOf(first);
    if (lead.trailCount == 0)
        return {Utf8Step::Kind::IllFormed, 1, 0};
    char32_t codePoint = first & (0x3FU >> lead.trailCount);
    for (std::uint8_t i = 1; i <= lead.trailCount; ++i) {
        if (offset + i >= text.size())
            return {Utf8Step::Kind::Cut, i, 0};
        const auto trail = static_cast<std::uint8_t>(text[offset + i]);
        const std::uint8_t least = i == 1 ? lead.firstMin : 0x80;
        const std::uint8_t most = i == 1 ? lead.firstMax : 0xBF;
        if (trail < least || trail > most)
            return {Utf8Step::Kind::IllFormed, i, 0};
        codePoint = (codePoint << 6) | (trail & 0x3FU);
    }
    return {Utf8Step::Kind::Character, static_cast<std::uint8_t>(lead.trailCount + 1), codePoint};
}

bool isWellFormedUtf8(std::string_view text)
{
    for (std::size_t i = 0; i < text.size();) {
        const Utf8Step step = utf8StepAt(text, i);
        if (step.kind != Utf8Step::Kind::Character)
            return false;
        i += step.length;
    }
    return true;
}

std::size_t appendWellFormed(std::string& target, std::string_view text)
{
    std::size_t copiedEnd = 0; // text before it is in the target
    for (std::size_t i = 0; i < text.size();) {
        const Utf8Step step = utf8StepAt(text, i);
        if (step.kind != Utf8Step::Kind::Character) {
            target.append(text, copiedEnd, i - copiedEnd);
            if (step.kind == Utf8Step::Kind::Cut)
                return text.size() - i;
            target += kReplacementCharacter;
            copiedEnd = i + step.length;
        }
        i += step.length;
    }
    target.append(text, copiedEnd);
    return 0;
}

void appendUtf8(std::string& target, char32_t codePoint)
{
    assert(codePoint <= 0x10FFFF && (codePoint < 0xD800 || codePoint > 0xDFFF));
    const auto push = [&](char32_t byte) { target += static_cast<char>(static_cast<std::uint8_t>(byte)); };
    if (codePoint < 0x80) {
        push(codePoint);
        return;
    }
    if (codePoint < 0x800) {
        push(0xC0 | (codePoint >> 6));
    } else {
        if (codePoint < 0x10000) {
            push(0xE0 | (codePoint >> 12));
        } else {
            push(0xF0 | (codePoint >> 18));
            push(0x80 | ((codePoint >> 12) & 0x3F));
        }
        push(0x80 | ((codePoint >> 6) & 0x3F));
    }
    push(0x80 | (codePoint & 0x3F));
}

} // namespace waste
