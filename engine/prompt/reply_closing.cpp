#include "prompt/reply_closing.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace waste {

namespace {

// A control token, or text that is encoded by itself.
struct Atom {
    std::optional<TokenId> control;
    std::string text;
};

// Each plain segment is one atom; markup falls apart at its control tokens.
Result<std::vector<Atom>> atomsOf(const Tokenizer& tokenizer, std::span<const Segment> segments)
{
    std::vector<Atom> atoms;
    for (const Segment& segment : segments) {
        if (segment.kind == Segment::Kind::Plain) {
            atoms.push_back({std::nullopt, segment.text});
            continue;
        }
        std::vector<TokenId> ids;
        WASTE_TRY_STATUS(tokenizer.encodeMarkup(segment.text, ids));
        bool inText = false;
        for (const TokenId id : ids) {
            const bool isControl = tokenizer.isSpecial(id);
            if (isControl || !inText)
                atoms.push_back({isControl ? std::optional(id) : std::nullopt, {}});
            inText = !isControl;
            if (inText)
                atoms.back().text += *tokenizer.piece(id);
        }
    }
    return atoms;
}

// Walks through the atoms along a reply.
class Comparison {
public:
    Comparison(const Tokenizer& tokenizer, std::vector<Atom> atoms)
        : m_tokenizer(tokenizer)
        , m_atoms(std::move(atoms))
    {
    }

    // False: the reply is something else.
    bool advance(TokenId id)
    {
        const auto piece = m_tokenizer.piece(id);
        if (!piece)
            return false;
        if (!m_tokenizer.isSpecial(id))
            return advanceText(*piece);
        const bool isHere = m_atom < m_atoms.size() && m_offset == 0 && m_atoms[m_atom].control == id;
        m_atom += isHere ? 1 : 0;
        return isHere;
    }

    [[nodiscard]] Result<std::vector<TokenId>> rest() const
    {
        std::vector<TokenId> ids;
        for (std::size_t i = m_atom; i < m_atoms.size(); ++i) {
            const std::size_t begin = i == m_atom ? m_offset : 0;
            if (m_atoms[i].control)
                ids.push_back(*m_atoms[i].control);
            else
                WASTE_TRY_STATUS(m_tokenizer.encodePlain(std::string_view(m_atoms[i].text).substr(begin), ids));
        }
        return ids;
    }

private:
    bool advanceText(std::string_view text)
    {
        while (!text.empty()) {
            if (m_atom == m_atoms.size() || m_atoms[m_atom].control)
                return false;
            const std::string_view here = std::string_view(m_atoms[m_atom].text).substr(m_offset);
            const std::size_t length = std::min(here.size(), text.size());
            if (here.substr(0, length) != text.substr(0, length))
                return false;
            text.remove_prefix(length);
            m_offset += length;
            if (length == here.size()) {
                ++m_atom;
                m_offset = 0;
            }
        }
        return true;
    }

    const Tokenizer& m_tokenizer;
    const std::vector<Atom> m_atoms;
    std::size_t m_atom = 0;
    std::size_t m_offset = 0; // in the text of this atom
};

} // namespace

Result<std::optional<std::vector<TokenId>>> missingIds(
    const Tokenizer& tokenizer, std::span<const TokenId> sampled, std::span<const Segment> expected)
{
    WASTE_TRY(auto atoms, atomsOf(tokenizer, expected));
    Comparison comparison(tokenizer, std::move(atoms));
    for (const TokenId id : sampled) {
        if (!comparison.advance(id))
            return std::optional<std::vector<TokenId>>();
    }
    WASTE_TRY(auto ids, comparison.rest());
    return std::optional(std::move(ids));
}

} // namespace waste
