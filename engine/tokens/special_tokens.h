#pragma once

#include "waste/result.h"
#include "waste/types.h"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

inline constexpr std::uint64_t kSpecialsFileBytesMax = std::uint64_t{16} << 20;

// The special tokens: texts that markup encoding turns into single ids. 256 ids follow the ranked ones;
// those of them that no file names are called <|reserved_token_ID|> (spec: tokenizer 3).
// Immutable, any thread.
class SpecialTokens {
public:
    // `rankedCount` is the number of ranked tokens. Errors: Corrupt naming `file`.
    static Result<SpecialTokens> fromSpecialsFile(
        std::string_view json, std::string_view file, std::size_t rankedCount);
    // added_tokens_decoder of a published tokenizer_config.json; a file without it names nothing.
    static Result<SpecialTokens> fromTokenizerConfig(
        std::string_view json, std::string_view file, std::size_t rankedCount);
    static SpecialTokens unnamed(std::size_t rankedCount);

    [[nodiscard]] std::optional<TokenId> find(std::string_view text) const;
    [[nodiscard]] std::optional<std::string_view> text(TokenId id) const;
    [[nodiscard]] TokenId largestId() const { return m_tokens[m_byId.back()].id; }

    struct Occurrence {
        std::size_t offset = 0;
        std::size_t length = 0;
        TokenId id = 0;
    };
    // The leftmost special text at or after `offset`; of several that begin there, the longest.
    [[nodiscard]] std::optional<Occurrence> findIn(std::string_view text, std::size_t offset) const;

private:
    struct Token {
        std::string text;
        TokenId id = 0;
    };
    static Result<SpecialTokens> build(std::vector<Token> named, std::string_view file, std::size_t rankedCount);
    [[nodiscard]] std::optional<Occurrence> longestAt(std::string_view text, std::size_t offset) const;

    std::vector<Token> m_tokens; // by text, bytewise
    std::vector<std::uint32_t> m_byId; // indices into m_tokens, by id
    std::bitset<256> m_firstBytes; // bytes that some special text begins with
};

} // namespace waste
