#pragma once

#include "kernels/x86_avx512.h"

// What tables of products (product_tables.h) and decoding have in common under VBMI: indices of 64 rows are taken apart
// and looked up in a plane of bytes at once.

namespace waste::kernels {
namespace {

constexpr std::size_t kCodebookEntries = 256; // stored per stage
constexpr std::size_t kIndexBytes = 3; // of a position
constexpr std::size_t kPositionBytes = kTableRows * kIndexBytes; // of indices

// ---- indices

// Which row comes to a byte of a register: the same one, or that which stands in its place after lookups of four bytes
// a row, or of two bytes of two columns, have been interleaved twice; they then are in the order of the rows.
enum class RowOrder { Same, ForInterleaving };

constexpr std::size_t rowOf(RowOrder order, std::size_t byte)
{
    return order == RowOrder::Same ? byte : byte / 4 % 4 * 16 + byte / 16 * 4 + byte % 4;
}

// Of the three bytes of each of 64 rows those at one place.
struct Separation {
    alignas(64) std::uint8_t fromFirstTwo[kTableRows]; // of 128 bytes
    alignas(64) std::uint8_t fromThird[kTableRows];
    std::uint64_t isThird;
};

constexpr Separation separationOf(std::size_t place, RowOrder order)
{
    Separation separation{};
    for (std::size_t i = 0; i < kTableRows; ++i) {
        const std::size_t byte = rowOf(order, i) * kIndexBytes + place;
        if (byte < 2 * kTableRows) {
            separation.fromFirstTwo[i] = static_cast<std::uint8_t>(byte);
        } else {
            separation.fromThird[i] = static_cast<std::uint8_t>(byte - 2 * kTableRows);
            separation.isThird |= std::uint64_t{1} << i;
        }
    }
    return separation;
}

template<std::size_t kPlace, RowOrder kOrder>
__m512i separate(__m512i first, __m512i second, __m512i third)
{
    static constexpr Separation kSeparation = separationOf(kPlace, kOrder);
    const __m512i bytes = _mm512_permutex2var_epi8(first, _mm512_load_si512(kSeparation.fromFirstTwo), second);
    return _mm512_mask_permutexvar_epi8(bytes, kSeparation.isThird, _mm512_load_si512(kSeparation.fromThird), third);
}

// The bits of `mask` from a, the others from b.
inline __m512i select(std::uint8_t mask, __m512i a, __m512i b)
{
    constexpr int kFirstChooses = 0xCA;
    return _mm512_ternarylogic_epi32(_mm512_set1_epi8(static_cast<char>(mask)), a, b, kFirstChooses);
}

// Four stages of 64 entries, packed. A permutation reads the lower six bits of an index and ignores the others.
struct PackedFormat {
    static constexpr TableShape kShape = kPackedTables;
    static constexpr std::size_t kReducedBytes = reducedTableBytes(kShape); // of a position's table
    static constexpr std::size_t kExactBytes = exactTableBytes(kShape);
    static constexpr std::size_t kBlocksAtOnce = 4; // of rows; they share tables while those are in the nearest caches

    static void split(__m512i first, __m512i second, __m512i third, __m512i (&stages)[kShape.stages])
    {
        stages[0] = first;
        stages[1] = select(0x03, _mm512_srli_epi16(first, 6), _mm512_slli_epi16(second, 2));
        stages[2] = select(0x0F, _mm512_srli_epi16(second, 4), _mm512_slli_epi16(third, 4));
        stages[3] = _mm512_srli_epi16(third, 2);
    }
    static __m512i lookUp(__m512i index, const std::uint8_t* plane)
    {
        return _mm512_permutexvar_epi8(index, loadBytes(plane));
    }
};

// Three stages of 256 entries: a permutation of two registers for each half.
struct WholeFormat {
    static constexpr TableShape kShape = kWholeTables;
    static constexpr std::size_t kReducedBytes = reducedTableBytes(kShape);
    static constexpr std::size_t kExactBytes = exactTableBytes(kShape);
    static constexpr std::size_t kBlocksAtOnce = 8;

    static void split(__m512i first, __m512i second, __m512i third, __m512i (&stages)[kShape.stages])
    {
        stages[0] = first;
        stages[1] = second;
        stages[2] = third;
    }
    static __m512i lookUp(__m512i index, const std::uint8_t* plane)
    {
        const __m512i lower = _mm512_permutex2var_epi8(loadBytes(plane), index, loadBytes(plane + 64));
        const __m512i upper = _mm512_permutex2var_epi8(loadBytes(plane + 128), index, loadBytes(plane + 192));
        return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), lower, upper);
    }
};

// The stages' indices of 64 rows at one position. Those of the next block but one of positions are fetched ahead:
// the next one comes up in a tenth of a microsecond where two blocks of rows share a table.
template<typename Format, RowOrder kOrder = RowOrder::Same>
void takeApart(const std::uint8_t* indices, __m512i (&stages)[Format::kShape.stages])
{
    for (std::size_t line = 0; line < kPositionBytes; line += 64)
        _mm_prefetch(indices + 2 * kTableBlock * kPositionBytes + line, _MM_HINT_T0);
    const __m512i a = loadBytes(indices);
    const __m512i b = loadBytes(indices + 64);
    const __m512i c = loadBytes(indices + 128);
    Format::split(separate<0, kOrder>(a, b, c), separate<1, kOrder>(a, b, c), separate<2, kOrder>(a, b, c), stages);
}

// ---- building

// Codebooks with the entries of one component side by side, so that sixteen entries are computed at a time.
template<typename Format>
struct TransposedCodebooks {
    static constexpr TableShape kShape = Format::kShape;
    alignas(64) float values[kShape.stages][kTableColumns][kShape.entries];

    explicit TransposedCodebooks(const float* codebooks)
    {
        for (std::size_t stage = 0; stage < kShape.stages; ++stage) {
            const float* const book = codebooks + stage * kCodebookEntries * kTableColumns;
            for (std::size_t entry = 0; entry < kShape.entries; ++entry) {
                for (std::size_t j = 0; j < kTableColumns; ++j)
                    values[stage][j][entry] = book[entry * kTableColumns + j];
            }
        }
    }

    // Calls visit(place in the position's table, sixteen contributions).
    template<typename Visit>
    void forPosition(const float* x, const Visit& visit) const
    {
        __m512 inputs[kTableColumns];
        for (std::size_t j = 0; j < kTableColumns; ++j)
            inputs[j] = _mm512_set1_ps(x[j]);
        for (std::size_t stage = 0; stage < kShape.stages; ++stage) {
            for (std::size_t entry = 0; entry < kShape.entries; entry += kFloats) {
                __m512 sum = _mm512_setzero_ps();
                for (std::size_t j = 0; j < kTableColumns; ++j)
                    sum = _mm512_fmadd_ps(_mm512_load_ps(values[stage][j] + entry), inputs[j], sum);
                visit(stage * kShape.entries + entry, sum);
            }
        }
    }
};

// ---- rows

// y[r] for begin ≤ r < end. addBlock(indices, table, block of positions, count of them, results) adds one block of
// positions to 64 results, which storeRows(results, scales, y, rows) takes from an order of their own.
template<typename Format, typename AddBlock, typename StoreRows>
void multiplyBlocks(const VqMatrixView& matrix, const TableInput& tables, std::size_t tableBytes, float* y,
    std::uint32_t begin, std::uint32_t end, const AddBlock& addBlock, const StoreRows& storeRows)
{
    constexpr std::size_t kRowsAtOnce = Format::kBlocksAtOnce * kTableRows;
    const std::size_t blockBytes = tables.positions * kPositionBytes;
    for (std::size_t first = begin; first < end; first += kRowsAtOnce) {
        const std::size_t last = first + kRowsAtOnce < end ? first + kRowsAtOnce : end;
        alignas(64) float results[kRowsAtOnce] = {};
        for (std::size_t position = 0; position < tables.positions; position += kTableBlock) {
            const std::size_t rest = tables.positions - position;
            for (std::size_t row = first; row < last; row += kTableRows)
                addBlock(matrix.indices + row / kTableRows * blockBytes + position * kPositionBytes,
                    tables.entries + position * tableBytes, position / kTableBlock,
                    rest < kTableBlock ? rest : kTableBlock, results + (row - first));
        }
        for (std::size_t row = first; row < last; row += kTableRows)
            storeRows(results + (row - first), matrix.scales + row, y + row,
                last - row < kTableRows ? last - row : kTableRows);
    }
}

// Sixteen results times the rows' scales; those of rows that are not there are dropped.
inline void storeScaled(__m512 results, const std::uint16_t* scales, float* y, std::size_t first, std::size_t rows)
{
    const std::size_t rest = rows - first;
    const __mmask16 isThere = firstLanes(rest < kFloats ? rest : kFloats);
    const __m512 scale = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(isThere, scales + first));
    _mm512_mask_storeu_ps(y + first, isThere, _mm512_mul_ps(results, scale));
}

} // namespace
} // namespace waste::kernels
