#pragma once

#include "kernels/x86_avx512.h"

// Products of Q4G and Q8G weights with vectors in two planes (reduced_inputs.h), with VNNI and without: how integers
// are multiplied is what Multiply says, which sums are rounded and when is the same. One vector: a register holds the
// weights of one row. Several: 32 rows lie side by side, packed once for all of them.

namespace waste::kernels {
namespace {

// ---- one vector

// Weights are fetched so many bytes ahead: two loads a line in no order are no stream to the processor, which reads
// 15 GB/s by itself and 31 so (Zen 5).
constexpr std::size_t kFetchAhead = 8192;

template<std::size_t kBytes>
void fetchAhead(const std::uint8_t* weights)
{
    for (std::size_t line = 0; line < kBytes; line += 64)
        _mm_prefetch(weights + kFetchAhead + line, _MM_HINT_T0);
}

// Σ nibble·x over 128 columns, in sixteen parts.
struct Q4Group {
    static constexpr std::size_t kBytes = 64;
    static constexpr std::int32_t kZeroPoint = 8;
    template<typename Multiply>
    static __m512i sum(const std::uint8_t* weights, const PlaneInput& input, std::size_t group)
    {
        fetchAhead<kBytes>(weights);
        const __m512i fifteen = _mm512_set1_epi8(15);
        const __m512i bytes = loadBytes(weights);
        const __m512i even = _mm512_and_si512(bytes, fifteen);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), fifteen);
        return Multiply::planes(even, odd, input.bytes[group]);
    }
};

struct Q8Group {
    static constexpr std::size_t kBytes = 128;
    static constexpr std::int32_t kZeroPoint = 0;
    template<typename Multiply>
    static __m512i sum(const std::uint8_t* weights, const PlaneInput& input, std::size_t group)
    {
        fetchAhead<kBytes>(weights);
        const std::int16_t* const x = input.words[group].values;
        __m512i total = _mm512_setzero_si512();
        for (std::size_t i = 0; i < kPlaneGroup; i += 32) {
            const auto* const bytes = reinterpret_cast<const __m256i*>(weights + i);
            const __m512i words = _mm512_cvtepi8_epi16(_mm256_loadu_si256(bytes));
            total = Multiply::addPairs(total, words, loadBytes(x + i));
        }
        return total;
    }
};

// The sums of kCount groups from `first` on, each in the lane of its group.
template<typename Multiply, typename Group, std::size_t kCount>
__m256i sumGroups(const std::uint8_t* payload, const PlaneInput& input, std::size_t first)
{
    const auto sum = [&](std::size_t g) {
        return g < kCount ? Group::template sum<Multiply>(payload + (first + g) * Group::kBytes, input, first + g)
                          : _mm512_setzero_si512();
    };
    const auto two = [&](std::size_t g) {
        const __m512i a = sum(g);
        const __m512i b = sum(g + 1);
        return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    };
    const auto four = [&](std::size_t g) {
        if (g >= kCount)
            return _mm512_setzero_si512();
        const __m512i a = two(g);
        const __m512i b = two(g + 2);
        return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
    };
    const auto foldQuarters = [](__m512i a, __m512i b) {
        return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD));
    };
    const __m512i halves = foldQuarters(four(0), four(4));
    return _mm512_castsi512_si256(foldQuarters(halves, halves));
}

template<typename Multiply, typename Group>
__m256i sumGroups(const std::uint8_t* payload, const PlaneInput& input, std::size_t first, std::size_t count)
{
    using Sum = __m256i (*)(const std::uint8_t*, const PlaneInput&, std::size_t);
    static constexpr Sum kLast[] = {sumGroups<Multiply, Group, 1>, sumGroups<Multiply, Group, 2>,
        sumGroups<Multiply, Group, 3>, sumGroups<Multiply, Group, 4>, sumGroups<Multiply, Group, 5>,
        sumGroups<Multiply, Group, 6>, sumGroups<Multiply, Group, 7>};
    return count >= kPlaneLanes ? sumGroups<Multiply, Group, kPlaneLanes>(payload, input, first)
                                : kLast[count - 1](payload, input, first);
}

// Folds by halves.
inline float sumLanes(__m256 v)
{
    const __m128 halves = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 pairs = _mm_add_ps(halves, _mm_movehl_ps(halves, halves));
    return _mm_cvtss_f32(_mm_add_ss(pairs, _mm_movehdup_ps(pairs)));
}

template<typename Multiply, typename Group>
void multiplyOne(const MatrixView& matrix, const PlaneInput& input, float* y, std::uint32_t begin, std::uint32_t end)
{
    for (std::uint32_t row = begin; row < end; ++row) {
        const auto* const payload = reinterpret_cast<const std::uint8_t*>(matrix.payload) + row * matrix.rowBytes;
        const std::uint16_t* const weightScales = matrix.scales + row * input.groupCount;
        __m256 lanes = _mm256_setzero_ps();
        for (std::size_t first = 0; first < input.groupCount; first += kPlaneLanes) {
            const std::size_t rest = input.groupCount - first;
            const auto isThere = static_cast<__mmask8>(rest < kPlaneLanes ? (1U << rest) - 1U : 0xFFU);
            const __m256i sums = sumGroups<Multiply, Group>(payload, input, first, rest);
            const __m256i zeroPoint = _mm256_mullo_epi32(
                _mm256_maskz_loadu_epi32(isThere, input.sums + first), _mm256_set1_epi32(Group::kZeroPoint));
            const __m256 weightScale = _mm256_cvtph_ps(_mm_maskz_loadu_epi16(isThere, weightScales + first));
            const __m256 scale = _mm256_mul_ps(weightScale, _mm256_maskz_loadu_ps(isThere, input.scales + first));
            lanes = _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(sums, zeroPoint)), scale, lanes);
        }
        y[row] = sumLanes(lanes);
    }
}

// ---- several vectors: rows lie side by side as pairs of 16-bit integers, two columns of a row in each lane of a
// register. Every lane sums a row of its own, so nothing is added across lanes, and weights that are loaded serve all
// vectors. Two registers of rows meet each broadcast of an input: with one, loads were the limit (130 in place of 150
// GMAC/s on a Zen 5), and with three or four nothing more is gained.

constexpr std::size_t kRegisterRows = 16;
constexpr std::size_t kPanelRegisters = 2; // as multiplyGroup() is written
constexpr std::size_t kPanelRows = kPanelRegisters * kRegisterRows;
constexpr std::size_t kPanelGroups = 2; // 16 KiB of weights: at most half of the first-level cache
constexpr std::size_t kPairs = kPlaneGroup / 2;
constexpr std::size_t kTokensMax = 64; // whose sums are kept at a time
constexpr std::size_t kBlockTokens = 8; // enough sums that none waits for the one before it

struct PackedGroup {
    alignas(64) std::int16_t pairs[kPairs][kRegisterRows][2];
};

// Sixteen rows of sixteen 32-bit words each become sixteen words of sixteen rows each.
inline void transpose(__m512i (&v)[16])
{
    __m512i pairs[16];
    for (std::size_t i = 0; i < 16; i += 2) {
        pairs[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
        pairs[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    }
    __m512i fours[16]; // [rows / 4][word of a quarter], quarters in their order
    for (std::size_t i = 0; i < 16; i += 4) {
        fours[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
        fours[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
        fours[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
        fours[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    for (std::size_t word = 0; word < 4; ++word) {
        const __m512i a = _mm512_shuffle_i32x4(fours[word], fours[word + 4], 0x88); // quarters 0 2 of rows 0.. and 4..
        const __m512i b = _mm512_shuffle_i32x4(fours[word], fours[word + 4], 0xDD);
        const __m512i c = _mm512_shuffle_i32x4(fours[word + 8], fours[word + 12], 0x88);
        const __m512i d = _mm512_shuffle_i32x4(fours[word + 8], fours[word + 12], 0xDD);
        v[word] = _mm512_shuffle_i32x4(a, c, 0x88);
        v[word + 4] = _mm512_shuffle_i32x4(b, d, 0x88);
        v[word + 8] = _mm512_shuffle_i32x4(a, c, 0xDD);
        v[word + 12] = _mm512_shuffle_i32x4(b, d, 0xDD);
    }
}

// A word holds four bytes of a row; a byte is the nibbles of two columns, left unsigned here.
struct Q4Pairs {
    static constexpr std::size_t kBytes = Q4Group::kBytes;
    static constexpr std::int32_t kZeroPoint = Q4Group::kZeroPoint;
    static constexpr std::size_t kInWord = 4;
    static __m512i get(__m512i words, std::size_t i)
    {
        const __m512i byte = _mm512_srli_epi32(words, static_cast<unsigned>(8 * i));
        const __m512i low = _mm512_and_si512(byte, _mm512_set1_epi32(15));
        return _mm512_or_si512(low, _mm512_and_si512(_mm512_slli_epi32(byte, 12), _mm512_set1_epi32(15 << 16)));
    }
};

struct Q8Pairs {
    static constexpr std::size_t kBytes = Q8Group::kBytes;
    static constexpr std::int32_t kZeroPoint = Q8Group::kZeroPoint;
    static constexpr std::size_t kInWord = 2;
    static __m512i get(__m512i words, std::size_t i)
    {
        const __m512i two = i == 0 ? _mm512_slli_epi32(words, 16) : words; // in the upper half
        const __m512i upper = _mm512_srai_epi32(two, 24);
        const __m512i lower = _mm512_srai_epi32(_mm512_slli_epi32(two, 8), 24);
        return _mm512_mask_mov_epi16(lower, 0xAAAAAAAA, _mm512_slli_epi32(upper, 16));
    }
};

template<typename Pairs>
void packGroup(
    const std::uint8_t* const (&rows)[kPanelRows], std::size_t firstRow, std::size_t offset, PackedGroup& out)
{
    constexpr std::size_t kRegisterBytes = 64;
    for (std::size_t byte = 0; byte < Pairs::kBytes; byte += kRegisterBytes) {
        __m512i words[kRegisterRows];
        for (std::size_t r = 0; r < kRegisterRows; ++r) {
            const std::uint8_t* const source = rows[firstRow + r] + offset + byte;
            words[r] = loadBytes(source);
            _mm_prefetch(
                source + kPanelGroups * Pairs::kBytes, _MM_HINT_T0); // of the next panel: 144 in place of 136 GMAC/s
        }
        transpose(words);
        std::size_t pair = byte / 4 * Pairs::kInWord;
        for (const __m512i word : words) {
            for (std::size_t i = 0; i < Pairs::kInWord; ++i, ++pair)
                _mm512_store_si512(out.pairs[pair], Pairs::get(word, i));
        }
    }
}

// Sums of a panel's rows and kTokens tokens over one group, on top of what `sums` holds: in registers only where it is
// inlined.
template<typename Multiply, std::size_t kTokens>
[[gnu::always_inline]] inline void multiplyGroup(const PackedGroup (&weights)[kPanelRegisters], const PlaneWords* x,
    std::size_t tokenStride, __m512i (&sums)[kTokens][kPanelRegisters])
{
    // Three tokens a pointer: their addresses are then part of the instructions.
    constexpr std::size_t kPointers = (kTokens + 2) / 3;
    const std::size_t stride = tokenStride * kPlaneGroup;
    const std::int16_t* inputs[kPointers];
    for (std::size_t i = 0; i < kPointers; ++i)
        inputs[i] = x[3 * i * tokenStride].values;
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
        const __m512i first = _mm512_load_si512(weights[0].pairs[pair]);
        const __m512i second = _mm512_load_si512(weights[1].pairs[pair]);
#pragma GCC unroll 8
        for (std::size_t t = 0; t < kTokens; ++t) {
            std::int32_t columns = 0;
            __builtin_memcpy(&columns, inputs[t / 3] + t % 3 * stride + 2 * pair, sizeof columns);
            const __m512i input = _mm512_set1_epi32(columns);
            sums[t][0] = Multiply::addPairs(sums[t][0], first, input);
            sums[t][1] = Multiply::addPairs(sums[t][1], second, input);
            // One after another: GCC 12 would copy sums to and fro between registers, for half of the loop.
            __asm__("" : "+v"(sums[t][0]), "+v"(sums[t][1]));
        }
    }
}

struct Panel {
    PackedGroup groups[kPanelGroups][kPanelRegisters];
    alignas(64) float scales[kPanelGroups][kPanelRows];
};
struct Lanes { // of one token: the shares of a panel's rows
    alignas(64) float values[kPlaneLanes][kPanelRows];
};

template<typename Multiply, typename Pairs, std::size_t kTokens>
void multiplyPlanePanel(const Panel& panel, std::size_t firstGroup, std::size_t groups, const PlaneInput& input,
    std::size_t token, Lanes* lanes)
{
    const std::size_t stride = input.stride();
    for (std::size_t g = 0; g < groups; ++g) {
        const std::size_t group = firstGroup + g;
        const std::size_t place = token * stride + group;
        __m512i sums[kTokens][kPanelRegisters];
#pragma GCC unroll 8
        for (std::size_t t = 0; t < kTokens; ++t)
            sums[t][0] = sums[t][1] = _mm512_set1_epi32(-Pairs::kZeroPoint * input.sums[place + t * stride]);
        multiplyGroup<Multiply, kTokens>(panel.groups[g], input.words + place, stride, sums);
#pragma GCC unroll 8
        for (std::size_t t = 0; t < kTokens; ++t) {
            const __m512 scale = _mm512_set1_ps(input.scales[place + t * stride]);
#pragma GCC unroll 2
            for (std::size_t n = 0; n < kPanelRegisters; ++n) {
                float* const lane = lanes[t].values[group % kPlaneLanes] + n * kRegisterRows;
                const __m512 scales = _mm512_mul_ps(_mm512_load_ps(panel.scales[g] + n * kRegisterRows), scale);
                _mm512_store_ps(lane, _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[t][n]), scales, _mm512_load_ps(lane)));
            }
        }
    }
}

// The tokens that are left by kTokens together, then the rest by half as many.
template<typename Multiply, typename Pairs, std::size_t kTokens>
void multiplyPlanePanel(const Panel& panel, std::size_t firstGroup, std::size_t groups, const PlaneInput& input,
    std::size_t firstToken, std::size_t tokens, Lanes* lanes)
{
    std::size_t t = 0;
    for (; t + kTokens <= tokens; t += kTokens)
        multiplyPlanePanel<Multiply, Pairs, kTokens>(panel, firstGroup, groups, input, firstToken + t, lanes + t);
    if constexpr (kTokens > 1)
        multiplyPlanePanel<Multiply, Pairs, kTokens / 2>(
            panel, firstGroup, groups, input, firstToken + t, tokens - t, lanes + t);
}

// Folds by halves.
inline void storeSums(const Lanes& lanes, float* y, std::size_t rows)
{
    for (std::size_t first = 0; first < rows; first += kRegisterRows) {
        const auto lane = [&](std::size_t i) { return _mm512_load_ps(lanes.values[i] + first); };
        const __m512 even = _mm512_add_ps(_mm512_add_ps(lane(0), lane(4)), _mm512_add_ps(lane(2), lane(6)));
        const __m512 odd = _mm512_add_ps(_mm512_add_ps(lane(1), lane(5)), _mm512_add_ps(lane(3), lane(7)));
        const std::size_t rest = rows - first;
        _mm512_mask_storeu_ps(
            y + first, firstLanes(rest < kRegisterRows ? rest : kRegisterRows), _mm512_add_ps(even, odd));
    }
}

// Up to a panel's rows times up to kTokensMax tokens.
template<typename Multiply, typename Pairs>
void multiplyPlaneRows(const MatrixView& matrix, const PlaneInput& input, std::size_t firstToken, std::size_t tokens,
    float* y, std::size_t yStride, std::size_t row, std::size_t rows)
{
    const std::uint8_t* payload[kPanelRows];
    const std::uint16_t* scales[kPanelRows];
    for (std::size_t r = 0; r < kPanelRows; ++r) {
        const std::size_t source = row + (r < rows ? r : rows - 1); // missing rows repeat the last one
        payload[r] = reinterpret_cast<const std::uint8_t*>(matrix.payload) + source * matrix.rowBytes;
        scales[r] = matrix.scales + source * input.groupCount;
    }
    Lanes lanes[kTokensMax];
    __builtin_memset(lanes, 0, tokens * sizeof *lanes);
    Panel panel;
    for (std::size_t first = 0; first < input.groupCount; first += kPanelGroups) {
        const std::size_t rest = input.groupCount - first;
        const std::size_t groups = rest < kPanelGroups ? rest : kPanelGroups;
        for (std::size_t g = 0; g < groups; ++g) {
            for (std::size_t n = 0; n < kPanelRegisters; ++n)
                packGroup<Pairs>(payload, n * kRegisterRows, (first + g) * Pairs::kBytes, panel.groups[g][n]);
            for (std::size_t r = 0; r < kPanelRows; ++r)
                panel.scales[g][r] = _cvtsh_ss(scales[r][first + g]);
        }
        multiplyPlanePanel<Multiply, Pairs, kBlockTokens>(panel, first, groups, input, firstToken, tokens, lanes);
    }
    for (std::size_t t = 0; t < tokens; ++t)
        storeSums(lanes[t], y + (firstToken + t) * yStride + row, rows);
}

template<typename Multiply, typename Pairs>
void multiplyMany(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride, std::uint32_t begin,
    std::uint32_t end)
{
    for (std::size_t token = 0; token < input.tokens; token += kTokensMax) {
        const std::size_t rest = input.tokens - token;
        const std::size_t tokens = rest < kTokensMax ? rest : kTokensMax;
        for (std::size_t row = begin; row < end; row += kPanelRows)
            multiplyPlaneRows<Multiply, Pairs>(
                matrix, input, token, tokens, y, yStride, row, end - row < kPanelRows ? end - row : kPanelRows);
    }
}

template<typename Multiply>
void multiplyPlanesWith(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end)
{
    const bool isOne = input.tokens == 1;
    if (matrix.format == WeightFormat::Q8G)
        isOne ? multiplyOne<Multiply, Q8Group>(matrix, input, y, begin, end)
              : multiplyMany<Multiply, Q8Pairs>(matrix, input, y, yStride, begin, end);
    else
        isOne ? multiplyOne<Multiply, Q4Group>(matrix, input, y, begin, end)
              : multiplyMany<Multiply, Q4Pairs>(matrix, input, y, yStride, begin, end);
}

} // namespace
} // namespace waste::kernels
