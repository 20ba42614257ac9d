#include "tokens/unicode_classes.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

namespace waste {

namespace {

constexpr char32_t kCodePointCount = 0x110000;

// CJK extension I came with Unicode 15.1; the model was trained with tables that know it.
constexpr bool isNewerHan(char32_t codePoint)
{
    return codePoint >= 0x2EBF0 && codePoint <= 0x2EE5D;
}

std::uint8_t caseBits(std::uint32_t category)
{
    using namespace character;
    if ((category & (U_GC_LM_MASK | U_GC_LO_MASK | U_GC_M_MASK)) != 0)
        return kUpper | kLower;
    if ((category & (U_GC_LU_MASK | U_GC_LT_MASK)) != 0)
        return kUpper;
    return (category & U_GC_LL_MASK) != 0 ? kLower : std::uint8_t{0};
}

std::uint8_t classify(char32_t codePoint)
{
    using namespace character;
    const auto character = static_cast<UChar32>(codePoint);
    if (isNewerHan(codePoint))
        return kHan | kLetter;

    const std::uint32_t category = U_GET_GC_MASK(character);
    std::uint8_t bits = 0;
    if ((category & U_GC_L_MASK) != 0)
        bits |= kLetter;
    if ((category & U_GC_N_MASK) != 0)
        bits |= kNumber;
    if (u_isUWhiteSpace(character))
        bits |= kSpace;
    if (bits == 0)
        bits |= kPunctuation;
    if (codePoint == '\r' || codePoint == '\n')
        bits |= kNewline;

    UErrorCode status = U_ZERO_ERROR;
    if (uscript_getScript(character, &status) == USCRIPT_HAN)
        return bits | kHan;
    return bits | caseBits(category);
}

} // namespace

const UnicodeClasses& UnicodeClasses::instance()
{
    static const UnicodeClasses table;
    return table;
}

UnicodeClasses::UnicodeClasses()
    : m_bits(kCodePointCount)
{
    for (char32_t codePoint = 0; codePoint < kCodePointCount; ++codePoint)
        m_bits[codePoint] = classify(codePoint);
}

bool isBlank(char32_t codePoint)
{
    if (codePoint >= 0x1C && codePoint <= 0x1F)
        return true;
    return (UnicodeClasses::instance()[codePoint] & character::kSpace) != 0;
}

} // namespace waste
