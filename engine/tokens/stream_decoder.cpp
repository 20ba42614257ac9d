#include "base/utf8.h"
#include "waste/tokenizer.h"

namespace waste {

StreamDecoder::StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer)
    : m_tokenizer(std::move(tokenizer))
{
}

Result<std::string> StreamDecoder::feed(TokenId id)
{
    WASTE_TRY(const std::string_view piece, m_tokenizer->piece(id));
    std::string text;
    if (m_tokenizer->isSpecial(id))
        text = flush();
    m_pending += piece;
    const std::size_t cutBytes = appendWellFormed(text, m_pending);
    m_pending.erase(0, m_pending.size() - cutBytes);
    return text;
}

std::string StreamDecoder::flush()
{
    std::string text;
    if (!m_pending.empty())
        text = kReplacementCharacter; // the pending bytes are one maximal subpart
    m_pending.clear();
    return text;
}

bool isWellFormedText(std::string_view bytes)
{
    return isWellFormedUtf8(bytes);
}

std::string toWellFormedText(std::string_view bytes)
{
    std::string text;
    if (appendWellFormed(text, bytes) != 0)
        text += kReplacementCharacter;
    return text;
}

} // namespace waste
