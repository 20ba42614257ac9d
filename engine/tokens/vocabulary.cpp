#include "tokens/vocabulary.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <random>

namespace waste {

namespace {

constexpr std::uint64_t kHashPrime = 4294967291; // the largest prime below 2^32

std::uint64_t randomPoint()
{
    std::random_device random;
    return 1 + random() % (kHashPrime - 1);
}

} // namespace

Vocabulary::Vocabulary(std::size_t tokensExpected)
    : m_hashPoint(randomPoint())
    , m_slots(std::bit_ceil(std::clamp<std::size_t>(tokensExpected, 1, kCountMax) * 2))
{
}

Vocabulary::Added Vocabulary::add(std::string_view token, std::uint32_t rank)
{
    assert(!token.empty() && token.size() <= kTokenBytesMax);
    assert(rank < kCountMax);
    assert(m_count <= m_slots.size() / 2);
    const std::uint32_t hash = hashOf(token);
    Slot& slot = m_slots[slotOf(token, hash)];
    if (slot.id >= 0)
        return Added::TokenTwice;
    if (rank >= m_tokens.size())
        m_tokens.resize(rank + 1);
    if (m_tokens[rank].length != 0)
        return Added::RankTwice;

    m_tokens[rank] = {static_cast<std::uint32_t>(m_arena.size()), static_cast<std::uint16_t>(token.size())};
    m_arena += token;
    slot = {hash, static_cast<TokenId>(rank)};
    m_longestBytes = std::max(m_longestBytes, token.size());
    ++m_count;
    return Added::Yes;
}

std::string_view Vocabulary::bytes(TokenId id) const
{
    const Token token = m_tokens[static_cast<std::size_t>(id)];
    return std::string_view(m_arena).substr(token.offset, token.length);
}

std::optional<TokenId> Vocabulary::find(std::string_view token) const
{
    if (token.empty() || token.size() > m_longestBytes)
        return std::nullopt;
    const Slot slot = m_slots[slotOf(token, hashOf(token))];
    if (slot.id < 0)
        return std::nullopt;
    return slot.id;
}

// A polynomial over a prime field at a secret random point: nobody can write a rank file whose tokens
// collide and so make loading it endless. Three bytes a step keep the product inside 64 bits.
std::uint32_t Vocabulary::hashOf(std::string_view token) const
{
    std::uint64_t hash = token.size();
    std::size_t i = 0;
    const auto byte = [&](std::size_t at) { return std::uint64_t{static_cast<std::uint8_t>(token[at])}; };
    for (; i + 3 <= token.size(); i += 3)
        hash = (hash * m_hashPoint + (byte(i) | (byte(i + 1) << 8) | (byte(i + 2) << 16))) % kHashPrime;
    for (; i < token.size(); ++i)
        hash = (hash * m_hashPoint + byte(i)) % kHashPrime;
    return static_cast<std::uint32_t>(hash);
}

// The slot that holds `token`, or the free one where it would go.
std::size_t Vocabulary::slotOf(std::string_view token, std::uint32_t hash) const
{
    const std::size_t mask = m_slots.size() - 1;
    std::size_t index = hash & mask;
    while (m_slots[index].id >= 0 && (m_slots[index].hash != hash || bytes(m_slots[index].id) != token))
        index = (index + 1) & mask;
    return index;
}

} // namespace waste
