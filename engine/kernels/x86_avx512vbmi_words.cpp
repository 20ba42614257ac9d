#if defined(__x86_64__)

#include "kernels/x86_avx512vbmi_lookup.h"

// Decoding of experts with 64 entries a stage to 16-bit integers (reduced_inputs.h): the two bytes of an entry are
// looked up for 64 rows at once.

namespace waste::kernels {

namespace {

using Format = PackedFormat;

static_assert(kWordPlaneEntries == Format::kShape.entries && kWordStagesMax == Format::kShape.stages);

// One column of a position: sums over the stages, for rows 0 to 31 and 32 to 63.
struct ColumnSums {
    __m512i halves[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};

    // planes [stages][kWordColumns][2][entries], of this column
    ColumnSums(const __m512i (&stages)[Format::kShape.stages], const std::uint8_t* planes)
    {
        constexpr std::size_t kEntries = Format::kShape.entries;
#pragma GCC unroll 4
        for (std::size_t stage = 0; stage < Format::kShape.stages; ++stage) {
            const __m512i lower = Format::lookUp(stages[stage], planes);
            const __m512i upper = Format::lookUp(stages[stage], planes + kEntries);
            halves[0] = _mm512_add_epi16(halves[0], _mm512_unpacklo_epi8(lower, upper));
            halves[1] = _mm512_add_epi16(halves[1], _mm512_unpackhi_epi8(lower, upper));
            planes += kWordColumns * 2 * kEntries;
        }
    }
};

void unpackBlock(const VqMatrixView& matrix, const WordBooks& books, std::size_t row, std::size_t begin,
    std::size_t end, std::int16_t* words)
{
    constexpr std::size_t kColumnBytes = 2 * Format::kShape.entries;
    constexpr std::size_t kRegisterWords = 32;
    const std::uint8_t* indices =
        matrix.indices + (row / kWordRows * (matrix.columns / kWordColumns) + begin / kWordColumns) * kPositionBytes;
    for (std::size_t position = begin; position < end; position += kWordColumns, indices += kPositionBytes) {
        __m512i stages[Format::kShape.stages];
        takeApart<Format, RowOrder::ForInterleaving>(indices, stages);
        for (std::size_t column = 0; column < kWordColumns; column += 2) {
            const std::uint8_t* const planes = books.planes + column * kColumnBytes;
            const ColumnSums first(stages, planes);
            const ColumnSums second(stages, planes + kColumnBytes);
#pragma GCC unroll 2
            for (std::size_t half = 0; half < 2; ++half) {
                _mm512_storeu_si512(words, _mm512_unpacklo_epi16(first.halves[half], second.halves[half]));
                _mm512_storeu_si512(
                    words + kRegisterWords, _mm512_unpackhi_epi16(first.halves[half], second.halves[half]));
                words += 2 * kRegisterWords;
            }
        }
    }
}

} // namespace

namespace avx512vbmi {

void unpackVqWords(const VqMatrixView& matrix, const WordBooks& books, std::uint32_t row, std::uint32_t begin,
    std::uint32_t end, std::int16_t* words)
{
    if (matrix.indexBits == 6)
        unpackBlock(matrix, books, row, begin, end, words);
    else // 256 entries take five operations where 64 take one: 35 in place of 42 GMAC/s with four vectors
        avx2Table().unpackVqWords(matrix, books, row, begin, end, words);
}

} // namespace avx512vbmi
} // namespace waste::kernels
#endif
