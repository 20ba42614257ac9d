#if defined(__x86_64__)

#include "kernels/x86_avx512vbmi_lookup.h"

// Reduced tables of products: 14 bits in two planes of seven, [stage][plane][entry].

namespace waste::kernels {

namespace {

constexpr int kPlaneBits = 7;
constexpr int kBias = 1 << (2 * kPlaneBits - 1); // what makes an entry unsigned
static_assert(kTableMax < kBias);

// ---- building

void storePlanes(const float* values, std::size_t entries, __m512 perUnit, std::uint8_t* table, std::size_t count)
{
    for (std::size_t i = 0; i < count; i += kFloats) {
        const __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_load_ps(values + i), perUnit));
        const __m512i biased = _mm512_add_epi32(whole, _mm512_set1_epi32(kBias));
        const __m512i low = _mm512_and_si512(biased, _mm512_set1_epi32((1 << kPlaneBits) - 1));
        const __m512i high = _mm512_srli_epi32(biased, kPlaneBits);
        std::uint8_t* const out = table + i / entries * 2 * entries + i % entries;
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(low));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + entries), _mm512_cvtepi32_epi8(high));
    }
}

// Positions [first, first + positions), which share a scale.
template<typename Format>
void buildBlock(const TransposedCodebooks<Format>& books, const float* x, const TableInput& tables, std::size_t first,
    std::size_t positions)
{
    constexpr std::size_t kValues = Format::kShape.stages * Format::kShape.entries;
    alignas(64) float values[kTableBlock][kValues];
    __m512i largestBits = _mm512_setzero_si512(); // of magnitudes; in their order
    const __m512i noSign = _mm512_set1_epi32(0x7FFFFFFF);
    for (std::size_t p = 0; p < positions; ++p)
        books.forPosition(x + (first + p) * kTableColumns, [&](std::size_t place, __m512 contributions) {
            _mm512_store_ps(values[p] + place, contributions);
            largestBits = _mm512_max_epi32(largestBits, _mm512_and_si512(_mm512_castps_si512(contributions), noSign));
        });
    constexpr int kInfinityBits = 0x7F800000;
    const int bits = _mm512_reduce_max_epi32(largestBits);
    const bool isNumber = bits < kInfinityBits;
    const float largest = isNumber ? _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(bits))) : __builtin_nanf("");
    const bool isZero = !(largest >= kReducedMagnitudeMin);
    tables.scales[first / kTableBlock] = isZero && isNumber ? 0.0F : largest / kTableMax;
    const __m512 perUnit = _mm512_set1_ps(isZero ? 0.0F : kTableMax / largest);
    for (std::size_t p = 0; p < positions; ++p)
        storePlanes(
            values[p], Format::kShape.entries, perUnit, tables.entries + (first + p) * Format::kReducedBytes, kValues);
}

template<typename Format>
void build(const VqMatrixView& matrix, const float* x, const TableInput& tables, std::size_t begin, std::size_t end)
{
    const TransposedCodebooks<Format> books(matrix.codebooks);
    for (std::size_t first = begin; first < end; first += kTableBlock)
        buildBlock(books, x, tables, first, end - first < kTableBlock ? end - first : kTableBlock);
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

// Both planes of one lookup, or of two that are summed as bytes.
struct PlanePair {
    __m512i low, high;

    PlanePair operator+(const PlanePair& other) const
    {
        return {_mm512_add_epi8(low, other.low), _mm512_add_epi8(high, other.high)};
    }
};

struct PlaneSums {
    ByteSums low, high;

    void add(const PlanePair& bytes)
    {
        low.add(bytes.low);
        high.add(bytes.high);
    }
};

// What the stages of a position contribute to 64 rows. Stages are summed in pairs; of an odd number the last is left.
template<typename Format>
PlanePair addPosition(const std::uint8_t* indices, const std::uint8_t* table, PlaneSums& sums)
{
    constexpr std::size_t kStages = Format::kShape.stages;
    constexpr std::size_t kEntries = Format::kShape.entries;
    __m512i stages[kStages];
    takeApart<Format>(indices, stages);
    const auto lookUp = [&](std::size_t stage) {
        const std::uint8_t* const planes = table + stage * 2 * kEntries;
        return PlanePair{Format::lookUp(stages[stage], planes), Format::lookUp(stages[stage], planes + kEntries)};
    };
#pragma GCC unroll 2
    for (std::size_t stage = 0; stage + 1 < kStages; stage += 2)
        sums.add(lookUp(stage) + lookUp(stage + 1));
    return kStages % 2 == 1 ? lookUp(kStages - 1) : PlanePair{};
}

// results[r] += scale · (128·high + low − bias) for 64 rows, in an order of their own: see storeRows.
void fold(const PlaneSums& sums, std::size_t lookups, float scale, float* results)
{
    const __m512i weights = _mm512_set1_epi32(1 << (16 + kPlaneBits) | 1);
    const __m512i bias = _mm512_set1_epi32(static_cast<int>(lookups) * kBias);
    const __m512 factor = _mm512_set1_ps(scale);
    const auto add = [&](std::size_t part, __m512i lowHigh) {
        float* const result = results + part * kFloats;
        const __m512 total = _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_madd_epi16(lowHigh, weights), bias));
        _mm512_store_ps(result, _mm512_fmadd_ps(total, factor, _mm512_load_ps(result)));
    };
    const __m512i evenLow = sums.low.lower();
    const __m512i evenHigh = sums.high.lower();
    add(0, _mm512_unpacklo_epi16(evenLow, evenHigh)); // rows 0 2 4 6 | 16 18 20 22 | 32.. | 48..
    add(1, _mm512_unpacklo_epi16(sums.low.upper, sums.high.upper)); // 1 3 5 7 | ..
    add(2, _mm512_unpackhi_epi16(evenLow, evenHigh)); // 8 10 12 14 | ..
    add(3, _mm512_unpackhi_epi16(sums.low.upper, sums.high.upper));
}

// The results of a block in the order of the rows, times their scales.
void storeRows(const float* results, const std::uint16_t* scales, float* y, std::size_t rows)
{
    // Even and odd ones alternate.
    const __m512i order = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27);
    for (std::size_t first = 0; first < rows; first += kFloats) {
        // Of all four parts those four values that belong to sixteen rows.
        const float* const values = results + first / 4;
        const __m512 even = _mm512_insertf32x8(
            _mm512_zextps128_ps512(_mm_load_ps(values)), _mm256_zextps128_ps256(_mm_load_ps(values + 2 * kFloats)), 1);
        const __m512 odd = _mm512_insertf32x8(_mm512_zextps128_ps512(_mm_load_ps(values + kFloats)),
            _mm256_zextps128_ps256(_mm_load_ps(values + 3 * kFloats)), 1);
        storeScaled(_mm512_permutex2var_ps(even, order, odd), scales, y, first, rows);
    }
}

// One block of positions for 64 rows. Its sums are below 8 positions · 4 stages · 127, which fits 16 bits.
template<typename Format>
void addBlock(
    const std::uint8_t* indices, const std::uint8_t* table, std::size_t positions, float scale, float* results)
{
    constexpr std::size_t kStages = Format::kShape.stages;
    PlaneSums sums;
    for (std::size_t first = 0; first < positions; first += 2) {
        PlanePair left = {_mm512_setzero_si512(), _mm512_setzero_si512()}; // of two positions, a pair as well
        for (std::size_t p = first; p < first + 2 && p < positions; ++p) {
            const PlanePair last = addPosition<Format>(indices, table, sums);
            if constexpr (kStages % 2 == 1)
                left = left + last;
            indices += kPositionBytes;
            table += Format::kReducedBytes;
        }
        if constexpr (kStages % 2 == 1)
            sums.add(left);
    }
    fold(sums, positions * kStages, scale, results);
}

template<typename Format>
void multiply(const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end)
{
    multiplyBlocks<Format>(
        matrix, tables, Format::kReducedBytes, y, begin, end,
        [&](const std::uint8_t* indices, const std::uint8_t* table, std::size_t block, std::size_t positions,
            float* results) { addBlock<Format>(indices, table, positions, tables.scales[block], results); },
        storeRows);
}

} // namespace

namespace avx512vbmi {

void buildTables(
    const VqMatrixView& matrix, const float* x, const TableInput& tables, std::size_t begin, std::size_t end)
{
    matrix.indexBits == 6 ? build<PackedFormat>(matrix, x, tables, begin, end)
                          : build<WholeFormat>(matrix, x, tables, begin, end);
}

void multiplyTables(
    const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end)
{
    matrix.indexBits == 6 ? multiply<PackedFormat>(matrix, tables, y, begin, end)
                          : multiply<WholeFormat>(matrix, tables, y, begin, end);
}

} // namespace avx512vbmi
} // namespace waste::kernels
#endif
