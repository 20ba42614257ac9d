#include "tokens/outer_cuts.h"

#include "base/utf8.h"
#include "tokens/unicode_classes.h"

namespace waste {

namespace {

constexpr std::size_t kChunkCodePoints = 400'000;
constexpr std::size_t kRunCodePoints = 25'000;

} // namespace

std::optional<std::string_view> OuterCuts::next()
{
    if (m_rest.empty())
        return std::nullopt;
    std::size_t offset = 0;
    std::size_t runCount = 0;
    bool runIsBlank = false;
    while (offset < m_rest.size() && m_chunkCount < kChunkCodePoints) {
        const Utf8Step step = utf8StepAt(m_rest, offset);
        const bool isCharacter = step.kind == Utf8Step::Kind::Character;
        const bool blank = isCharacter && isBlank(step.codePoint);
        if (runCount == kRunCodePoints && blank == runIsBlank)
            break;
        runCount = blank == runIsBlank ? runCount + 1 : 1;
        runIsBlank = blank;
        offset += isCharacter ? step.length : 1;
        ++m_chunkCount;
    }
    if (m_chunkCount == kChunkCodePoints)
        m_chunkCount = 0;
    const std::string_view part = m_rest.substr(0, offset);
    m_rest.remove_prefix(offset);
    return part;
}

} // namespace waste
