#include "prompt/blanks.h"

#include "base/utf8.h"
#include "tokens/unicode_classes.h"

namespace waste {

namespace {

bool isBlankStep(const Utf8Step& step)
{
    return step.kind == Utf8Step::Kind::Character && isBlank(step.codePoint);
}

} // namespace

std::size_t leadingBlankBytes(std::string_view text)
{
    std::size_t offset = 0;
    while (offset < text.size()) {
        const Utf8Step step = utf8StepAt(text, offset);
        if (!isBlankStep(step))
            break;
        offset += step.length;
    }
    return offset;
}

std::string_view trimBlanks(std::string_view text)
{
    text.remove_prefix(leadingBlankBytes(text));
    while (!text.empty()) {
        std::size_t last = text.size() - 1; // the first byte of the last character
        while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80)
            --last;
        const Utf8Step step = utf8StepAt(text, last);
        if (!isBlankStep(step) || last + step.length != text.size())
            break;
        text.remove_suffix(step.length);
    }
    return text;
}

} // namespace waste
