#pragma once

#include "waste/types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// The ranked tokens: byte strings and their ids 0 … count − 1, which are also their merge ranks.
// Immutable once built by parseRankFile(), any thread.
class Vocabulary {
public:
    static constexpr std::uint32_t kCountMax = 1U << 21;
    static constexpr std::size_t kTokenBytesMax = 65535;

    enum class Added : std::uint8_t { Yes, TokenTwice, RankTwice };
    // `tokensExpected` sizes the hash table; no more than that many may be added.
    explicit Vocabulary(std::size_t tokensExpected);
    Added add(std::string_view token, std::uint32_t rank);

    [[nodiscard]] std::size_t count() const { return m_count; }
    [[nodiscard]] std::size_t rankEnd() const { return m_tokens.size(); } // largest rank + 1; = count() if dense
    [[nodiscard]] std::size_t longestBytes() const { return m_longestBytes; }
    [[nodiscard]] std::string_view bytes(TokenId id) const; // 0 ≤ id < rankEnd()
    [[nodiscard]] std::optional<TokenId> find(std::string_view token) const;

private:
    struct Token {
        std::uint32_t offset = 0;
        std::uint16_t length = 0; // 0: no token has this rank
    };
    struct Slot {
        std::uint32_t hash = 0;
        TokenId id = -1; // −1: free
    };
    [[nodiscard]] std::uint32_t hashOf(std::string_view token) const;
    [[nodiscard]] std::size_t slotOf(std::string_view token, std::uint32_t hash) const;

    const std::uint64_t m_hashPoint;
    std::string m_arena; // all tokens in the order they were added
    std::vector<Token> m_tokens; // [rank]
    std::vector<Slot> m_slots; // power of two, at most half full, linear probing
    std::size_t m_count = 0;
    std::size_t m_longestBytes = 0;
};

} // namespace waste
