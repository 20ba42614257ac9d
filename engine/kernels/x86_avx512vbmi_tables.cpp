#if defined(__x86_64__)

#include "kernels/x86_avx512.h"

// Tables of products for routed experts (reduced_inputs.h), laid out as x86_avx2_tables.cpp builds them: two planes
// of 64 bytes a stage, seven bits in each. A plane is a register, and one permutation looks 64 rows up in it, which is
// a whole block of indices; it reads the lower six bits of an index and ignores the others.

namespace waste::kernels {

namespace {

constexpr std::size_t kCodebookEntries = 256; // stored per stage
constexpr std::size_t kBlockRows = 64;
constexpr std::size_t kIndexBytes = 3; // of a position
constexpr int kPlaneBits = 7;
constexpr int kBias = 1 << (2 * kPlaneBits - 1); // what makes an entry unsigned
static_assert(kTableMax < kBias);
constexpr std::size_t kBlocksAtOnce = 4; // share a block's tables while they are in the first-level cache

// ---- building

// Codebooks with the entries of one component side by side, so that sixteen entries are computed at a time.
struct TransposedCodebooks {
    alignas(64) float values[kTableStages][kTableColumns][kTableEntries];

    explicit TransposedCodebooks(const float* codebooks)
    {
        for (std::size_t stage = 0; stage < kTableStages; ++stage) {
            const float* const book = codebooks + stage * kCodebookEntries * kTableColumns;
            for (std::size_t entry = 0; entry < kTableEntries; ++entry) {
                for (std::size_t j = 0; j < kTableColumns; ++j)
                    values[stage][j][entry] = book[entry * kTableColumns + j];
            }
        }
    }
};

// Contributions of one block of positions, and the largest magnitude among them by its bits.
struct BlockValues {
    alignas(64) float values[kTableBlock][kTableStages * kTableEntries];
    __m512i largest = _mm512_setzero_si512();
};

void computePosition(const TransposedCodebooks& books, const float* x, float* values, __m512i& largest)
{
    const __m512i noSign = _mm512_set1_epi32(0x7FFFFFFF);
    __m512 inputs[kTableColumns];
    for (std::size_t j = 0; j < kTableColumns; ++j)
        inputs[j] = _mm512_set1_ps(x[j]);
    for (std::size_t stage = 0; stage < kTableStages; ++stage) {
        for (std::size_t entry = 0; entry < kTableEntries; entry += kFloats) {
            __m512 sum = _mm512_setzero_ps();
            for (std::size_t j = 0; j < kTableColumns; ++j)
                sum = _mm512_fmadd_ps(_mm512_load_ps(books.values[stage][j] + entry), inputs[j], sum);
            _mm512_store_ps(values + stage * kTableEntries + entry, sum);
            largest = _mm512_max_epi32(largest, _mm512_and_si512(_mm512_castps_si512(sum), noSign));
        }
    }
}

void storePlanes(const float* values, __m512 perUnit, std::uint8_t* table)
{
    for (std::size_t i = 0; i < kTableStages * kTableEntries; i += kFloats) {
        const __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_load_ps(values + i), perUnit));
        const __m512i biased = _mm512_add_epi32(whole, _mm512_set1_epi32(kBias));
        const __m512i low = _mm512_and_si512(biased, _mm512_set1_epi32((1 << kPlaneBits) - 1));
        const __m512i high = _mm512_srli_epi32(biased, kPlaneBits);
        std::uint8_t* const out = table + i / kTableEntries * 2 * kTableEntries + i % kTableEntries;
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(low));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + kTableEntries), _mm512_cvtepi32_epi8(high));
    }
}

// ---- looking up

// Bytes of a plane for 64 rows, summed over lookups.
struct ByteSums {
    __m512i all = _mm512_setzero_si512(); // 16-bit lanes: lower byte + 256 · upper byte
    __m512i upper = _mm512_setzero_si512();

    void add(__m512i bytes)
    {
        all = _mm512_add_epi16(all, bytes);
        upper = _mm512_add_epi16(upper, _mm512_srli_epi16(bytes, 8));
    }
    [[nodiscard]] __m512i lower() const { return _mm512_sub_epi16(all, _mm512_slli_epi16(upper, 8)); }
};

// Of the three bytes of each of 64 rows those at one place, in the order of the rows.
struct Separation {
    alignas(64) std::uint8_t fromFirstTwo[kBlockRows]; // of 128 bytes
    alignas(64) std::uint8_t fromThird[kBlockRows];
    std::uint64_t isThird;
};

constexpr Separation separationOf(std::size_t place)
{
    Separation separation{};
    for (std::size_t row = 0; row < kBlockRows; ++row) {
        const std::size_t byte = row * kIndexBytes + place;
        if (byte < 2 * kBlockRows) {
            separation.fromFirstTwo[row] = static_cast<std::uint8_t>(byte);
        } else {
            separation.fromThird[row] = static_cast<std::uint8_t>(byte - 2 * kBlockRows);
            separation.isThird |= std::uint64_t{1} << row;
        }
    }
    return separation;
}

template<std::size_t kPlace>
__m512i separate(__m512i first, __m512i second, __m512i third)
{
    static constexpr Separation kSeparation = separationOf(kPlace);
    const __m512i bytes = _mm512_permutex2var_epi8(first, _mm512_load_si512(kSeparation.fromFirstTwo), second);
    return _mm512_mask_permutexvar_epi8(bytes, kSeparation.isThird, _mm512_load_si512(kSeparation.fromThird), third);
}

// The bits of `mask` from a, the others from b.
__m512i select(std::uint8_t mask, __m512i a, __m512i b)
{
    constexpr int kFirstChooses = 0xCA;
    return _mm512_ternarylogic_epi32(_mm512_set1_epi8(static_cast<char>(mask)), a, b, kFirstChooses);
}

// Adds what the four stages of one position contribute to 64 rows. 8 positions · 4 stages · 127 fit 16 bits.
void addPosition(const std::uint8_t* indices, const std::uint8_t* table, ByteSums& low, ByteSums& high)
{
    const __m512i a = loadBytes(indices);
    const __m512i b = loadBytes(indices + kBlockRows);
    const __m512i c = loadBytes(indices + 2 * kBlockRows);
    const __m512i first = separate<0>(a, b, c);
    const __m512i second = separate<1>(a, b, c);
    const __m512i third = separate<2>(a, b, c);
    const __m512i stages[kTableStages] = {first,
        select(0x03, _mm512_srli_epi16(first, 6), _mm512_slli_epi16(second, 2)),
        select(0x0F, _mm512_srli_epi16(second, 4), _mm512_slli_epi16(third, 4)), _mm512_srli_epi16(third, 2)};
#pragma GCC unroll 2
    for (std::size_t stage = 0; stage < kTableStages; stage += 2) {
        const auto two = [&](const std::uint8_t* planes) {
            return _mm512_add_epi8(_mm512_permutexvar_epi8(stages[stage], loadBytes(planes)),
                _mm512_permutexvar_epi8(stages[stage + 1], loadBytes(planes + 2 * kTableEntries)));
        };
        low.add(two(table + stage * 2 * kTableEntries));
        high.add(two(table + stage * 2 * kTableEntries + kTableEntries));
    }
}

// results[r] += scale · (128·high + low − bias) for 64 rows, in an order of their own: see storeRows.
void fold(const ByteSums& low, const ByteSums& high, std::size_t lookups, float scale, float* results)
{
    const __m512i weights = _mm512_set1_epi32(1 << (16 + kPlaneBits) | 1);
    const __m512i bias = _mm512_set1_epi32(static_cast<int>(lookups) * kBias);
    const __m512 factor = _mm512_set1_ps(scale);
    const auto add = [&](std::size_t part, __m512i lowHigh) {
        float* const result = results + part * kFloats;
        const __m512 sums = _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_madd_epi16(lowHigh, weights), bias));
        _mm512_store_ps(result, _mm512_fmadd_ps(sums, factor, _mm512_load_ps(result)));
    };
    const __m512i evenLow = low.lower();
    const __m512i evenHigh = high.lower();
    add(0, _mm512_unpacklo_epi16(evenLow, evenHigh)); // rows 0 2 4 6 | 16 18 20 22 | 32.. | 48..
    add(1, _mm512_unpacklo_epi16(low.upper, high.upper)); // 1 3 5 7 | ..
    add(2, _mm512_unpackhi_epi16(evenLow, evenHigh)); // 8 10 12 14 | ..
    add(3, _mm512_unpackhi_epi16(low.upper, high.upper));
}

// The results of a block in the order of the rows, times their scales.
void storeRows(const float* results, const std::uint16_t* scales, float* y, std::size_t rows)
{
    // Even and odd ones alternate.
    const __m512i order = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27);
    for (std::size_t quarter = 0; quarter < 4 && quarter * kFloats < rows; ++quarter) {
        const std::size_t rest = rows - quarter * kFloats;
        const __mmask16 isThere = firstLanes(rest < kFloats ? rest : kFloats);
        // Of all four parts those four values that belong to sixteen rows.
        const float* const values = results + quarter * 4;
        const __m512 even = _mm512_insertf32x8(
            _mm512_zextps128_ps512(_mm_load_ps(values)), _mm256_zextps128_ps256(_mm_load_ps(values + 2 * kFloats)), 1);
        const __m512 odd = _mm512_insertf32x8(_mm512_zextps128_ps512(_mm_load_ps(values + kFloats)),
            _mm256_zextps128_ps256(_mm_load_ps(values + 3 * kFloats)), 1);
        const __m512 inOrder = _mm512_permutex2var_ps(even, order, odd);
        const __m512 scale = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(isThere, scales + quarter * kFloats));
        _mm512_mask_storeu_ps(y + quarter * kFloats, isThere, _mm512_mul_ps(inOrder, scale));
    }
}

// One block of positions for one block of rows.
void addTableBlock(
    const std::uint8_t* indices, const std::uint8_t* table, std::size_t positions, float scale, float* results)
{
    ByteSums low;
    ByteSums high;
    for (std::size_t i = 0; i < positions; ++i) {
        constexpr std::size_t kPositionBytes = kBlockRows * kIndexBytes;
        for (std::size_t line = 0; line < kPositionBytes; line += 64) // of the next block of positions
            _mm_prefetch(indices + kTableBlock * kPositionBytes + line, _MM_HINT_T0);
        addPosition(indices, table, low, high);
        indices += kPositionBytes;
        table += kTableBytes;
    }
    fold(low, high, positions * kTableStages, scale, results);
}

} // namespace

namespace avx512vbmi {

void buildTables(
    const VqMatrixView& matrix, const float* x, const TableInput& tables, std::size_t begin, std::size_t end)
{
    const TransposedCodebooks books(matrix.codebooks);
    for (std::size_t first = begin; first < end; first += kTableBlock) {
        const std::size_t positions = end - first < kTableBlock ? end - first : kTableBlock;
        BlockValues block;
        for (std::size_t p = 0; p < positions; ++p)
            computePosition(books, x + (first + p) * kTableColumns, block.values[p], block.largest);
        constexpr int kInfinityBits = 0x7F800000;
        const int bits = _mm512_reduce_max_epi32(block.largest);
        const bool isNumber = bits < kInfinityBits;
        const float largest = isNumber ? _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(bits))) : __builtin_nanf("");
        const bool isZero = !(largest >= kReducedMagnitudeMin);
        tables.scales[first / kTableBlock] = isZero && isNumber ? 0.0F : largest / kTableMax;
        const __m512 perUnit = _mm512_set1_ps(isZero ? 0.0F : kTableMax / largest);
        for (std::size_t p = 0; p < positions; ++p)
            storePlanes(block.values[p], perUnit, tables.entries + (first + p) * kTableBytes);
    }
}

void multiplyTables(
    const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end)
{
    constexpr std::size_t kRowsAtOnce = kBlocksAtOnce * kBlockRows;
    const std::size_t blockBytes = tables.positions * kBlockRows * kIndexBytes;
    for (std::size_t first = begin; first < end; first += kRowsAtOnce) {
        const std::size_t last = first + kRowsAtOnce < end ? first + kRowsAtOnce : end;
        alignas(64) float results[kRowsAtOnce] = {};
        for (std::size_t position = 0; position < tables.positions; position += kTableBlock) {
            const std::size_t rest = tables.positions - position;
            for (std::size_t row = first; row < last; row += kBlockRows)
                addTableBlock(matrix.indices + row / kBlockRows * blockBytes + position * kBlockRows * kIndexBytes,
                    tables.entries + position * kTableBytes, rest < kTableBlock ? rest : kTableBlock,
                    tables.scales[position / kTableBlock], results + (row - first));
        }
        for (std::size_t row = first; row < last; row += kBlockRows)
            storeRows(results + (row - first), matrix.scales + row, y + row,
                last - row < kBlockRows ? last - row : kBlockRows);
    }
}

} // namespace avx512vbmi
} // namespace waste::kernels
#endif
