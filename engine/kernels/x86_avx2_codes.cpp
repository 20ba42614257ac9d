#if defined(__x86_64__)

#include "kernels/x86_avx2.h"

// The searches of scalar_codes.cpp, eight entries at a time. Products and sums of f32 are rounded one by one, as
// there: these CPUs add in other units than they multiply in, so that fused operations gain little. Sums are made 16 at
// a time.

namespace waste::kernels {

namespace {

// Beginnings of codes.
struct Beam {
    std::size_t count = 0;
    std::int16_t sums[kBeamWidthMax];
    std::uint32_t codes[kBeamWidthMax]; // stage s at bits 8s
};

struct Columns {
    __m256 values[kCodeColumns];

    Columns(const float* x, float factor)
    {
        for (std::size_t d = 0; d < kCodeColumns; ++d)
            values[d] = _mm256_set1_ps(x[d] * factor);
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

// 1, or what brings x within reach.
float factorWithin(float reach, const float* x)
{
    float square = 0;
    for (std::size_t d = 0; d < kCodeColumns; ++d)
        square += x[d] * x[d];
    return square <= reach * reach ? 1 : reach / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(square)));
}

// units[stage][productPlace(entry)]
template<std::size_t kChunks>
void scoreEntries(const CodeBooks& books, const float* vector, std::int16_t* units)
{
    const Columns x(vector, factorWithin(books.reach, vector)); // made here, so that it stays in registers
    const __m256 scale = _mm256_set1_ps(books.scale);
    const auto score = [&](std::size_t stage, std::size_t chunk) {
        return _mm256_cvtps_epi32(_mm256_mul_ps(scoreChunk(books.books[stage], x, chunk), scale));
    };
    for (std::size_t stage = 0; stage < books.stages; ++stage) {
        for (std::size_t chunk = 0; chunk < kChunks; chunk += 2) {
            const __m256i both = _mm256_packs_epi32(score(stage, chunk), score(stage, chunk + 1));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(units + (stage * kChunks + chunk) * kWidth), both);
        }
    }
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

// The best continuations of all beginnings with one stage more: [bins][depth][lanes].
template<std::size_t kStage, std::size_t kChunks, std::size_t kBins, std::size_t kDepth>
void findBest(const CodeBooks& books, const std::int16_t* units, const Beam& beam, std::int32_t* keys)
{
    const std::int16_t* const ownUnits = units + kStage * kChunks * kWidth;
    __m256i best[kBins * kDepth];
    for (__m256i& key : best)
        key = _mm256_set1_epi32(0x7FFFFFFF);
    const __m256i one = _mm256_set1_epi16(1);
    __m256i candidate = _mm256_setzero_si256();
    for (std::size_t parent = 0; parent < beam.count; ++parent) {
        const std::int16_t* rows[kCodeStagesMax];
        for (std::size_t t = 0; t < kStage; ++t)
            rows[t] = books.products[t][kStage] + (beam.codes[parent] >> (8 * t) & 255U) * kChunks * kWidth;
        const __m256i sumBefore = _mm256_set1_epi16(beam.sums[parent]);
        for (std::size_t chunk = 0; chunk < kChunks; chunk += 2) {
            const auto load = [chunk](const std::int16_t* values) {
                return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + chunk * kWidth));
            };
            __m256i sum = _mm256_adds_epi16(sumBefore, load(ownUnits));
            for (std::size_t t = 0; t < kStage; ++t)
                sum = _mm256_adds_epi16(sum, load(rows[t]));
            insert<kDepth>(best + chunk % kBins * kDepth, _mm256_unpacklo_epi16(candidate, sum));
            candidate = _mm256_add_epi16(candidate, one);
            insert<kDepth>(best + (chunk + 1) % kBins * kDepth, _mm256_unpackhi_epi16(candidate, sum));
            candidate = _mm256_add_epi16(candidate, one);
        }
    }
    for (std::size_t i = 0; i < kBins * kDepth; ++i)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(keys + i * kWidth), best[i]);
}

template<std::size_t kChunks>
std::uint32_t grownCode(const Beam& beam, std::size_t stage, std::int32_t key, std::size_t lane)
{
    const std::uint32_t candidate = static_cast<std::uint32_t>(key) % (1U << kCandidateBits);
    const auto entry = static_cast<std::uint32_t>(candidate % kChunks * kWidth + lane);
    return beam.codes[candidate / kChunks] | entry << (8 * stage);
}

template<std::size_t kStage, std::size_t kChunks, std::size_t kBins, std::size_t kDepth>
void expand(const CodeBooks& books, const std::int16_t* units, const Beam& beam, Beam& next)
{
    std::int32_t keys[kBins * kDepth * kWidth];
    findBest<kStage, kChunks, kBins, kDepth>(books, units, beam, keys);
    next.count = kBins * kDepth * kWidth;
    for (std::size_t i = 0; i < kBins * kDepth * kWidth; ++i) {
        next.sums[i] = static_cast<std::int16_t>(keys[i] >> kCandidateBits);
        next.codes[i] = grownCode<kChunks>(beam, kStage, keys[i], i % kWidth);
    }
}

template<std::size_t kStage, std::size_t kChunks>
std::uint32_t finish(const CodeBooks& books, const std::int16_t* units, const Beam& beam)
{
    std::int32_t keys[kWidth];
    findBest<kStage, kChunks, 1, 1>(books, units, beam, keys);
    std::size_t best = 0;
    for (std::size_t lane = 1; lane < kWidth; ++lane) {
        if (keys[lane] < keys[best])
            best = lane;
    }
    return grownCode<kChunks>(beam, kStage, keys[best], best);
}

template<std::size_t kChunks, std::size_t kBins, std::size_t kDepth>
void searchAll(const CodeBooks& books, const float* vectors, std::size_t count, std::uint8_t* codes)
{
    std::int16_t units[kCodeStagesMax * kChunks * kWidth];
    Beam beams[2];
    for (std::size_t i = 0; i < count; ++i) {
        scoreEntries<kChunks>(books, vectors + i * kCodeColumns, units);
        beams[0].count = 1;
        beams[0].sums[0] = 0;
        beams[0].codes[0] = 0;
        expand<0, kChunks, kBins, kDepth>(books, units, beams[0], beams[1]);
        std::uint32_t code = 0;
        if (books.stages == 2) {
            code = finish<1, kChunks>(books, units, beams[1]);
        } else {
            expand<1, kChunks, kBins, kDepth>(books, units, beams[1], beams[0]);
            if (books.stages == 3) {
                code = finish<2, kChunks>(books, units, beams[0]);
            } else {
                expand<2, kChunks, kBins, kDepth>(books, units, beams[0], beams[1]);
                code = finish<3, kChunks>(books, units, beams[1]);
            }
        }
        for (std::size_t stage = 0; stage < books.stages; ++stage)
            codes[i * books.stages + stage] = static_cast<std::uint8_t>(code >> (8 * stage));
    }
}

template<std::size_t kChunks>
void searchWith(const CodeBooks& books, BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes)
{
    switch (width) {
    case BeamWidth::Eight:
        return searchAll<kChunks, 1, 1>(books, vectors, count, codes);
    case BeamWidth::Sixteen:
        return searchAll<kChunks, 1, 2>(books, vectors, count, codes);
    case BeamWidth::ThirtyTwo:
        return searchAll<kChunks, 1, 4>(books, vectors, count, codes);
    case BeamWidth::SixtyFour:
        return searchAll<kChunks, 2, 4>(books, vectors, count, codes);
    }
}

std::uint8_t nearestEntry(const CodeBook& book, const float* vector)
{
    const Columns x(vector, 1);
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
    std::size_t lane = 0;
    for (std::size_t other = 1; other < kWidth; ++other) {
        if (scores[other] < scores[lane] || (scores[other] == scores[lane] && chunks[other] < chunks[lane]))
            lane = other;
    }
    return static_cast<std::uint8_t>(chunks[lane] * kWidth + lane);
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
    if (books.books[0].entries == 64)
        searchWith<64 / kWidth>(books, width, vectors, count, codes);
    else
        searchWith<256 / kWidth>(books, width, vectors, count, codes);
}

} // namespace avx2

} // namespace waste::kernels
#endif
