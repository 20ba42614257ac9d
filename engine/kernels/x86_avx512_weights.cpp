#if defined(__x86_64__)

#include "kernels/x86_avx512.h"

// Exact products of stored weights, decoded in registers, with one vector; and such weights as f32. Groups of other
// widths than the converter's are left to AVX2.

namespace waste::kernels {

namespace {

constexpr std::size_t kGroup = 128;
constexpr std::size_t kSteps = kGroup / kFloats;
constexpr std::size_t kBlockGroups = 128; // 64 KiB of inputs on the stack; half of it costs wider rows of Q4G a sixth
constexpr std::size_t kBlockColumns = kBlockGroups * kGroup;

std::size_t groupCount(std::size_t columns)
{
    return (columns + kGroup - 1) / kGroup;
}

// ---- the inputs of a block of columns, in the order in which a format's weights meet them

struct Inputs {
    alignas(64) float values[kBlockGroups][kSteps][kFloats];
};

// Even places of all registers go to the first half, odd ones to the second.
void partEvenFromOdd(__m512 (&v)[kSteps])
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    __m512 parted[kSteps];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kSteps / 2; ++i) {
        parted[i] = _mm512_permutex2var_ps(v[2 * i], even, v[2 * i + 1]);
        parted[kSteps / 2 + i] = _mm512_permutex2var_ps(v[2 * i], odd, v[2 * i + 1]);
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kSteps; ++i)
        v[i] = parted[i];
}

// Ends of groups become zeros: the weights there, which the padding of a row makes readable, then add nothing.
template<typename Codes>
void arrangeInputs(const float* x, std::size_t columns, Inputs& inputs)
{
    for (std::size_t group = 0; group < groupCount(columns); ++group) {
        __m512 v[kSteps];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kSteps; ++i) {
            const std::size_t column = group * kGroup + i * kFloats;
            const std::size_t rest = column < columns ? columns - column : 0;
            v[i] = _mm512_maskz_loadu_ps(firstLanes(rest < kFloats ? rest : kFloats), x + column);
        }
        if constexpr (Codes::kStepsApart) {
            for (std::size_t bit = 0; bit < 3; ++bit)
                partEvenFromOdd(v);
        }
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kSteps; ++i)
            _mm512_store_ps(inputs.values[group][i], v[i]);
    }
}

// ---- how the weights of a group are decoded to the stored integers, as floats, sixteen columns a step

struct Q8Codes {
    static constexpr std::size_t kGroupBytes = kGroup;
    static constexpr bool kStepsApart = false; // step i has columns 16i, 16i + 1, ...

    using Words = const std::uint8_t*;
    static Words load(const std::uint8_t* weights) { return weights; }
    static __m512 step(Words weights, std::size_t i)
    {
        const auto* const bytes = reinterpret_cast<const __m128i*>(weights + i * kFloats);
        return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(bytes)));
    }
};

// A lane has the codes of eight columns, and step i takes code i of all lanes: columns i, 8 + i, ... The look-up of one
// of sixteen values ignores the bits above its code.
template<unsigned kBits>
struct PackedCodes {
    static constexpr std::size_t kGroupBytes = kGroup * kBits / 8;
    static constexpr bool kStepsApart = true;

    using Words = __m512i;
    static Words load(const std::uint8_t* weights)
    {
        if constexpr (kBits == 4) {
            return loadBytes(weights);
        } else {
            // Twelve bytes to each quarter, then three to each lane.
            const __m512i places = _mm512_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11);
            const __m512i quarters =
                _mm512_permutexvar_epi32(places, _mm512_maskz_loadu_epi32(firstLanes(12), weights));
            const __m128i threes = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
            return _mm512_shuffle_epi8(quarters, _mm512_broadcast_i32x4(threes));
        }
    }
    static __m512 step(Words words, std::size_t i)
    {
        return _mm512_permutexvar_ps(_mm512_srli_epi32(words, kBits * static_cast<unsigned>(i)), codeValues());
    }

    // By the lower four bits of a lane; of codes of three bits, the fourth is another one's and changes nothing.
    static __m512 codeValues()
    {
        constexpr int kZeroPoint = 1 << (kBits - 1);
        const __m512i indices = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        const __m512i codes = _mm512_and_si512(indices, _mm512_set1_epi32(2 * kZeroPoint - 1));
        return _mm512_cvtepi32_ps(_mm512_sub_epi32(codes, _mm512_set1_epi32(kZeroPoint)));
    }
};

// ---- rows

// A block of columns of some rows.
struct Rows {
    const std::uint8_t* weights; // of the first one
    std::size_t rowBytes;
    const std::uint16_t* scales;
    std::size_t rowScales;
    std::size_t groups;
    std::size_t aheadBytes; // from the weights to those that are fetched meanwhile
};

// Sums of a group are scaled at its end. A row takes the same steps alone and among others.
template<typename Codes, std::size_t kRows>
void multiplyBlock(const Rows& rows, const Inputs& x, float* sums)
{
    const std::uint8_t* weights = rows.weights;
    __m512 totals[kRows] = {};
    for (std::size_t first = 0; first < rows.groups; first += kFloats) {
        const std::size_t rest = rows.groups - first;
        const std::size_t count = rest < kFloats ? rest : kFloats;
        alignas(64) float scales[kRows][kFloats];
        for (std::size_t r = 0; r < kRows; ++r) {
            const std::uint16_t* const halves = rows.scales + r * rows.rowScales + first;
            _mm512_store_ps(scales[r], _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(firstLanes(count), halves)));
        }
        for (std::size_t group = 0; group < count; ++group, weights += Codes::kGroupBytes) {
            typename Codes::Words words[kRows];
            __m512 even[kRows] = {};
            __m512 odd[kRows] = {};
            for (std::size_t r = 0; r < kRows; ++r) {
                words[r] = Codes::load(weights + r * rows.rowBytes);
                for (std::size_t line = 0; line < Codes::kGroupBytes; line += 64)
                    _mm_prefetch(weights + r * rows.rowBytes + rows.aheadBytes + line, _MM_HINT_T0);
            }
#pragma GCC unroll 8
            for (std::size_t i = 0; i < kSteps; i += 2) {
                const __m512 evenInput = _mm512_load_ps(x.values[first + group][i]);
                const __m512 oddInput = _mm512_load_ps(x.values[first + group][i + 1]);
#pragma GCC unroll 4
                for (std::size_t r = 0; r < kRows; ++r) {
                    even[r] = _mm512_fmadd_ps(Codes::step(words[r], i), evenInput, even[r]);
                    odd[r] = _mm512_fmadd_ps(Codes::step(words[r], i + 1), oddInput, odd[r]);
                }
            }
#pragma GCC unroll 4
            for (std::size_t r = 0; r < kRows; ++r)
                totals[r] =
                    _mm512_fmadd_ps(_mm512_set1_ps(scales[r][group]), _mm512_add_ps(even[r], odd[r]), totals[r]);
        }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r)
        sums[r] = _mm512_reduce_add_ps(totals[r]);
}

// The inputs are eight times as large as the codes of four bits that meet them, so they are loaded for four rows at
// once: 12288 columns run nearly twice as fast as row by row.
constexpr std::size_t kRowsTogether = 4;

// The processor by itself fetches too late while it decodes: two thirds of the speed from memory. Whole rows ahead,
// since a block of columns is followed by the same one of other rows.
constexpr std::size_t kFetchAhead = 8192; // at least

template<typename Codes>
void multiplyQuantized(const MatrixView& matrix, const float* x, float* y, std::uint32_t begin, std::uint32_t end)
{
    const std::size_t rowScales = groupCount(matrix.columns);
    Inputs inputs;
    for (std::size_t first = 0; first < matrix.columns; first += kBlockColumns) {
        const std::size_t rest = matrix.columns - first;
        const std::size_t columns = rest < kBlockColumns ? rest : kBlockColumns;
        const std::size_t groups = groupCount(columns);
        arrangeInputs<Codes>(x + first, columns, inputs);
        const std::size_t together = kRowsTogether * groups * Codes::kGroupBytes;
        const std::size_t aheadBytes = (kFetchAhead / together + 1) * kRowsTogether * matrix.rowBytes;
        const auto* const payload = reinterpret_cast<const std::uint8_t*>(matrix.payload);
        const auto multiply = [&](auto block, std::size_t row, std::size_t count) {
            const Rows rows = {payload + row * matrix.rowBytes + first / kGroup * Codes::kGroupBytes, matrix.rowBytes,
                matrix.scales + row * rowScales + first / kGroup, rowScales, groups, aheadBytes};
            float sums[kRowsTogether];
            block(rows, inputs, sums);
            for (std::size_t r = 0; r < count; ++r)
                y[row + r] = first == 0 ? sums[r] : y[row + r] + sums[r];
        };
        std::size_t row = begin;
        for (; row + kRowsTogether <= end; row += kRowsTogether)
            multiply(multiplyBlock<Codes, kRowsTogether>, row, kRowsTogether);
        for (; row < end; ++row)
            multiply(multiplyBlock<Codes, 1>, row, 1);
    }
}

// ---- unpacking: up to sixteen columns of a group, scaled

__m512 unpackQ8(const std::uint8_t* weights, std::size_t column, std::size_t count, __m512 scale)
{
    const __m128i bytes = _mm_maskz_loadu_epi8(firstLanes(count), weights + column);
    return _mm512_mul_ps(scale, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)));
}

// A byte is the codes of two columns: its lower half is looked up in one lane, its upper half in the next one.
__m512 unpackQ4(const std::uint8_t* weights, std::size_t column, std::size_t count, __m512 scale)
{
    const __m512i bytes = _mm512_cvtepu8_epi64(_mm_maskz_loadu_epi8(firstLanes((count + 1) / 2), weights + column / 2));
    const __m512i codes = _mm512_or_si512(bytes, _mm512_slli_epi64(bytes, 32 - 4));
    return _mm512_permutexvar_ps(codes, _mm512_mul_ps(scale, PackedCodes<4>::codeValues()));
}

using Unpack = __m512 (*)(const std::uint8_t*, std::size_t, std::size_t, __m512);

template<Unpack unpack>
void unpackQuantized(const MatrixView& matrix, std::uint32_t row, std::size_t begin, std::size_t end, float* values)
{
    const auto* const weights = reinterpret_cast<const std::uint8_t*>(matrix.payload) + row * matrix.rowBytes;
    const std::uint16_t* const scales = matrix.scales + row * groupCount(matrix.columns);
    while (begin < end) {
        const std::size_t group = begin / kGroup;
        const std::size_t groupEnd = (group + 1) * kGroup < end ? (group + 1) * kGroup : end;
        const __m512 scale = _mm512_set1_ps(_cvtsh_ss(scales[group]));
        for (; begin + kFloats <= groupEnd; begin += kFloats, values += kFloats)
            _mm512_storeu_ps(values, unpack(weights, begin, kFloats, scale));
        if (begin < groupEnd) {
            const std::size_t count = groupEnd - begin;
            _mm512_mask_storeu_ps(values, firstLanes(count), unpack(weights, begin, count, scale));
            values += count;
            begin = groupEnd;
        }
    }
}

} // namespace

namespace avx512 {

void multiplyRows(const MatrixView& matrix, const float* x, float* y, std::uint32_t begin, std::uint32_t end)
{
    if (matrix.format == WeightFormat::F32) {
        multiplyTokens({.w = reinterpret_cast<const float*>(matrix.payload + begin * matrix.rowBytes),
            .wStride = matrix.rowBytes / sizeof(float),
            .rows = end - begin,
            .x = x,
            .xStride = matrix.columns,
            .tokens = 1,
            .columns = matrix.columns,
            .y = y + begin,
            .yStride = matrix.rows,
            .accumulate = false});
    } else if (matrix.group != kGroup) {
        avx2Table().multiplyRows(matrix, x, y, begin, end);
    } else if (matrix.format == WeightFormat::Q8G) {
        multiplyQuantized<Q8Codes>(matrix, x, y, begin, end);
    } else if (matrix.format == WeightFormat::Q4G) {
        multiplyQuantized<PackedCodes<4>>(matrix, x, y, begin, end);
    } else {
        multiplyQuantized<PackedCodes<3>>(matrix, x, y, begin, end);
    }
}

void unpackRow(const MatrixView& matrix, std::uint32_t row, std::uint32_t begin, std::uint32_t end, float* values)
{
    if (matrix.group == kGroup && matrix.format == WeightFormat::Q8G)
        unpackQuantized<unpackQ8>(matrix, row, begin, end, values);
    else if (matrix.group == kGroup && matrix.format == WeightFormat::Q4G)
        unpackQuantized<unpackQ4>(matrix, row, begin, end, values);
    else
        avx2Table().unpackRow(matrix, row, begin, end, values);
}

} // namespace avx512
} // namespace waste::kernels
#endif
