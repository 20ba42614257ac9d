#if defined(__aarch64__)

#include "kernels/arm_neon.h"
#include "kernels/code_search_frame.h"

// The searches of scalar_codes.cpp, four entries at a time where they are scored and sixteen where sums are made.
// Products and sums of f32 are rounded one by one, as there.

namespace waste::kernels {

namespace {

struct Columns {
    float values[kCodeColumns];

    explicit Columns(const float* x)
    {
        for (std::size_t d = 0; d < kCodeColumns; ++d)
            values[d] = x[d];
    }
};

// ½‖c‖² − x·c for four entries.
float32x4_t scoreFour(const CodeBook& book, const Columns& x, std::size_t entry)
{
    const float* const columns = book.columns + entry / kCodeLanes * kCodeLanes * kCodeColumns + entry % kCodeLanes;
    const auto product = [&](std::size_t d) { return vmulq_n_f32(vld1q_f32(columns + d * kCodeLanes), x.values[d]); };
    float32x4_t even = vsubq_f32(vld1q_f32(book.halfNorms + entry), product(0));
    float32x4_t odd = product(1);
    for (std::size_t d = 2; d < kCodeColumns; d += 2) {
        even = vsubq_f32(even, product(d));
        odd = vaddq_f32(odd, product(d + 1));
    }
    return vsubq_f32(even, odd);
}

// x in integers: each two columns of it four times.
struct Pairs {
    int16x8_t values[kCodeColumns / 2];

    Pairs(const float* x, float factor)
    {
        // What has no length may be no number, times zero.
        const auto four = [&](std::size_t d) {
            return vcvtnq_s32_f32(factor > 0 ? vmulq_n_f32(vld1q_f32(x + d), factor) : vdupq_n_f32(0));
        };
        const int32x4_t pairs = vreinterpretq_s32_s16(vqmovn_high_s32(vqmovn_s32(four(0)), four(kWidth)));
        values[0] = vreinterpretq_s16_s32(vdupq_laneq_s32(pairs, 0));
        values[1] = vreinterpretq_s16_s32(vdupq_laneq_s32(pairs, 1));
        values[2] = vreinterpretq_s16_s32(vdupq_laneq_s32(pairs, 2));
        values[3] = vreinterpretq_s16_s32(vdupq_laneq_s32(pairs, 3));
    }
};

// Of four entries.
int32x4_t score(const CodeStage& book, const Pairs& x, std::size_t entry)
{
    const std::int16_t* const columns =
        book.columns + entry / kCodeLanes * kCodeLanes * kCodeColumns + entry % kCodeLanes * 2;
    int32x4_t lower = vdupq_n_s32(0); // of the first two entries, even and odd columns apart
    int32x4_t upper = vdupq_n_s32(0);
    for (std::size_t p = 0; p < kCodeColumns / 2; ++p) {
        const int16x8_t pair = vld1q_s16(columns + p * 2 * kCodeLanes);
        lower = vmlal_s16(lower, vget_low_s16(pair), vget_low_s16(x.values[p]));
        upper = vmlal_high_s16(upper, pair, x.values[p]);
    }
    return vshrq_n_s32(vsubq_s32(vld1q_s32(book.halfNorms + entry), vpaddq_s32(lower, upper)), kProductBits);
}

template<std::size_t kDepth>
void insert(int32x4_t* best, int32x4_t key)
{
    for (std::size_t d = 0; d + 1 < kDepth; ++d) {
        const int32x4_t larger = vmaxq_s32(best[d], key);
        best[d] = vminq_s32(best[d], key);
        key = larger;
    }
    best[kDepth - 1] = vminq_s32(best[kDepth - 1], key);
}

// The best continuations of all beginnings with one stage more: [bins][depth][lanes].
template<std::size_t kStage, std::size_t kChunks, std::size_t kParents, std::size_t kBins, std::size_t kDepth>
void findBest(const CodeBooks& books, const std::int16_t* units, const Beam& beam, std::int32_t* keys)
{
    static_assert(kBins <= 2);
    const std::int16_t* const ownUnits = units + kStage * kChunks * kCodeLanes;
    int32x4_t best[kBins][2][kDepth]; // the lower and the upper lanes apart
    for (std::size_t i = 0; i < kBins * 2 * kDepth; ++i)
        best[i / (2 * kDepth)][i / kDepth % 2][i % kDepth] = vdupq_n_s32(0x7FFFFFFF);
    const int16x8_t one = vdupq_n_s16(1);
    int16x8_t candidate = vdupq_n_s16(0);
    for (std::size_t parent = 0; parent < kParents; ++parent) {
        const std::int16_t* rows[kCodeStagesMax];
        for (std::size_t t = 0; t < kStage; ++t)
            rows[t] = books.products[t][kStage] + (beam.codes[parent] >> (8 * t) & 255U) * kChunks * kCodeLanes;
        const int16x8_t sumBefore = vdupq_n_s16(beam.sum(parent));
        for (std::size_t chunk = 0; chunk < kChunks; chunk += 2) {
            const auto sumOfHalf = [&](std::size_t half) {
                const std::size_t place = (chunk + half) * kCodeLanes;
                int16x8_t sum = vqaddq_s16(sumBefore, vld1q_s16(ownUnits + place));
                for (std::size_t t = 0; t < kStage; ++t)
                    sum = vqaddq_s16(sum, vld1q_s16(rows[t] + place));
                return sum;
            };
            const auto keysOf = [](int16x8_t sums) { return vreinterpretq_s32_s16(sums); };
            const int16x8_t lower = sumOfHalf(0);
            const int16x8_t upper = sumOfHalf(1);
            insert<kDepth>(best[0][0], keysOf(vzip1q_s16(candidate, lower)));
            insert<kDepth>(best[0][1], keysOf(vzip1q_s16(candidate, upper)));
            candidate = vaddq_s16(candidate, one);
            insert<kDepth>(best[kBins - 1][0], keysOf(vzip2q_s16(candidate, lower)));
            insert<kDepth>(best[kBins - 1][1], keysOf(vzip2q_s16(candidate, upper)));
            candidate = vaddq_s16(candidate, one);
        }
    }
    for (std::size_t i = 0; i < kBins * kDepth; ++i) {
        vst1q_s32(keys + i * kCodeLanes, best[i / kDepth][0][i % kDepth]);
        vst1q_s32(keys + i * kCodeLanes + kWidth, best[i / kDepth][1][i % kDepth]);
    }
}

template<std::size_t kChunks>
std::uint32_t grownCode(const Beam& beam, std::size_t stage, std::int32_t key, std::size_t lane)
{
    const std::uint32_t candidate = static_cast<std::uint32_t>(key) % (1U << kCandidateBits);
    const auto entry = static_cast<std::uint32_t>(candidate % kChunks * kCodeLanes + lane);
    return beam.codes[candidate / kChunks] | entry << (8 * stage);
}

struct Steps {
    static float squareRoot(float x) { return vget_lane_f32(vsqrt_f32(vdup_n_f32(x)), 0); }

    template<std::size_t kChunks>
    static void scoreEntries(const CodeBooks& books, const float* vector, std::int16_t* units)
    {
        const Pairs x(vector, CodeSearch<Steps>::integerScale(books, vector));
        for (std::size_t stage = 0; stage < books.stages; ++stage) {
            const CodeStage& book = books.books[stage];
            for (std::size_t chunk = 0; chunk < kChunks; chunk += 2) {
                for (std::size_t half = 0; half < 2; ++half, units += kCodeLanes) {
                    const std::size_t first = chunk * kCodeLanes + half * kWidth;
                    vst1q_s16(
                        units, vqmovn_high_s32(vqmovn_s32(score(book, x, first)), score(book, x, first + kCodeLanes)));
                }
            }
        }
    }

    template<std::size_t kStage, std::size_t kChunks, std::size_t kBins, std::size_t kDepth>
    static void expand(const CodeBooks& books, const std::int16_t* units, const Beam& beam, Beam& next)
    {
        constexpr std::size_t kCount = kBins * kDepth * kCodeLanes;
        findBest<kStage, kChunks, kStage == 0 ? 1 : kCount, kBins, kDepth>(books, units, beam, next.keys);
        for (std::size_t i = 0; i < kCount; ++i)
            next.codes[i] = grownCode<kChunks>(beam, kStage, next.keys[i], i % kCodeLanes);
    }

    template<std::size_t kStage, std::size_t kChunks, std::size_t kParents>
    static std::uint32_t finish(const CodeBooks& books, const std::int16_t* units, const Beam& beam)
    {
        std::int32_t keys[kCodeLanes];
        findBest<kStage, kChunks, kParents, 1, 1>(books, units, beam, keys);
        std::size_t best = 0;
        for (std::size_t lane = 1; lane < kCodeLanes; ++lane) {
            if (keys[lane] < keys[best])
                best = lane;
        }
        return grownCode<kChunks>(beam, kStage, keys[best], best);
    }
};

std::uint8_t nearestEntry(const CodeBook& book, const float* vector)
{
    const Columns x(vector);
    // Entry 0 is the first best one of all lanes: of scores that are no number it alone stays.
    const float32x4_t first = vdupq_laneq_f32(scoreFour(book, x, 0), 0);
    float32x4_t best[2] = {first, first};
    uint32x4_t bestChunk[2] = {};
    for (std::size_t chunk = 0; chunk < book.entries / kCodeLanes; ++chunk) {
        for (std::size_t half = 0; half < 2; ++half) {
            const float32x4_t score = scoreFour(book, x, chunk * kCodeLanes + half * kWidth);
            const uint32x4_t isLess = vcltq_f32(score, best[half]);
            best[half] = vbslq_f32(isLess, score, best[half]);
            bestChunk[half] = vbslq_u32(isLess, vdupq_n_u32(static_cast<std::uint32_t>(chunk)), bestChunk[half]);
        }
    }
    float scores[kCodeLanes];
    std::uint32_t chunks[kCodeLanes];
    for (std::size_t half = 0; half < 2; ++half) {
        vst1q_f32(scores + half * kWidth, best[half]);
        vst1q_u32(chunks + half * kWidth, bestChunk[half]);
    }
    return nearestOf(scores, chunks);
}

} // namespace

namespace neon {

void nearestEntries(const CodeBook& book, const float* vectors, std::size_t count, std::uint8_t* entries)
{
    for (std::size_t i = 0; i < count; ++i)
        entries[i] = nearestEntry(book, vectors + i * kCodeColumns);
}

void searchCodes(const CodeBooks& books, BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes)
{
    CodeSearch<Steps>::run(books, width, vectors, count, codes);
}

} // namespace neon

} // namespace waste::kernels
#endif
