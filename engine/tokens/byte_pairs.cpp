#include "tokens/byte_pairs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>

namespace waste {

namespace {

using Rank = std::uint32_t;
constexpr Rank kNoRank = std::numeric_limits<Rank>::max();

// Below this many bytes looking at every pair for every merge is faster than a heap.
constexpr std::size_t kShortPieceBytes = 100;

class PairRanks {
public:
    PairRanks(const Vocabulary& vocabulary, std::string_view piece)
        : m_vocabulary(vocabulary)
        , m_piece(piece)
    {
    }
    [[nodiscard]] Rank operator()(std::size_t begin, std::size_t end) const
    {
        const auto id = m_vocabulary.find(m_piece.substr(begin, end - begin));
        return id ? static_cast<Rank>(*id) : kNoRank;
    }

private:
    const Vocabulary& m_vocabulary;
    std::string_view m_piece;
};

// starts[i] is where the i-th part begins, ranks[i] that of the pair of parts i and i + 1.
void mergeShort(const Vocabulary& vocabulary, std::string_view piece, std::vector<TokenId>& ids)
{
    const PairRanks rankOf(vocabulary, piece);
    std::array<std::uint8_t, kShortPieceBytes + 1> starts{};
    std::array<Rank, kShortPieceBytes + 1> ranks{};
    std::size_t count = piece.size();
    for (std::size_t i = 0; i <= count; ++i)
        starts[i] = static_cast<std::uint8_t>(i);
    for (std::size_t i = 0; i + 1 < count; ++i)
        ranks[i] = rankOf(i, i + 2);

    while (count > 1) {
        const auto lowest = std::min_element(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(count - 1));
        if (*lowest == kNoRank)
            break;
        const auto i = static_cast<std::size_t>(lowest - ranks.begin());
        std::copy(starts.begin() + i + 2, starts.begin() + count + 1, starts.begin() + i + 1);
        std::copy(ranks.begin() + i + 1, ranks.begin() + count, ranks.begin() + i);
        --count;
        if (i + 1 < count)
            ranks[i] = rankOf(starts[i], starts[i + 2]);
        if (i > 0)
            ranks[i - 1] = rankOf(starts[i - 1], starts[i + 1]);
    }
    for (std::size_t i = 0; i < count; ++i)
        ids.push_back(*vocabulary.find(piece.substr(starts[i], std::size_t{starts[i + 1]} - starts[i])));
}

// A linked list of parts, addressed by where they begin, and a heap of pairs. A pair whose parts have
// changed stays in the heap and is skipped: its rank is no longer the one that the part remembers.
void mergeLong(const Vocabulary& vocabulary, std::string_view piece, std::vector<TokenId>& ids)
{
    struct Part {
        std::uint32_t previous;
        std::uint32_t end; // where the next part begins
        Rank pairRank; // of this part and the next
    };
    const PairRanks rankOf(vocabulary, piece);
    const auto size = static_cast<std::uint32_t>(piece.size());
    std::vector<Part> parts(size);
    using Pair = std::uint64_t; // rank, then the start, so that of equal ranks the leftmost comes first
    std::priority_queue<Pair, std::vector<Pair>, std::greater<>> pairs;
    const auto offerPair = [&](std::uint32_t start) {
        Part& part = parts[start];
        part.pairRank = part.end < size ? rankOf(start, parts[part.end].end) : kNoRank;
        if (part.pairRank != kNoRank)
            pairs.push(Pair{part.pairRank} << 32 | start);
    };
    for (std::uint32_t i = 0; i < size; ++i)
        parts[i] = {i - 1, i + 1, kNoRank};
    for (std::uint32_t i = 0; i < size; ++i)
        offerPair(i);

    while (!pairs.empty()) {
        const auto rank = static_cast<Rank>(pairs.top() >> 32);
        const auto start = static_cast<std::uint32_t>(pairs.top());
        pairs.pop();
        Part& part = parts[start];
        if (part.pairRank != rank)
            continue;
        Part& swallowed = parts[part.end];
        swallowed.pairRank = kNoRank;
        part.end = swallowed.end;
        if (part.end < size)
            parts[part.end].previous = start;
        offerPair(start);
        if (start > 0)
            offerPair(part.previous);
    }
    for (std::uint32_t start = 0; start < size; start = parts[start].end)
        ids.push_back(*vocabulary.find(piece.substr(start, parts[start].end - start)));
}

} // namespace

void appendPieceTokens(const Vocabulary& vocabulary, std::string_view piece, std::vector<TokenId>& ids)
{
    if (const auto whole = vocabulary.find(piece)) {
        ids.push_back(*whole);
        return;
    }
    if (piece.size() <= kShortPieceBytes)
        mergeShort(vocabulary, piece, ids);
    else
        mergeLong(vocabulary, piece, ids);
}

} // namespace waste
