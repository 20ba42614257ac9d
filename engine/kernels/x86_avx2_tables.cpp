#if defined(__x86_64__)

#include "kernels/x86_avx2.h"

// Tables of products for routed experts (product_tables.h).
//
// A register shuffle looks 32 rows up in 16 bytes at once, so an entry is seven bits and seven bits in two planes of
// bytes, and a lookup four shuffles a plane, chosen by the upper two bits of the index. Two lookups are summed in
// bytes, the rest in 16-bit lanes: the lanes as they are, and their upper bytes alone, from which the sums of the lower
// bytes follow.

namespace waste::kernels {

namespace {

constexpr std::size_t kTableStages = kPackedTables.stages;
constexpr std::size_t kTableEntries = kPackedTables.entries;
constexpr std::size_t kTableBytes = reducedTableBytes(kPackedTables); // of a position
constexpr std::size_t kCodebookEntries = 256; // stored per stage
constexpr std::size_t kBlockRows = kTableRows;
constexpr int kPlaneBits = 7;
constexpr int kBias = 1 << (2 * kPlaneBits - 1); // what makes an entry unsigned
static_assert(kTableMax < kBias);

// ---- building

// Codebooks with the entries of one component side by side, so that eight entries are computed at a time.
struct TransposedCodebooks {
    alignas(32) float values[kTableStages][kWidth][kTableEntries];

    explicit TransposedCodebooks(const float* codebooks)
    {
        for (std::size_t stage = 0; stage < kTableStages; ++stage) {
            const float* const book = codebooks + stage * kCodebookEntries * kWidth;
            for (std::size_t entry = 0; entry < kTableEntries; ++entry) {
                for (std::size_t j = 0; j < kWidth; ++j)
                    values[stage][j][entry] = book[entry * kWidth + j];
            }
        }
    }
};

// Contributions of one block of positions, and the largest magnitude among them by its bits.
struct BlockValues {
    alignas(32) float values[kTableBlock][kTableStages * kTableEntries];
    __m256i largest = _mm256_setzero_si256();
};

void computePosition(const TransposedCodebooks& books, const float* x, float* values, __m256i& largest)
{
    const __m256i noSign = _mm256_set1_epi32(0x7FFFFFFF);
    __m256 inputs[kWidth];
    for (std::size_t j = 0; j < kWidth; ++j)
        inputs[j] = _mm256_broadcast_ss(x + j);
    for (std::size_t stage = 0; stage < kTableStages; ++stage) {
        for (std::size_t entry = 0; entry < kTableEntries; entry += kWidth) {
            __m256 sum = _mm256_setzero_ps();
            for (std::size_t j = 0; j < kWidth; ++j)
                sum = _mm256_fmadd_ps(_mm256_load_ps(books.values[stage][j] + entry), inputs[j], sum);
            _mm256_store_ps(values + stage * kTableEntries + entry, sum);
            largest = _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(sum), noSign));
        }
    }
}

int largestLane(__m256i v)
{
    __m128i four = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0xB1));
    return _mm_cvtsi128_si32(four);
}

// Sixteen values as biased 16-bit integers.
__m256i quantize(const float* values, __m256 perUnit)
{
    const __m256i first = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_load_ps(values), perUnit));
    const __m256i second = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_load_ps(values + kWidth), perUnit));
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xD8);
    return _mm256_add_epi16(words, _mm256_set1_epi16(kBias));
}

// [stage][plane][entry]
void storePlanes(const float* values, __m256 perUnit, std::uint8_t* table)
{
    const __m256i lowBits = _mm256_set1_epi16((1 << kPlaneBits) - 1);
    for (std::size_t i = 0; i < kTableStages * kTableEntries; i += 32) {
        const __m256i first = quantize(values + i, perUnit);
        const __m256i second = quantize(values + i + 16, perUnit);
        const __m256i low = _mm256_packus_epi16(_mm256_and_si256(first, lowBits), _mm256_and_si256(second, lowBits));
        const __m256i high =
            _mm256_packus_epi16(_mm256_srli_epi16(first, kPlaneBits), _mm256_srli_epi16(second, kPlaneBits));
        std::uint8_t* const out = table + i / kTableEntries * 2 * kTableEntries + i % kTableEntries;
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_permute4x64_epi64(low, 0xD8));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + kTableEntries), _mm256_permute4x64_epi64(high, 0xD8));
    }
}

// ---- looking up

// Bytes of a plane for 32 rows, summed over lookups.
struct ByteSums {
    __m256i all = _mm256_setzero_si256(); // 16-bit lanes: lower byte + 256 · upper byte
    __m256i upper = _mm256_setzero_si256();

    void add(__m256i bytes)
    {
        all = _mm256_add_epi16(all, bytes);
        upper = _mm256_add_epi16(upper, _mm256_srli_epi16(bytes, 8));
    }
    [[nodiscard]] __m256i lower() const { return _mm256_sub_epi16(all, _mm256_slli_epi16(upper, 8)); }
};

// 32 indices of one stage. A shuffle reads the low four bits of a byte, and gives 0 where its top bit is set.
struct Lookup {
    __m256i index; // its bit 5 in the top bit
    __m256i bit4; // in the top bit

    [[nodiscard]] __m256i in(const std::uint8_t* plane) const
    {
        const auto quarter = [&](std::size_t i, __m256i at) {
            const __m128i bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(plane) + i);
            return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), at);
        };
        const __m256i other = _mm256_xor_si256(index, _mm256_set1_epi8(-128));
        return _mm256_or_si256(_mm256_blendv_epi8(quarter(0, index), quarter(1, index), bit4),
            _mm256_blendv_epi8(quarter(2, other), quarter(3, other), bit4));
    }
};

// Three bytes of each of 32 rows, as three registers in the order of the rows.
struct RowBytes {
    __m256i first, second, third;
};

RowBytes separate(const std::uint8_t* indices)
{
    const auto halves = [&](std::size_t offset) {
        const auto* const p = reinterpret_cast<const __m128i*>(indices + offset);
        return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(p)), _mm_loadu_si128(p + 3), 1);
    };
    const __m256i a = halves(0);
    const __m256i b = halves(16);
    const __m256i c = halves(32);
    // Bytes whose place modulo 3 is 1 or 2.
    const __m256i one = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0));
    const __m256i two = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0));
    const auto merge = [&](__m256i zero, __m256i ones, __m256i twos) {
        return _mm256_blendv_epi8(_mm256_blendv_epi8(zero, ones, one), twos, two);
    };
    const auto order = [](__m256i v, int start) {
        // Row r of a half is at byte 3r + start, modulo 16.
        alignas(32) static constexpr std::int8_t kThirds[3][16] = {
            {0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14, 1, 4, 7, 10, 13},
            {1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14},
            {2, 5, 8, 11, 14, 1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15}};
        return _mm256_shuffle_epi8(
            v, _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(kThirds[start]))));
    };
    return {order(merge(a, c, b), 0), order(merge(b, a, c), 1), order(merge(c, b, a), 2)};
}

// The four stages of 32 rows.
struct StageLookups {
    Lookup stages[kTableStages];

    explicit StageLookups(const RowBytes& bytes)
    {
        const auto bitsOf = [](__m256i v, int mask) {
            return _mm256_and_si256(v, _mm256_set1_epi8(static_cast<char>(mask)));
        };
        const auto set = [&](std::size_t stage, __m256i sixBits, __m256i bit4) {
            // Carries bit 5 into the top bit.
            stages[stage] = {_mm256_add_epi8(sixBits, _mm256_set1_epi8(0x60)), bit4};
        };
        const __m256i last = _mm256_srli_epi16(bytes.third, 2);
        set(0, bitsOf(bytes.first, 0x3F), _mm256_slli_epi16(bytes.first, 3));
        set(1,
            _mm256_or_si256(
                bitsOf(_mm256_srli_epi16(bytes.first, 6), 0x03), bitsOf(_mm256_slli_epi16(bytes.second, 2), 0x3C)),
            _mm256_slli_epi16(bytes.second, 5));
        set(2,
            _mm256_or_si256(
                bitsOf(_mm256_srli_epi16(bytes.second, 4), 0x0F), bitsOf(_mm256_slli_epi16(bytes.third, 4), 0x30)),
            _mm256_slli_epi16(bytes.third, 7));
        set(3, bitsOf(last, 0x3F), _mm256_slli_epi16(bytes.third, 1));
    }
};

// Adds what the four stages of one position contribute to 32 rows. 8 positions · 4 stages · 127 fit 16 bits.
void addPosition(const RowBytes& bytes, const std::uint8_t* table, ByteSums& low, ByteSums& high)
{
    const StageLookups lookups(bytes);
    for (std::size_t stage = 0; stage < kTableStages; stage += 2) {
        const auto two = [&](const std::uint8_t* planes) {
            return _mm256_add_epi8(
                lookups.stages[stage].in(planes), lookups.stages[stage + 1].in(planes + 2 * kTableEntries));
        };
        low.add(two(table + stage * 2 * kTableEntries));
        high.add(two(table + stage * 2 * kTableEntries + kTableEntries));
    }
}

// results[r] += scale · (128·high + low − bias) for 32 rows
void fold(const ByteSums& low, const ByteSums& high, std::size_t lookups, float scale, float* results)
{
    const __m256i weights = _mm256_set1_epi32(1 << (16 + kPlaneBits) | 1);
    const __m256i bias = _mm256_set1_epi32(static_cast<int>(lookups) * kBias);
    const __m256 factor = _mm256_set1_ps(scale);
    const auto value = [&](__m256i lowHigh) {
        return _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_madd_epi16(lowHigh, weights), bias));
    };
    const __m256i evenLow = low.lower();
    const __m256i evenHigh = high.lower();
    // Lanes of 16 bits: even rows of the lower half and the upper half of the register, then the odd ones.
    const __m256 even0 = value(_mm256_unpacklo_epi16(evenLow, evenHigh)); // rows 0 2 4 6 | 16 18 20 22
    const __m256 even1 = value(_mm256_unpackhi_epi16(evenLow, evenHigh)); // 8 10 12 14 | 24 26 28 30
    const __m256 odd0 = value(_mm256_unpacklo_epi16(low.upper, high.upper));
    const __m256 odd1 = value(_mm256_unpackhi_epi16(low.upper, high.upper));
    // The results are kept in this order; see storeRows.
    const __m256 parts[4] = {even0, odd0, even1, odd1};
    for (std::size_t i = 0; i < 4; ++i) {
        float* const result = results + i * kWidth;
        _mm256_store_ps(result, _mm256_fmadd_ps(parts[i], factor, _mm256_load_ps(result)));
    }
}

// From fold's order to that of the rows.
std::size_t placeOf(std::size_t row)
{
    const std::size_t half = row / kBlockRows * kBlockRows + row % kBlockRows / 32 * 32;
    const std::size_t r = row % 32;
    const std::size_t part = r % 16 / 8 * 2 + r % 2; // even0 odd0 even1 odd1
    return half + part * kWidth + r / 16 * 4 + r % 8 / 2;
}

constexpr std::size_t kRowsAtOnce = 256; // share a block's tables while they are in the first-level cache

} // namespace

namespace avx2 {

void buildTables(
    const VqMatrixView& matrix, const float* x, const TableInput& tables, std::size_t begin, std::size_t end)
{
    const TransposedCodebooks books(matrix.codebooks);
    for (std::size_t first = begin; first < end; first += kTableBlock) {
        const std::size_t positions = end - first < kTableBlock ? end - first : kTableBlock;
        BlockValues block;
        for (std::size_t p = 0; p < positions; ++p)
            computePosition(books, x + (first + p) * kWidth, block.values[p], block.largest);
        constexpr int kInfinityBits = 0x7F800000;
        const int bits = largestLane(block.largest);
        const bool isNumber = bits < kInfinityBits;
        const float largest = isNumber ? _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(bits))) : __builtin_nanf("");
        const bool isZero = !(largest >= kReducedMagnitudeMin);
        tables.scales[first / kTableBlock] = isZero && isNumber ? 0.0F : largest / kTableMax;
        const __m256 perUnit = _mm256_set1_ps(isZero ? 0.0F : kTableMax / largest);
        for (std::size_t p = 0; p < positions; ++p)
            storePlanes(block.values[p], perUnit, tables.entries + (first + p) * kTableBytes);
    }
}

void multiplyTables(
    const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end)
{
    constexpr std::size_t kBytes = 3; // of a position's indices
    const std::size_t blockBytes = tables.positions * kBlockRows * kBytes;
    for (std::size_t first = begin; first < end; first += kRowsAtOnce) {
        const std::size_t last = first + kRowsAtOnce < end ? first + kRowsAtOnce : end;
        alignas(32) float results[kRowsAtOnce] = {};
        for (std::size_t position = 0; position < tables.positions; position += kTableBlock) {
            const std::size_t rest = tables.positions - position;
            const std::size_t count = rest < kTableBlock ? rest : kTableBlock;
            for (std::size_t row = first; row < last; row += 32) {
                const std::uint8_t* indices = matrix.indices + row / kBlockRows * blockBytes
                    + (position * kBlockRows + row % kBlockRows) * kBytes;
                const std::uint8_t* table = tables.entries + position * kTableBytes;
                ByteSums low;
                ByteSums high;
                RowBytes next = separate(indices);
                for (std::size_t i = 0; i < count; ++i) {
                    // For the next block of positions.
                    _mm_prefetch(indices + kTableBlock * kBlockRows * kBytes, _MM_HINT_T0);
                    _mm_prefetch(indices + kTableBlock * kBlockRows * kBytes + 64, _MM_HINT_T0);
                    // A position ahead, so that lookups need not wait for it; the last one is taken apart twice.
                    const RowBytes bytes = next;
                    if (i + 1 < count)
                        indices += kBlockRows * kBytes;
                    next = separate(indices);
                    addPosition(bytes, table, low, high);
                    table += kTableBytes;
                }
                fold(low, high, count * kTableStages, tables.scales[position / kTableBlock], results + (row - first));
            }
        }
        for (std::size_t row = first; row < last; ++row)
            y[row] = results[placeOf(row - first)] * _cvtsh_ss(matrix.scales[row]);
    }
}

} // namespace avx2
} // namespace waste::kernels
#endif
