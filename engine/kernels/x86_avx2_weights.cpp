#if defined(__x86_64__)

#include "kernels/x86_avx2.h"

// Products of stored weights, decoded in registers, with one vector.

namespace waste::kernels {

namespace {

float floatFromHalf(std::uint16_t half)
{
    return _cvtsh_ss(half);
}

const std::uint8_t* rowPayload(const MatrixView& matrix, std::uint32_t row)
{
    return reinterpret_cast<const std::uint8_t*>(matrix.payload) + row * matrix.rowBytes;
}

std::size_t groupCount(const MatrixView& matrix)
{
    return matrix.columns / matrix.group + (matrix.columns % matrix.group != 0 ? 1 : 0);
}

int loadFourBytes(const std::uint8_t* bytes)
{
    int value = 0;
    __builtin_memcpy(&value, bytes, sizeof value);
    return value;
}

// How eight columns from a multiple of eight on are decoded to the stored integers, as floats. The
// padding of a row makes that readable up to the end of its last group.
struct Q8Decoder {
    static __m256 load(const std::uint8_t* row, std::size_t column)
    {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + column));
        return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
    }
};
struct Q4Decoder {
    static __m256 load(const std::uint8_t* row, std::size_t column)
    {
        const __m256i bits = _mm256_set1_epi32(loadFourBytes(row + column / 2));
        const __m256i shifted = _mm256_srlv_epi32(bits, _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
        const __m256i nibbles = _mm256_and_si256(shifted, _mm256_set1_epi32(15));
        return _mm256_cvtepi32_ps(_mm256_sub_epi32(nibbles, _mm256_set1_epi32(8)));
    }
};
// Three bytes; the guard byte at the end of a row makes the load of four legal.
struct Q3Decoder {
    static __m256 load(const std::uint8_t* row, std::size_t column)
    {
        const __m256i bits = _mm256_set1_epi32(loadFourBytes(row + column / 8 * 3));
        const __m256i shifted = _mm256_srlv_epi32(bits, _mm256_setr_epi32(0, 3, 6, 9, 12, 15, 18, 21));
        const __m256i codes = _mm256_and_si256(shifted, _mm256_set1_epi32(7));
        return _mm256_cvtepi32_ps(_mm256_sub_epi32(codes, _mm256_set1_epi32(4)));
    }
};

// kRows rows times one vector. Sums of a group are scaled once, at its end.
template<typename Decoder, std::size_t kRows>
void multiplyQuantized(const MatrixView& matrix, const float* x, float* y, std::uint32_t row)
{
    const std::size_t groups = groupCount(matrix);
    const std::uint8_t* payload[kRows];
    const std::uint16_t* scales[kRows];
    __m256 totals[kRows] = {};
    for (std::size_t r = 0; r < kRows; ++r) {
        payload[r] = rowPayload(matrix, row + static_cast<std::uint32_t>(r));
        scales[r] = matrix.scales + (row + r) * groups;
    }
    for (std::size_t group = 0; group < groups; ++group) {
        const std::size_t begin = group * matrix.group;
        const std::size_t end = begin + matrix.group < matrix.columns ? begin + matrix.group : matrix.columns;
        __m256 sums[kRows] = {};
        std::size_t column = begin;
        for (; column + kWidth <= end; column += kWidth) {
            const __m256 input = _mm256_loadu_ps(x + column);
            for (std::size_t r = 0; r < kRows; ++r)
                sums[r] = _mm256_fmadd_ps(Decoder::load(payload[r], column), input, sums[r]);
        }
        if (column < end) {
            const __m256 input = _mm256_maskload_ps(x + column, maskOf(end - column));
            for (std::size_t r = 0; r < kRows; ++r)
                sums[r] = _mm256_fmadd_ps(Decoder::load(payload[r], column), input, sums[r]);
        }
        for (std::size_t r = 0; r < kRows; ++r)
            totals[r] = _mm256_fmadd_ps(_mm256_set1_ps(floatFromHalf(scales[r][group])), sums[r], totals[r]);
    }
    for (std::size_t r = 0; r < kRows; ++r)
        y[row + r] = sumLanes(totals[r]);
}

template<std::size_t kRows>
void multiplyF32(const MatrixView& matrix, const float* x, float* y, std::uint32_t row)
{
    const float* weights[kRows];
    __m256 even[kRows] = {};
    __m256 odd[kRows] = {};
    for (std::size_t r = 0; r < kRows; ++r) {
        weights[r] = reinterpret_cast<const float*>(rowPayload(matrix, row + static_cast<std::uint32_t>(r)));
    }
    std::size_t column = 0;
    for (; column + 2 * kWidth <= matrix.columns; column += 2 * kWidth) {
        const __m256 first = _mm256_loadu_ps(x + column);
        const __m256 second = _mm256_loadu_ps(x + column + kWidth);
        for (std::size_t r = 0; r < kRows; ++r) {
            even[r] = _mm256_fmadd_ps(_mm256_loadu_ps(weights[r] + column), first, even[r]);
            odd[r] = _mm256_fmadd_ps(_mm256_loadu_ps(weights[r] + column + kWidth), second, odd[r]);
        }
    }
    for (; column < matrix.columns; column += kWidth) {
        const std::size_t rest = matrix.columns - column;
        const __m256i mask = maskOf(rest < kWidth ? rest : kWidth);
        const __m256 input = _mm256_maskload_ps(x + column, mask);
        for (std::size_t r = 0; r < kRows; ++r)
            even[r] = _mm256_fmadd_ps(_mm256_maskload_ps(weights[r] + column, mask), input, even[r]);
    }
    for (std::size_t r = 0; r < kRows; ++r)
        y[row + r] = sumLanes(_mm256_add_ps(even[r], odd[r]));
}

using RowFunction = void (*)(const MatrixView&, const float*, float*, std::uint32_t);

void forEachRow(RowFunction four, RowFunction one, const MatrixView& matrix, const float* x, float* y,
    std::uint32_t begin, std::uint32_t end)
{
    for (; begin + 4 <= end; begin += 4)
        four(matrix, x, y, begin);
    for (; begin < end; ++begin)
        one(matrix, x, y, begin);
}

template<typename Decoder>
void unpackQuantized(const MatrixView& matrix, std::uint32_t row, std::uint32_t begin, std::uint32_t end, float* values)
{
    const std::size_t groups = groupCount(matrix);
    const std::uint16_t* const scales = matrix.scales + row * groups;
    const std::uint8_t* const payload = rowPayload(matrix, row);
    for (std::uint32_t column = begin; column < end; column += kWidth, values += kWidth) {
        const __m256 scale = _mm256_set1_ps(floatFromHalf(scales[column / matrix.group]));
        const __m256 weights = _mm256_mul_ps(scale, Decoder::load(payload, column));
        if (column + kWidth <= end)
            _mm256_storeu_ps(values, weights);
        else
            _mm256_maskstore_ps(values, maskOf(end - column), weights);
    }
}

// ---- experts: vectors of eight columns

struct IndexWalk {
    const std::uint8_t* first; // of the row's first vector
    std::size_t step; // to the next vector's
};

IndexWalk walkIndices(const VqMatrixView& matrix, std::uint32_t row, std::size_t bytesPerVector)
{
    const std::size_t rowBytes = matrix.columns / matrix.vecDim * bytesPerVector;
    if (matrix.indexBlock == 0)
        return {matrix.indices + row * rowBytes, bytesPerVector};
    const std::size_t block = matrix.indexBlock;
    return {matrix.indices + row / block * block * rowBytes + row % block * bytesPerVector, block * bytesPerVector};
}

constexpr std::size_t kCodebookFloats = 256 * kWidth; // of one stage

// The eight weights that the indices of one vector stand for, the row's scale aside.
template<std::size_t kStages>
struct EightBitLookup {
    static constexpr std::size_t kBytes = kStages;
    static __m256 load(const float* codebooks, const std::uint8_t* indices)
    {
        __m256 weights = _mm256_loadu_ps(codebooks + indices[0] * kWidth);
        for (std::size_t stage = 1; stage < kStages; ++stage)
            weights =
                _mm256_add_ps(weights, _mm256_loadu_ps(codebooks + stage * kCodebookFloats + indices[stage] * kWidth));
        return weights;
    }
};
struct SixBitLookup {
    static constexpr std::size_t kBytes = 3;
    static __m256 load(const float* codebooks, const std::uint8_t* indices)
    {
        std::uint16_t low = 0;
        __builtin_memcpy(&low, indices, sizeof low);
        const std::uint32_t bits = low | std::uint32_t{indices[2]} << 16;
        __m256 weights = _mm256_loadu_ps(codebooks + (bits & 63U) * kWidth);
        for (std::size_t stage = 1; stage < 4; ++stage)
            weights = _mm256_add_ps(
                weights, _mm256_loadu_ps(codebooks + stage * kCodebookFloats + ((bits >> (6 * stage)) & 63U) * kWidth));
        return weights;
    }
};

// Sums of some rows, in lanes, while their indices are walked through segment by segment: the indices of a block of
// rows lie side by side, and a segment of them stays in the first-level cache until all rows have used it.
constexpr std::size_t kSumRows = 64;
constexpr std::size_t kSegmentColumns = 32 * kWidth;

template<std::size_t kTokens>
struct RowSums {
    __m256 lanes[kSumRows][kTokens] = {};
};

// kRows rows over the columns of a segment. Looking up whole vectors and multiplying costs as many loads as adding up
// prepared products per index, and needs no tables of products.
template<typename Lookup, std::size_t kRows, std::size_t kTokens>
void addSegment(const VqMatrixView& matrix, const KernelTable::Vectors& vectors, std::size_t row, std::size_t begin,
    std::size_t end, __m256 (*lanes)[kTokens])
{
    const std::uint8_t* indices[kRows];
    __m256 sums[kRows][kTokens];
    std::size_t step = 0;
    for (std::size_t r = 0; r < kRows; ++r) {
        const IndexWalk walk = walkIndices(matrix, static_cast<std::uint32_t>(row + r), Lookup::kBytes);
        indices[r] = walk.first + begin / kWidth * walk.step;
        step = walk.step;
        for (std::size_t t = 0; t < kTokens; ++t)
            sums[r][t] = lanes[r][t];
    }
    for (std::size_t column = begin; column < end; column += kWidth) {
        _mm_prefetch(indices[0] + kSegmentColumns / kWidth * step, _MM_HINT_T0); // for the next segment
        for (std::size_t r = 0; r < kRows; ++r) {
            const __m256 weights = Lookup::load(matrix.codebooks, indices[r]);
            for (std::size_t t = 0; t < kTokens; ++t)
                sums[r][t] =
                    _mm256_fmadd_ps(weights, _mm256_loadu_ps(vectors.x + t * vectors.xStride + column), sums[r][t]);
            indices[r] += step;
        }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t t = 0; t < kTokens; ++t)
            lanes[r][t] = sums[r][t];
    }
}

// Rows first..last−1, at most kSumRows. As many at a time as leave registers for the sums of all vectors.
template<typename Lookup, std::size_t kTokens>
void multiplyVq(const VqMatrixView& matrix, const KernelTable::Vectors& vectors, std::size_t first, std::size_t last)
{
    constexpr std::size_t kRows = kTokens <= 3 ? 4 : 3;
    RowSums<kTokens> sums;
    for (std::size_t begin = 0; begin < matrix.columns; begin += kSegmentColumns) {
        const std::size_t rest = matrix.columns - begin;
        const std::size_t end = begin + (rest < kSegmentColumns ? rest : kSegmentColumns);
        std::size_t row = first;
        for (; row + kRows <= last; row += kRows)
            addSegment<Lookup, kRows, kTokens>(matrix, vectors, row, begin, end, sums.lanes + (row - first));
        for (; row < last; ++row)
            addSegment<Lookup, 1, kTokens>(matrix, vectors, row, begin, end, sums.lanes + (row - first));
    }
    for (std::size_t row = first; row < last; ++row) {
        const float scale = floatFromHalf(matrix.scales[row]);
        for (std::size_t t = 0; t < kTokens; ++t)
            vectors.y[t * vectors.yStride + row] = sumLanes(sums.lanes[row - first][t]) * scale;
    }
}

template<typename Lookup>
struct VqKernels {
    static void multiplyRows(
        const VqMatrixView& matrix, const KernelTable::Vectors& vectors, std::uint32_t begin, std::uint32_t end)
    {
        static constexpr void (*kFor[kVqVectorsMax])(const VqMatrixView&, const KernelTable::Vectors&, std::size_t,
            std::size_t) = {multiplyVq<Lookup, 1>, multiplyVq<Lookup, 2>, multiplyVq<Lookup, 3>, multiplyVq<Lookup, 4>};
        for (std::size_t first = begin; first < end; first += kSumRows)
            kFor[vectors.tokens - 1](matrix, vectors, first, first + kSumRows < end ? first + kSumRows : end);
    }
    static void unpackRow(
        const VqMatrixView& matrix, std::uint32_t row, std::uint32_t begin, std::uint32_t end, float* values)
    {
        const IndexWalk walk = walkIndices(matrix, row, Lookup::kBytes);
        const __m256 scale = _mm256_set1_ps(floatFromHalf(matrix.scales[row]));
        const std::uint8_t* indices = walk.first + begin / kWidth * walk.step;
        for (; begin < end; begin += kWidth, values += kWidth, indices += walk.step)
            _mm256_storeu_ps(values, _mm256_mul_ps(Lookup::load(matrix.codebooks, indices), scale));
    }
};

// Calls visit with the kernels of the matrix's layout, if there are fast ones for it.
template<typename Visit>
bool visitVqKernels(const VqMatrixView& matrix, Visit visit)
{
    if (matrix.vecDim != kWidth)
        return false;
    if (matrix.indexBits == 6)
        visit(VqKernels<SixBitLookup>{});
    else if (matrix.stages == 2)
        visit(VqKernels<EightBitLookup<2>>{});
    else if (matrix.stages == 3)
        visit(VqKernels<EightBitLookup<3>>{});
    else if (matrix.stages == 4)
        visit(VqKernels<EightBitLookup<4>>{});
    else
        return false;
    return true;
}

// Groups that eight columns may straddle are left to the plain loops; no converter writes them.
bool hasFastGroups(const MatrixView& matrix)
{
    return matrix.group % kWidth == 0;
}

} // namespace

namespace avx2 {

void multiplyRows(const MatrixView& matrix, const float* x, float* y, std::uint32_t begin, std::uint32_t end)
{
    if (matrix.format == WeightFormat::F32)
        forEachRow(multiplyF32<4>, multiplyF32<1>, matrix, x, y, begin, end);
    else if (!hasFastGroups(matrix))
        scalarTable().multiplyRows(matrix, x, y, begin, end);
    else if (matrix.format == WeightFormat::Q8G)
        forEachRow(multiplyQuantized<Q8Decoder, 4>, multiplyQuantized<Q8Decoder, 1>, matrix, x, y, begin, end);
    else if (matrix.format == WeightFormat::Q4G)
        forEachRow(multiplyQuantized<Q4Decoder, 4>, multiplyQuantized<Q4Decoder, 1>, matrix, x, y, begin, end);
    else
        forEachRow(multiplyQuantized<Q3Decoder, 4>, multiplyQuantized<Q3Decoder, 1>, matrix, x, y, begin, end);
}

void multiplyVqRows(
    const VqMatrixView& matrix, const KernelTable::Vectors& vectors, std::uint32_t begin, std::uint32_t end)
{
    if (!visitVqKernels(matrix, [&](auto kernels) { kernels.multiplyRows(matrix, vectors, begin, end); }))
        scalarTable().multiplyVqRows(matrix, vectors, begin, end);
}

void unpackRow(const MatrixView& matrix, std::uint32_t row, std::uint32_t begin, std::uint32_t end, float* values)
{
    if (matrix.format == WeightFormat::F32 || !hasFastGroups(matrix))
        scalarTable().unpackRow(matrix, row, begin, end, values);
    else if (matrix.format == WeightFormat::Q8G)
        unpackQuantized<Q8Decoder>(matrix, row, begin, end, values);
    else if (matrix.format == WeightFormat::Q4G)
        unpackQuantized<Q4Decoder>(matrix, row, begin, end, values);
    else
        unpackQuantized<Q3Decoder>(matrix, row, begin, end, values);
}

void unpackVqRow(const VqMatrixView& matrix, std::uint32_t row, std::uint32_t begin, std::uint32_t end, float* values)
{
    if (!visitVqKernels(matrix, [&](auto kernels) { kernels.unpackRow(matrix, row, begin, end, values); }))
        scalarTable().unpackVqRow(matrix, row, begin, end, values);
}

} // namespace avx2
} // namespace waste::kernels
#endif
