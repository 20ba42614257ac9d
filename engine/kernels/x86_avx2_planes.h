#pragma once

#include "kernels/x86_avx2.h"

// Products of Q4G and Q8G weights with vectors in two planes (reduced_inputs.h), with VNNI and without: how integers
// are multiplied is what Multiply says, which sums are rounded and when is the same. One vector: unsigned nibbles times
// signed bytes, both planes; their zero point comes off with the sum of the group. Several: weights become 16-bit
// integers, packed once for all of them.

namespace waste::kernels {
namespace {

constexpr std::size_t kRegisterBytes = 32;

// Σ nibble·x over 128 columns, in eight parts.
struct Q4Group {
    static constexpr std::size_t kBytes = 64;
    static constexpr std::int32_t kZeroPoint = 8;
    template<typename Multiply>
    static __m256i sum(const std::uint8_t* weights, const PlaneInput& input, std::size_t group)
    {
        const __m256i fifteen = _mm256_set1_epi8(15);
        const PlaneBytes& x = input.bytes[group];
        __m256i high = _mm256_setzero_si256();
        __m256i low = _mm256_setzero_si256();
        for (std::size_t half = 0; half < kPlaneGroup / 2; half += kRegisterBytes) {
            const __m256i bytes = loadRegister(weights + half);
            const __m256i even = _mm256_and_si256(bytes, fifteen);
            const __m256i odd = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), fifteen);
            high = Multiply::addBytes(high, even, odd, x.high + half);
            low = Multiply::addBytes(low, even, odd, x.low + half);
        }
        return Multiply::joinPlanes(high, low);
    }
};

// Bytes times bytes do not fit 16 bits, so they are widened.
struct Q8Group {
    static constexpr std::size_t kBytes = 128;
    static constexpr std::int32_t kZeroPoint = 0;
    template<typename Multiply>
    static __m256i sum(const std::uint8_t* weights, const PlaneInput& input, std::size_t group)
    {
        const std::int16_t* const x = input.words[group].values;
        __m256i sums[2] = {}; // which do not wait for each other
        for (std::size_t i = 0; i < kPlaneGroup; i += 16) {
            const auto* const bytes = reinterpret_cast<const __m128i*>(weights + i);
            const __m256i words = _mm256_cvtepi8_epi16(_mm_loadu_si128(bytes));
            __m256i& sum = sums[i / 16 % 2];
            sum = Multiply::addPairs(sum, words, loadRegister(x + i));
        }
        return _mm256_add_epi32(sums[0], sums[1]);
    }
};

// `readable` is what follows in the array; only the first `count` may count for something.
inline __m256 loadHalves(const std::uint16_t* halves, std::size_t count, std::size_t readable)
{
    std::uint16_t copy[kPlaneLanes] = {};
    if (readable < kPlaneLanes) {
        __builtin_memcpy(copy, halves, count * sizeof *halves);
        halves = copy;
    }
    const __m256 all = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves)));
    return count == kPlaneLanes ? all : _mm256_and_ps(all, _mm256_castsi256_ps(maskOf(count)));
}

// What is beyond the end of a token's groups: whatever it is, it must not be read.
inline __m256 loadScales(const float* scales, std::size_t count)
{
    return count == kPlaneLanes ? _mm256_loadu_ps(scales) : _mm256_maskload_ps(scales, maskOf(count));
}

inline __m256i loadSums(const std::int32_t* sums, std::size_t count)
{
    return count == kPlaneLanes ? loadRegister(sums) : _mm256_maskload_epi32(sums, maskOf(count));
}

// The sums of kCount groups from `first` on, each in the lane of its group. Written out, so that they stay in
// registers.
template<typename Multiply, typename Group, std::size_t kCount>
__m256i sumGroups(const std::uint8_t* payload, const PlaneInput& input, std::size_t first)
{
    const auto sum = [&](std::size_t g) {
        return g < kCount ? Group::template sum<Multiply>(payload + (first + g) * Group::kBytes, input, first + g)
                          : _mm256_setzero_si256();
    };
    const auto four = [&](std::size_t g) {
        if (g >= kCount)
            return _mm256_setzero_si256();
        const __m256i firstTwo = _mm256_hadd_epi32(sum(g), sum(g + 1));
        return _mm256_hadd_epi32(firstTwo, _mm256_hadd_epi32(sum(g + 2), sum(g + 3)));
    };
    const __m256i low = four(0);
    const __m256i high = four(4);
    return _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31));
}

template<typename Multiply, typename Group>
__m256i sumLastGroups(const std::uint8_t* payload, const PlaneInput& input, std::size_t first, std::size_t count)
{
    switch (count) {
    case 1:
        return sumGroups<Multiply, Group, 1>(payload, input, first);
    case 2:
        return sumGroups<Multiply, Group, 2>(payload, input, first);
    case 3:
        return sumGroups<Multiply, Group, 3>(payload, input, first);
    case 4:
        return sumGroups<Multiply, Group, 4>(payload, input, first);
    case 5:
        return sumGroups<Multiply, Group, 5>(payload, input, first);
    case 6:
        return sumGroups<Multiply, Group, 6>(payload, input, first);
    default:
        return sumGroups<Multiply, Group, 7>(payload, input, first);
    }
}

template<typename Multiply, typename Group>
void multiplyOne(const MatrixView& matrix, const PlaneInput& input, float* y, std::uint32_t begin, std::uint32_t end)
{
    for (std::uint32_t row = begin; row < end; ++row) {
        const auto* const payload = reinterpret_cast<const std::uint8_t*>(matrix.payload) + row * matrix.rowBytes;
        const std::uint16_t* const weightScales = matrix.scales + row * input.groupCount;
        const std::size_t scalesFromHere = (matrix.rows - row) * input.groupCount;
        __m256 lanes = _mm256_setzero_ps();
        for (std::size_t first = 0; first < input.groupCount; first += kPlaneLanes) {
            const std::size_t rest = input.groupCount - first;
            const std::size_t count = rest < kPlaneLanes ? rest : kPlaneLanes;
            const __m256i sums = count == kPlaneLanes ? sumGroups<Multiply, Group, kPlaneLanes>(payload, input, first)
                                                      : sumLastGroups<Multiply, Group>(payload, input, first, count);
            const __m256i zeroPoint =
                _mm256_mullo_epi32(loadSums(input.sums + first, count), _mm256_set1_epi32(Group::kZeroPoint));
            const __m256 scale = _mm256_mul_ps(loadHalves(weightScales + first, count, scalesFromHere - first),
                loadScales(input.scales + first, count));
            lanes = _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(sums, zeroPoint)), scale, lanes);
        }
        y[row] = sumLanes(lanes);
    }
}

// ---- several vectors: sixteen rows lie side by side as pairs of 16-bit integers, two columns of a row in each lane.
// Every lane sums a row of its own, so nothing is added across lanes, and a weight that is loaded serves six vectors.

constexpr std::size_t kPanelRows = 16;
constexpr std::size_t kPanelGroups = 4; // 16 KiB of weights: half of the first-level cache
constexpr std::size_t kPairs = kPlaneGroup / 2;
constexpr std::size_t kRegisterRows = 8;
constexpr std::size_t kTokensMax = 64; // whose sums are kept at a time
constexpr std::size_t kBlockTokens = 6; // twelve sums, two weights, an input and a product fill the registers

struct PackedGroup {
    alignas(32) std::int16_t pairs[kPairs][kPanelRows][2];
};

// Eight rows of eight 32-bit words each become eight words of eight rows each.
inline void transpose(__m256i (&v)[8])
{
    __m256i pairs[8];
    for (std::size_t i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_epi32(v[i], v[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_epi32(v[i], v[i + 1]);
    }
    __m256i fours[8];
    for (std::size_t i = 0; i < 8; i += 4) {
        fours[i] = _mm256_unpacklo_epi64(pairs[i], pairs[i + 2]);
        fours[i + 1] = _mm256_unpackhi_epi64(pairs[i], pairs[i + 2]);
        fours[i + 2] = _mm256_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
        fours[i + 3] = _mm256_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    for (std::size_t i = 0; i < 4; ++i) {
        v[i] = _mm256_permute2x128_si256(fours[i], fours[i + 4], 0x20);
        v[i + 4] = _mm256_permute2x128_si256(fours[i], fours[i + 4], 0x31);
    }
}

// A word holds four bytes of a row; a byte is the nibbles of two columns, left unsigned here.
struct Q4Pairs {
    static constexpr std::size_t kBytes = Q4Group::kBytes;
    static constexpr std::int32_t kZeroPoint = Q4Group::kZeroPoint;
    static constexpr std::size_t kInWord = 4;
    static __m256i get(__m256i words, std::size_t i)
    {
        const __m256i byte = _mm256_srli_epi32(words, static_cast<int>(8 * i));
        const __m256i low = _mm256_and_si256(byte, _mm256_set1_epi32(15));
        return _mm256_or_si256(low, _mm256_and_si256(_mm256_slli_epi32(byte, 12), _mm256_set1_epi32(15 << 16)));
    }
};

struct Q8Pairs {
    static constexpr std::size_t kBytes = Q8Group::kBytes;
    static constexpr std::int32_t kZeroPoint = Q8Group::kZeroPoint;
    static constexpr std::size_t kInWord = 2;
    static __m256i get(__m256i words, std::size_t i)
    {
        const __m256i two = i == 0 ? _mm256_slli_epi32(words, 16) : words; // in the upper half
        const __m256i upper = _mm256_srai_epi32(two, 24);
        const __m256i lower = _mm256_srai_epi32(_mm256_slli_epi32(two, 8), 24);
        return _mm256_blend_epi16(lower, _mm256_slli_epi32(upper, 16), 0xAA);
    }
};

// One group of eight rows into their half of the panel.
template<typename Pairs>
void packGroup(
    const std::uint8_t* const (&rows)[kPanelRows], std::size_t offset, std::size_t firstRow, PackedGroup& out)
{
    for (std::size_t byte = 0; byte < Pairs::kBytes; byte += kRegisterBytes) {
        __m256i words[8];
        for (std::size_t r = 0; r < kRegisterRows; ++r)
            words[r] = loadRegister(rows[firstRow + r] + offset + byte);
        transpose(words);
        std::size_t pair = byte / 4 * Pairs::kInWord;
        for (const __m256i word : words) {
            for (std::size_t i = 0; i < Pairs::kInWord; ++i, ++pair)
                _mm256_store_si256(reinterpret_cast<__m256i*>(out.pairs[pair][firstRow]), Pairs::get(word, i));
        }
    }
}

// Sums of sixteen rows and kTokens tokens over one group, on top of what `sums` holds.
template<typename Multiply, std::size_t kTokens>
void multiplyGroup(
    const PackedGroup& weights, const PlaneWords* x, std::size_t tokenStride, __m256i (&sums)[2][kTokens])
{
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
        const __m256i first = loadRegister(weights.pairs[pair][0]);
        const __m256i second = loadRegister(weights.pairs[pair][kRegisterRows]);
        for (std::size_t t = 0; t < kTokens; ++t) {
            std::int32_t columns = 0;
            __builtin_memcpy(&columns, x[t * tokenStride].values + 2 * pair, sizeof columns);
            const __m256i input = _mm256_set1_epi32(columns);
            sums[0][t] = Multiply::addPairs(sums[0][t], first, input);
            sums[1][t] = Multiply::addPairs(sums[1][t], second, input);
            // One vector after another: all inputs and products at once would not fit the registers, and sums in
            // memory cost a third of the speed.
            __asm__("" : "+x"(sums[0][t]), "+x"(sums[1][t]));
        }
    }
}

struct Panel {
    PackedGroup groups[kPanelGroups];
    float scales[kPanelGroups][kPanelRows];
};
struct Lanes { // of one token: the shares of sixteen rows
    alignas(32) float values[kPlaneLanes][kPanelRows];
};

template<typename Multiply, typename Pairs, std::size_t kTokens>
void multiplyPanel(const Panel& panel, std::size_t firstGroup, std::size_t groups, const PlaneInput& input,
    std::size_t token, Lanes* lanes)
{
    const std::size_t stride = input.stride();
    for (std::size_t g = 0; g < groups; ++g) {
        const std::size_t group = firstGroup + g;
        const std::size_t place = token * stride + group;
        __m256i sums[2][kTokens];
        for (std::size_t t = 0; t < kTokens; ++t)
            sums[0][t] = sums[1][t] = _mm256_set1_epi32(-Pairs::kZeroPoint * input.sums[place + t * stride]);
        multiplyGroup<Multiply, kTokens>(panel.groups[g], input.words + place, stride, sums);
#pragma GCC unroll 8
        for (std::size_t t = 0; t < kTokens; ++t) {
            const __m256 scale = _mm256_set1_ps(input.scales[place + t * stride]);
#pragma GCC unroll 8
            for (std::size_t half = 0; half < 2; ++half) {
                float* const lane = lanes[t].values[group % kPlaneLanes] + half * kRegisterRows;
                const __m256 rowScale = _mm256_loadu_ps(panel.scales[g] + half * kRegisterRows);
                _mm256_store_ps(lane,
                    _mm256_fmadd_ps(
                        _mm256_cvtepi32_ps(sums[half][t]), _mm256_mul_ps(rowScale, scale), _mm256_load_ps(lane)));
            }
        }
    }
}

template<typename Multiply, typename Pairs>
void multiplyPanel(const Panel& panel, std::size_t firstGroup, std::size_t groups, const PlaneInput& input,
    std::size_t firstToken, std::size_t tokens, Lanes* lanes)
{
    std::size_t t = 0;
    for (; t + kBlockTokens <= tokens; t += kBlockTokens)
        multiplyPanel<Multiply, Pairs, kBlockTokens>(panel, firstGroup, groups, input, firstToken + t, lanes + t);
    for (; t + 4 <= tokens; t += 4)
        multiplyPanel<Multiply, Pairs, 4>(panel, firstGroup, groups, input, firstToken + t, lanes + t);
    for (; t + 2 <= tokens; t += 2)
        multiplyPanel<Multiply, Pairs, 2>(panel, firstGroup, groups, input, firstToken + t, lanes + t);
    if (t < tokens)
        multiplyPanel<Multiply, Pairs, 1>(panel, firstGroup, groups, input, firstToken + t, lanes + t);
}

// Folds by halves.
inline void storeSums(const Lanes& lanes, float* y, std::size_t rows)
{
    alignas(32) float sums[kPanelRows];
    for (std::size_t half = 0; half < kPanelRows; half += kRegisterRows) {
        const auto lane = [&](std::size_t i) { return _mm256_load_ps(lanes.values[i] + half); };
        const __m256 even = _mm256_add_ps(_mm256_add_ps(lane(0), lane(4)), _mm256_add_ps(lane(2), lane(6)));
        const __m256 odd = _mm256_add_ps(_mm256_add_ps(lane(1), lane(5)), _mm256_add_ps(lane(3), lane(7)));
        _mm256_store_ps(sums + half, _mm256_add_ps(even, odd));
    }
    __builtin_memcpy(y, sums, rows * sizeof *y);
}

// Up to sixteen rows times up to kTokensMax tokens.
template<typename Multiply, typename Pairs>
void multiplyRows(const MatrixView& matrix, const PlaneInput& input, std::size_t firstToken, std::size_t tokens,
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
            for (std::size_t half = 0; half < kPanelRows; half += kRegisterRows)
                packGroup<Pairs>(payload, (first + g) * Pairs::kBytes, half, panel.groups[g]);
            for (std::size_t r = 0; r < kPanelRows; ++r)
                panel.scales[g][r] = _cvtsh_ss(scales[r][first + g]);
        }
        multiplyPanel<Multiply, Pairs>(panel, first, groups, input, firstToken, tokens, lanes);
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
            multiplyRows<Multiply, Pairs>(
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
