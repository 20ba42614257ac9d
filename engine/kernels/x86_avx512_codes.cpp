#if defined(__x86_64__)

#include "kernels/code_search_frame.h"
#include "kernels/x86_avx512.h"

// The searches of scalar_codes.cpp, sixteen scores or 32 sums at a time, as in x86_avx2_codes.cpp. Products and sums of
// f32 are rounded one by one.

namespace waste::kernels {

namespace {

constexpr std::size_t kLanes = kCodeLanes;

// An even column of x in the lower half of each register, the odd one after it in the upper: as a chunk of entries has
// them.
struct Columns {
    __m512 pairs[kCodeColumns / 2];

    explicit Columns(const float* x)
    {
        for (std::size_t i = 0; i < kCodeColumns / 2; ++i)
            pairs[i] = _mm512_mask_mov_ps(_mm512_set1_ps(x[2 * i]), 0xFF00, _mm512_set1_ps(x[2 * i + 1]));
    }
};

// Eight entries: ½‖c‖² less the products of even columns in the lower half, those of odd ones off nothing in the upper.
__m512 scoreHalves(const CodeBook& book, const Columns& x, std::size_t chunk)
{
    const float* const columns = book.columns + chunk * kCodeColumns * kLanes;
    __m512 halves = _mm512_zextps256_ps512(_mm256_loadu_ps(book.halfNorms + chunk * kLanes));
    for (std::size_t i = 0; i < kCodeColumns / 2; ++i)
        halves = _mm512_sub_ps(halves, _mm512_mul_ps(x.pairs[i], _mm512_loadu_ps(columns + 2 * i * kLanes)));
    return halves;
}

// ½‖c‖² − x·c for the entries of two chunks.
__m512 scoreChunks(const CodeBook& book, const Columns& x, std::size_t first, std::size_t second)
{
    const __m512 a = scoreHalves(book, x, first);
    const __m512 b = scoreHalves(book, x, second);
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
}

// x in integers, two columns a word: the first pair in the lower half of a register and the second in the upper, then
// the third and the fourth, as a chunk of entries has them.
struct ColumnPairs {
    __m512i halves[2];

    ColumnPairs(const float* vector, float factor)
    {
        // What has no length may be no number, times zero.
        const __m256 scaled = factor > 0 ? _mm256_mul_ps(_mm256_loadu_ps(vector), _mm256_set1_ps(factor)) : __m256{};
        const __m512i x = _mm512_zextsi128_si512(_mm256_cvtsepi32_epi16(_mm256_cvtps_epi32(scaled)));
        const __m512i places = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
        halves[0] = _mm512_permutexvar_epi32(places, x);
        halves[1] = _mm512_permutexvar_epi32(_mm512_add_epi32(places, _mm512_set1_epi32(2)), x);
    }
};

// Eight entries: ½‖c‖² less the products of two pairs of columns in the lower half, those of the others off nothing in
// the upper.
__m512i sumHalves(const CodeStage& book, const ColumnPairs& x, std::size_t chunk)
{
    const std::int16_t* const columns = book.columns + chunk * kCodeColumns * kLanes;
    const auto* const halfNorms = reinterpret_cast<const __m256i*>(book.halfNorms + chunk * kLanes);
    const __m512i first = _mm512_madd_epi16(x.halves[0], loadBytes(columns));
    const __m512i second = _mm512_madd_epi16(x.halves[1], loadBytes(columns + kCodeColumns * kLanes / 2));
    return _mm512_sub_epi32(_mm512_sub_epi32(_mm512_zextsi256_si512(_mm256_loadu_si256(halfNorms)), first), second);
}

// The terms of the entries of two chunks, as 32-bit integers.
__m512i unitsOfChunks(const CodeStage& book, const ColumnPairs& x, std::size_t first, std::size_t second)
{
    const __m512i a = sumHalves(book, x, first);
    const __m512i b = sumHalves(book, x, second);
    return _mm512_srai_epi32(
        _mm512_add_epi32(_mm512_shuffle_i64x2(a, b, 0x44), _mm512_shuffle_i64x2(a, b, 0xEE)), kProductBits);
}

// What of key and best is not the smaller one, is the larger: maxima would wait for the one unit that makes the minima
// too, and this does not.
template<std::size_t kDepth>
void insert(__m512i* best, __m512i key)
{
    constexpr int kExclusiveOr = 0x96; // of three
    for (std::size_t d = 0; d + 1 < kDepth; ++d) {
        const __m512i smaller = _mm512_min_epi32(best[d], key);
        key = _mm512_ternarylogic_epi32(key, best[d], smaller, kExclusiveOr);
        best[d] = smaller;
    }
    best[kDepth - 1] = _mm512_min_epi32(best[kDepth - 1], key);
}

// What the entries of a stage make of one beginning.
template<std::size_t kStage, std::size_t kChunks>
struct Continuation {
    const std::int16_t* ownUnits;
    const std::int16_t* rows[kCodeStagesMax]; // the products with the entries of the stages before
    __m512i sumBefore;

    Continuation(const CodeBooks& books, const std::int16_t* units, const Beam& beam, std::size_t parent)
        : ownUnits(units + kStage * kChunks * kLanes)
        , sumBefore(_mm512_set1_epi16(beam.sum(parent)))
    {
        for (std::size_t t = 0; t < kStage; ++t)
            rows[t] = books.products[t][kStage] + (beam.codes[parent] >> (8 * t) & 255U) * kChunks * kLanes;
    }

    // Of the chunk and the three after it, at their productPlaces.
    [[nodiscard]] __m512i sums(std::size_t chunk) const
    {
        __m512i sum = _mm512_adds_epi16(sumBefore, loadBytes(ownUnits + chunk * kLanes));
        for (std::size_t t = 0; t < kStage; ++t)
            sum = _mm512_adds_epi16(sum, loadBytes(rows[t] + chunk * kLanes));
        return sum;
    }
};

// Both halves of a register hold keys of the same classes: the best of both, [depth][lanes].
template<std::size_t kDepth>
void storeBest(__m512i* best, std::int32_t* keys)
{
    __m512i upper[kDepth];
    for (std::size_t d = 0; d < kDepth; ++d)
        upper[d] = _mm512_shuffle_i64x2(best[d], best[d], 0x4E);
    for (std::size_t d = 0; d < kDepth; ++d)
        insert<kDepth>(best, upper[d]);
    for (std::size_t d = 0; d < kDepth; ++d)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(keys + d * kLanes), _mm512_castsi512_si256(best[d]));
}

// The best continuations of the beginnings with one stage more: [bins][depth][lanes].
template<std::size_t kStage, std::size_t kChunks, std::size_t kBins, std::size_t kDepth>
void findBest(const CodeBooks& books, const std::int16_t* units, const Beam& beam, std::int32_t* keys)
{
    constexpr std::size_t kParents = kStage == 0 ? 1 : kBins * kDepth * kLanes;
    __m512i best[kBins * kDepth];
    for (__m512i& key : best)
        key = _mm512_set1_epi32(0x7FFFFFFF);
    // Four candidates, each where one of the two unpackings takes it from.
    __m512i candidates = _mm512_setr_epi32(0, 0, 0x10001, 0x10001, 0, 0, 0x10001, 0x10001, 0x20002, 0x20002, 0x30003,
        0x30003, 0x20002, 0x20002, 0x30003, 0x30003);
    for (std::size_t parent = 0; parent < kParents; ++parent) {
        const Continuation<kStage, kChunks> continuation(books, units, beam, parent);
        for (std::size_t chunk = 0; chunk < kChunks; chunk += 4) {
            const __m512i sums = continuation.sums(chunk);
            insert<kDepth>(best, _mm512_unpacklo_epi16(candidates, sums));
            insert<kDepth>(best + (kBins - 1) * kDepth, _mm512_unpackhi_epi16(candidates, sums));
            candidates = _mm512_add_epi16(candidates, _mm512_set1_epi16(4));
        }
    }
    for (std::size_t bin = 0; bin < kBins; ++bin)
        storeBest<kDepth>(best + bin * kDepth, keys + bin * kDepth * kLanes);
}

// values[places], of kCount values.
template<std::size_t kCount>
__m512i lookUp(const std::uint32_t* values, __m512i places)
{
    constexpr auto kFirst = static_cast<__mmask16>(kCount < kFloats ? (1U << kCount) - 1 : 0xFFFF);
    const __m512i first = _mm512_maskz_loadu_epi32(kFirst, values);
    if constexpr (kCount <= kFloats) {
        return _mm512_permutexvar_epi32(places, first);
    } else {
        const __m512i found = _mm512_permutex2var_epi32(first, places, loadBytes(values + kFloats));
        if constexpr (kCount <= 2 * kFloats)
            return found;
        const __m512i upper =
            _mm512_permutex2var_epi32(loadBytes(values + 2 * kFloats), places, loadBytes(values + 3 * kFloats));
        return _mm512_mask_mov_epi32(found, _mm512_test_epi32_mask(places, _mm512_set1_epi32(2 * kFloats)), upper);
    }
}

// The smallest of 32.
std::uint16_t smallestOf(__m512i unsignedValues)
{
    const __m256i sixteen =
        _mm256_min_epu16(_mm512_castsi512_si256(unsignedValues), _mm512_extracti64x4_epi64(unsignedValues, 1));
    const __m128i eight = _mm_min_epu16(_mm256_castsi256_si128(sixteen), _mm256_extracti128_si256(sixteen, 1));
    return static_cast<std::uint16_t>(_mm_extract_epi16(_mm_minpos_epu16(eight), 0));
}

// From productPlaces to entries: of sixteen bits the inner fours are swapped.
std::uint32_t inOrder(std::uint32_t places)
{
    return (places & 0xF00FF00FU) | (places & 0x00F000F0U) << 4 | (places & 0x0F000F00U) >> 4;
}

struct Steps {
    static float squareRoot(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

    template<std::size_t kChunks>
    static void scoreEntries(const CodeBooks& books, const float* vector, std::int16_t* units)
    {
        const ColumnPairs x(vector, CodeSearch<Steps>::integerScale(books, vector));
        for (std::size_t stage = 0; stage < books.stages; ++stage) {
            const CodeStage& book = books.books[stage];
            for (std::size_t chunk = 0; chunk < kChunks; chunk += 4, units += 4 * kLanes) {
                const __m512i four = _mm512_packs_epi32(
                    unitsOfChunks(book, x, chunk, chunk + 2), unitsOfChunks(book, x, chunk + 1, chunk + 3));
                _mm512_storeu_si512(units, four);
            }
        }
    }

    template<std::size_t kStage, std::size_t kChunks, std::size_t kBins, std::size_t kDepth>
    static void expand(const CodeBooks& books, const std::int16_t* units, const Beam& beam, Beam& next)
    {
        constexpr unsigned kChunkBits = kChunks == 8 ? 3 : 5;
        static_assert(kChunks == 1 << kChunkBits);
        constexpr std::size_t kCount = kBins * kDepth * kLanes;
        constexpr auto kHere = static_cast<__mmask16>(kCount < kFloats ? (1U << kCount) - 1 : 0xFFFF);
        findBest<kStage, kChunks, kBins, kDepth>(books, units, beam, next.keys);
        const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7);
        for (std::size_t i = 0; i < kCount; i += kFloats) {
            const __m512i keys = _mm512_maskz_loadu_epi32(kHere, next.keys + i);
            const __m512i candidates = _mm512_and_si512(keys, _mm512_set1_epi32((1 << kCandidateBits) - 1));
            const __m512i chunks = _mm512_and_si512(candidates, _mm512_set1_epi32(static_cast<int>(kChunks) - 1));
            const __m512i entries = _mm512_or_si512(_mm512_slli_epi32(chunks, 3), lanes);
            const __m512i before = kStage == 0 ? _mm512_setzero_si512()
                                               : lookUp<kCount>(beam.codes, _mm512_srli_epi32(candidates, kChunkBits));
            const __m512i codes = _mm512_or_si512(before, _mm512_slli_epi32(entries, 8 * kStage));
            _mm512_mask_storeu_epi32(next.codes + i, kHere, codes);
        }
    }

    // As only one is wanted, sums are enough to find it: the first beginning that comes to the smallest sum, and that
    // one's first entry.
    template<std::size_t kStage, std::size_t kChunks, std::size_t kParents>
    static std::uint32_t finish(const CodeBooks& books, const std::int16_t* units, const Beam& beam)
    {
        __m512i best = _mm512_set1_epi16(0x7FFF);
        __m512i bestParent = _mm512_setzero_si512();
        for (std::size_t parent = 0; parent < kParents; ++parent) {
            const Continuation<kStage, kChunks> continuation(books, units, beam, parent);
            __m512i smallest = continuation.sums(0);
            for (std::size_t chunk = 4; chunk < kChunks; chunk += 4)
                smallest = _mm512_min_epi16(smallest, continuation.sums(chunk));
            const __mmask32 isLess = _mm512_cmplt_epi16_mask(smallest, best);
            best = _mm512_min_epi16(best, smallest);
            bestParent =
                _mm512_mask_mov_epi16(bestParent, isLess, _mm512_set1_epi16(static_cast<std::int16_t>(parent)));
        }
        const __m512i signBit = _mm512_set1_epi16(INT16_MIN);
        const auto biased = static_cast<std::int16_t>(smallestOf(_mm512_xor_si512(best, signBit)));
        const __m512i sum = _mm512_xor_si512(_mm512_set1_epi16(biased), signBit);
        const __mmask32 isLarger = _mm512_cmpgt_epi16_mask(best, sum);
        const std::size_t parent = smallestOf(_mm512_mask_mov_epi16(bestParent, isLarger, _mm512_set1_epi16(-1)));
        const Continuation<kStage, kChunks> continuation(books, units, beam, parent);
        for (std::size_t chunk = 0; chunk < kChunks; chunk += 4) {
            const std::uint32_t isBest = inOrder(_mm512_cmpeq_epi16_mask(continuation.sums(chunk), sum));
            if (isBest != 0) {
                const auto lane = static_cast<std::uint32_t>(__builtin_ctz(isBest));
                return beam.codes[parent] | (static_cast<std::uint32_t>(chunk * kLanes) + lane) << (8 * kStage);
            }
        }
        return beam.codes[parent]; // never: one of the sums was the smallest
    }
};

std::uint8_t nearestEntry(const CodeBook& book, const float* vector)
{
    const Columns x(vector);
    // Entry 0 is the first best one of all lanes: of scores that are no number it alone stays.
    __m512 best = _mm512_broadcastss_ps(_mm512_castps512_ps128(scoreChunks(book, x, 0, 1)));
    __m512i bestPair = _mm512_setzero_si512();
    for (std::size_t chunk = 0; chunk < book.entries / kLanes; chunk += 2) {
        const __m512 score = scoreChunks(book, x, chunk, chunk + 1);
        const __mmask16 isLess = _mm512_cmp_ps_mask(score, best, _CMP_LT_OQ);
        best = _mm512_mask_mov_ps(best, isLess, score);
        bestPair = _mm512_mask_mov_epi32(bestPair, isLess, _mm512_set1_epi32(static_cast<int>(chunk / 2)));
    }
    float scores[kFloats];
    std::uint32_t pairs[kFloats];
    _mm512_storeu_ps(scores, best);
    _mm512_storeu_si512(pairs, bestPair);
    return nearestOf(scores, pairs);
}

} // namespace

namespace avx512 {

void nearestEntries(const CodeBook& book, const float* vectors, std::size_t count, std::uint8_t* entries)
{
    for (std::size_t i = 0; i < count; ++i)
        entries[i] = nearestEntry(book, vectors + i * kCodeColumns);
}

void searchCodes(const CodeBooks& books, BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes)
{
    CodeSearch<Steps>::run(books, width, vectors, count, codes);
}

} // namespace avx512

} // namespace waste::kernels
#endif
