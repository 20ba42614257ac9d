#if defined(__x86_64__)

#include "kernels/x86_avx512vbmi_lookup.h"

// Exact tables of products: floats in four planes of bytes, [stage][plane][entry]. Four lookups give the bytes of 64
// floats, which two rounds of interleaving put together.

namespace waste::kernels {

namespace {

constexpr std::size_t kPlanes = sizeof(float);

template<typename Format>
void build(const VqMatrixView& matrix, const float* x, const TableInput& tables, std::size_t begin, std::size_t end)
{
    constexpr std::size_t kEntries = Format::kShape.entries;
    const TransposedCodebooks<Format> books(matrix.codebooks);
    for (std::size_t position = begin; position < end; ++position) {
        std::uint8_t* const table = tables.entries + position * Format::kExactBytes;
        books.forPosition(x + position * kTableColumns, [&](std::size_t place, __m512 contributions) {
            const __m512i bits = _mm512_castps_si512(contributions);
            std::uint8_t* const out = table + place / kEntries * kPlanes * kEntries + place % kEntries;
            for (std::size_t plane = 0; plane < kPlanes; ++plane) {
                const __m512i shifted = _mm512_srli_epi32(bits, static_cast<unsigned>(8 * plane));
                _mm_storeu_si128(reinterpret_cast<__m128i*>(out + plane * kEntries), _mm512_cvtepi32_epi8(shifted));
            }
        });
    }
}

// Adds what one stage contributes to 64 rows.
template<typename Format>
void addStage(__m512i index, const std::uint8_t* planes, __m512 (&sums)[4])
{
    constexpr std::size_t kEntries = Format::kShape.entries;
    __m512i bytes[kPlanes];
#pragma GCC unroll 4
    for (std::size_t plane = 0; plane < kPlanes; ++plane)
        bytes[plane] = Format::lookUp(index, planes + plane * kEntries);
    const __m512i lower[2] = {_mm512_unpacklo_epi8(bytes[0], bytes[1]), _mm512_unpackhi_epi8(bytes[0], bytes[1])};
    const __m512i upper[2] = {_mm512_unpacklo_epi8(bytes[2], bytes[3]), _mm512_unpackhi_epi8(bytes[2], bytes[3])};
#pragma GCC unroll 2
    for (std::size_t half = 0; half < 2; ++half) {
        const __m512i first = _mm512_unpacklo_epi16(lower[half], upper[half]);
        const __m512i second = _mm512_unpackhi_epi16(lower[half], upper[half]);
        sums[2 * half] = _mm512_add_ps(sums[2 * half], _mm512_castsi512_ps(first));
        sums[2 * half + 1] = _mm512_add_ps(sums[2 * half + 1], _mm512_castsi512_ps(second));
    }
}

template<typename Format>
void addBlock(const std::uint8_t* indices, const std::uint8_t* table, std::size_t positions, float* results)
{
    constexpr TableShape kShape = Format::kShape;
    __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
    for (std::size_t p = 0; p < positions; ++p) {
        __m512i stages[kShape.stages];
        takeApart<Format, RowOrder::ForInterleaving>(indices, stages);
#pragma GCC unroll 4
        for (std::size_t stage = 0; stage < kShape.stages; ++stage)
            addStage<Format>(stages[stage], table + stage * kPlanes * kShape.entries, sums);
        indices += kPositionBytes;
        table += Format::kExactBytes;
    }
#pragma GCC unroll 4
    for (std::size_t part = 0; part < 4; ++part) {
        float* const result = results + part * kFloats;
        _mm512_store_ps(result, _mm512_add_ps(_mm512_load_ps(result), sums[part]));
    }
}

void storeRows(const float* results, const std::uint16_t* scales, float* y, std::size_t rows)
{
    for (std::size_t first = 0; first < rows; first += kFloats)
        storeScaled(_mm512_load_ps(results + first), scales, y, first, rows);
}

template<typename Format>
void multiply(const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end)
{
    multiplyBlocks<Format>(
        matrix, tables, Format::kExactBytes, y, begin, end,
        [](const std::uint8_t* indices, const std::uint8_t* table, std::size_t, std::size_t positions, float* results) {
            addBlock<Format>(indices, table, positions, results);
        },
        storeRows);
}

} // namespace

namespace avx512vbmi {

void buildExactTables(
    const VqMatrixView& matrix, const float* x, const TableInput& tables, std::size_t begin, std::size_t end)
{
    matrix.indexBits == 6 ? build<PackedFormat>(matrix, x, tables, begin, end)
                          : build<WholeFormat>(matrix, x, tables, begin, end);
}

void multiplyExactTables(
    const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end)
{
    matrix.indexBits == 6 ? multiply<PackedFormat>(matrix, tables, y, begin, end)
                          : multiply<WholeFormat>(matrix, tables, y, begin, end);
}

} // namespace avx512vbmi
} // namespace waste::kernels
#endif
