#if defined(__x86_64__)

#include "kernels/code_search_frame.h"
#include "kernels/x86_avx2.h"

// The searches of scalar_codes.cpp, eight entries at a time, and sums 16 at a time. Products and sums of f32 are
// rounded one by one, as there.

namespace waste::kernels {

namespace {

struct Columns {
    __m256 values[kCodeColumns];

    explicit Columns(const float* x)
    {
        for (std::size_t d = 0; d < kCodeColumns; ++d)
            values[d] = _mm256_set1_ps(x[d]);
    }
};

// ½‖c‖² − x·c for eight entries.
__m256 scoreChunk(const CodeBook& book, const Columns& x, std::size_t chunk)
{
    const float* const columns = book.columns + chunk * kCodeColumns * kWidth;
    __m256 even = _mm256_loadu_ps(book.halfNorms + chunk * kWidth);
    __m256 odd = _mm256_mul_ps(x.values[1], _mm256_loadu_ps(columns + kWidth));
    even = _mm256_sub_ps(even, _mm256_mul_ps(x.values[0], _mm256_loadu_ps(columns)));
    for (std::size_t d = 2; d < kCodeColumns; d += 2) {
        even = _mm256_sub_ps(even, _mm256_mul_ps(x.values[d], _mm256_loadu_ps(columns + d * kWidth)));
        odd = _mm256_add_ps(odd, _mm256_mul_ps(x.values[d + 1], _mm256_loadu_ps(columns + (d + 1) * kWidth)));
    }
    return _mm256_sub_ps(even, odd);
}

template<std::size_t kDepth>
void insert(__m256i* best, __m256i key)
{
    for (std::size_t d = 0; d + 1 < kDepth; ++d) {
        const __m256i larger = _mm256_max_epi32(best[d], key);
        best[d] = _mm256_min_epi32(best[d], key);
        key = larger;
    }
    best[kDepth - 1] = _mm256_min_epi32(best[kDepth - 1], key);
}

// What the entries of a stage make of one beginning.
template<std::size_t kStage, std::size_t kChunks>
struct Continuation {
    const std::int16_t* ownUnits;
    const std::int16_t* rows[kCodeStagesMax]; // the products with the entries of the stages before
    __m256i sumBefore;

    Continuation(const CodeBooks& books, const std::int16_t* units, const Beam& beam, std::size_t parent)
        : ownUnits(units + kStage * kChunks * kWidth)
        , sumBefore(_mm256_set1_epi16(beam.sum(parent)))
    {
        for (std::size_t t = 0; t < kStage; ++t)
            rows[t] = books.products[t][kStage] + (beam.codes[parent] >> (8 * t) & 255U) * kChunks * kWidth;
    }

    // Of the chunk and the one after it, at their productPlaces.
    [[nodiscard]] __m256i sums(std::size_t chunk) const
    {
        const auto load = [chunk](const std::int16_t* values) {
            return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + chunk * kWidth));
        };
        __m256i sum = _mm256_adds_epi16(sumBefore, load(ownUnits));
        for (std::size_t t = 0; t < kStage; ++t)
            sum = _mm256_adds_epi16(sum, load(rows[t]));
        return sum;
    }
};

// The best continuations of the beginnings with one stage more: [bins][depth][lanes].
template<std::size_t kStage, std::size_t kChunks, std::size_t kBins, std::size_t kDepth>
void findBest(const CodeBooks& books, const std::int16_t* units, const Beam& beam, std::int32_t* keys)
{
    constexpr std::size_t kParents = kStage == 0 ? 1 : kBins * kDepth * kWidth;
    __m256i best[kBins * kDepth];
    for (__m256i& key : best)
        key = _mm256_set1_epi32(0x7FFFFFFF);
    // Two candidates, each where one of the two unpackings takes it from.
    __m256i candidates = _mm256_setr_epi32(0, 0, 0x10001, 0x10001, 0, 0, 0x10001, 0x10001);
    for (std::size_t parent = 0; parent < kParents; ++parent) {
        const Continuation<kStage, kChunks> continuation(books, units, beam, parent);
        for (std::size_t chunk = 0; chunk < kChunks; chunk += 2) {
            const __m256i sums = continuation.sums(chunk);
            insert<kDepth>(best + chunk % kBins * kDepth, _mm256_unpacklo_epi16(candidates, sums));
            insert<kDepth>(best + (chunk + 1) % kBins * kDepth, _mm256_unpackhi_epi16(candidates, sums));
            candidates = _mm256_add_epi16(candidates, _mm256_set1_epi16(2));
        }
    }
    for (std::size_t i = 0; i < kBins * kDepth; ++i)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(keys + i * kWidth), best[i]);
}

// values[places], of a few registers of values.
template<std::size_t kRegisters>
__m256i lookUp(const std::uint32_t* values, __m256i places)
{
    __m256i found = _mm256_setzero_si256();
    for (std::size_t i = 0; i < kRegisters; ++i) {
        const __m256i ofRegister = _mm256_permutevar8x32_epi32(
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + i * kWidth)), places);
        const __m256i isThere =
            _mm256_cmpeq_epi32(_mm256_srli_epi32(places, 3), _mm256_set1_epi32(static_cast<int>(i)));
        found = _mm256_blendv_epi8(found, ofRegister, isThere);
    }
    return found;
}

// The smallest of sixteen.
std::uint16_t smallestOf(__m256i unsignedValues)
{
    const __m128i eight =
        _mm_min_epu16(_mm256_castsi256_si128(unsignedValues), _mm256_extracti128_si256(unsignedValues, 1));
    return static_cast<std::uint16_t>(_mm_extract_epi16(_mm_minpos_epu16(eight), 0));
}

struct Steps {
    static float squareRoot(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

    template<std::size_t kChunks>
    static void scoreEntries(const CodeBooks& books, const float* vector, std::int16_t* units)
    {
        const float factor = CodeSearch<Steps>::integerScale(books, vector);
        // What has no length may be no number, times zero.
        const __m256 scaled = factor > 0 ? _mm256_mul_ps(_mm256_loadu_ps(vector), _mm256_set1_ps(factor)) : __m256{};
        const __m256i integers = _mm256_cvtps_epi32(scaled);
        const __m128i x = _mm_packs_epi32(_mm256_castsi256_si128(integers), _mm256_extracti128_si256(integers, 1));
        constexpr std::size_t kPairs = kCodeColumns / 2;
        const __m256i pairs[kPairs] = {_mm256_broadcastd_epi32(x), _mm256_broadcastd_epi32(_mm_shuffle_epi32(x, 0x55)),
            _mm256_broadcastd_epi32(_mm_shuffle_epi32(x, 0xAA)), _mm256_broadcastd_epi32(_mm_shuffle_epi32(x, 0xFF))};
        const auto load = [](const void* values) { return _mm256_loadu_si256(static_cast<const __m256i*>(values)); };
        const auto score = [&](const CodeStage& book, std::size_t chunk) {
            const std::int16_t* const columns = book.columns + chunk * kCodeColumns * kWidth;
            __m256i sum = load(book.halfNorms + chunk * kWidth);
            for (std::size_t p = 0; p < kPairs; ++p)
                sum = _mm256_sub_epi32(sum, _mm256_madd_epi16(pairs[p], load(columns + p * 2 * kWidth)));
            return _mm256_srai_epi32(sum, kProductBits);
        };
        for (std::size_t stage = 0; stage < books.stages; ++stage) {
            for (std::size_t chunk = 0; chunk < kChunks; chunk += 2, units += 2 * kWidth) {
                const __m256i both =
                    _mm256_packs_epi32(score(books.books[stage], chunk), score(books.books[stage], chunk + 1));
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(units), both);
            }
        }
    }

    template<std::size_t kStage, std::size_t kChunks, std::size_t kBins, std::size_t kDepth>
    static void expand(const CodeBooks& books, const std::int16_t* units, const Beam& beam, Beam& next)
    {
        constexpr int kChunkBits = kChunks == 8 ? 3 : 5;
        static_assert(kChunks == 1 << kChunkBits);
        findBest<kStage, kChunks, kBins, kDepth>(books, units, beam, next.keys);
        for (std::size_t i = 0; i < kBins * kDepth; ++i) {
            const __m256i keys = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(next.keys + i * kWidth));
            const __m256i candidates = _mm256_and_si256(keys, _mm256_set1_epi32((1 << kCandidateBits) - 1));
            const __m256i chunks = _mm256_and_si256(candidates, _mm256_set1_epi32(static_cast<int>(kChunks) - 1));
            const __m256i entries =
                _mm256_or_si256(_mm256_slli_epi32(chunks, 3), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
            const __m256i before = kStage == 0
                ? _mm256_setzero_si256()
                : lookUp<kBins * kDepth>(beam.codes, _mm256_srli_epi32(candidates, kChunkBits));
            const __m256i codes = _mm256_or_si256(before, _mm256_slli_epi32(entries, 8 * kStage));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(next.codes + i * kWidth), codes);
        }
    }

    // As only one is wanted, sums are enough to find it: the first beginning that comes to the smallest sum, and that
    // one's first entry.
    template<std::size_t kStage, std::size_t kChunks, std::size_t kParents>
    static std::uint32_t finish(const CodeBooks& books, const std::int16_t* units, const Beam& beam)
    {
        __m256i best = _mm256_set1_epi16(0x7FFF);
        __m256i bestParent = _mm256_setzero_si256();
        for (std::size_t parent = 0; parent < kParents; ++parent) {
            const Continuation<kStage, kChunks> continuation(books, units, beam, parent);
            __m256i smallest = continuation.sums(0);
            for (std::size_t chunk = 2; chunk < kChunks; chunk += 2)
                smallest = _mm256_min_epi16(smallest, continuation.sums(chunk));
            const __m256i isLess = _mm256_cmpgt_epi16(best, smallest);
            best = _mm256_min_epi16(best, smallest);
            bestParent = _mm256_blendv_epi8(bestParent, _mm256_set1_epi16(static_cast<std::int16_t>(parent)), isLess);
        }
        const __m256i signBit = _mm256_set1_epi16(INT16_MIN);
        const auto biased = static_cast<std::int16_t>(smallestOf(_mm256_xor_si256(best, signBit)));
        const __m256i sum = _mm256_xor_si256(_mm256_set1_epi16(biased), signBit);
        const __m256i isLarger = _mm256_cmpgt_epi16(best, sum);
        const std::size_t parent = smallestOf(_mm256_or_si256(bestParent, isLarger));
        const Continuation<kStage, kChunks> continuation(books, units, beam, parent);
        for (std::size_t chunk = 0; chunk < kChunks; chunk += 2) {
            constexpr int kSwapInner = 0xD8; // fours, from their productPlaces
            const __m256i isBest = _mm256_cmpeq_epi16(continuation.sums(chunk), sum);
            const auto bytes =
                static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_permute4x64_epi64(isBest, kSwapInner)));
            if (bytes != 0) {
                const auto lane = static_cast<std::uint32_t>(__builtin_ctz(bytes)) / 2;
                return beam.codes[parent] | (static_cast<std::uint32_t>(chunk * kWidth) + lane) << (8 * kStage);
            }
        }
        return beam.codes[parent]; // never: one of the sums was the smallest
    }
};

std::uint8_t nearestEntry(const CodeBook& book, const float* vector)
{
    const Columns x(vector);
    // Entry 0 is the first best one of all lanes: of scores that are no number it alone stays.
    __m256 best = _mm256_broadcastss_ps(_mm256_castps256_ps128(scoreChunk(book, x, 0)));
    __m256i bestChunk = _mm256_setzero_si256();
    for (std::size_t chunk = 0; chunk < book.entries / kWidth; ++chunk) {
        const __m256 score = scoreChunk(book, x, chunk);
        const __m256 isLess = _mm256_cmp_ps(score, best, _CMP_LT_OQ);
        best = _mm256_blendv_ps(best, score, isLess);
        bestChunk =
            _mm256_blendv_epi8(bestChunk, _mm256_set1_epi32(static_cast<int>(chunk)), _mm256_castps_si256(isLess));
    }
    float scores[kWidth];
    std::uint32_t chunks[kWidth];
    _mm256_storeu_ps(scores, best);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(chunks), bestChunk);
    return nearestOf(scores, chunks);
}

} // namespace

namespace avx2 {

void nearestEntries(const CodeBook& book, const float* vectors, std::size_t count, std::uint8_t* entries)
{
    for (std::size_t i = 0; i < count; ++i)
        entries[i] = nearestEntry(book, vectors + i * kCodeColumns);
}

void searchCodes(const CodeBooks& books, BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes)
{
    CodeSearch<Steps>::run(books, width, vectors, count, codes);
}

} // namespace avx2

} // namespace waste::kernels
#endif
