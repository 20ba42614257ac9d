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

// Where the indices of some rows lie, none of them in another block than the first.
struct IndexWalk {
    const std::uint8_t* first; // of the first row's first vector
    std::size_t step; // to the next vector of a row
    std::size_t pitch; // to the next row
};

IndexWalk walkIndices(const VqMatrixView& matrix, std::size_t row, std::size_t bytesPerVector)
{
    const std::size_t rowBytes = matrix.columns / matrix.vecDim * bytesPerVector;
    if (matrix.indexBlock == 0)
        return {matrix.indices + row * rowBytes, bytesPerVector, rowBytes};
    const std::size_t block = matrix.indexBlock;
    return {matrix.indices + row / block * block * rowBytes + row % block * bytesPerVector, block * bytesPerVector,
        bytesPerVector};
}

constexpr std::size_t kRunRows = 64;

// Calls visit(first, last) for runs of at most kRunRows rows, each in one block of indices.
template<typename Visit>
void forRuns(const VqMatrixView& matrix, std::size_t begin, std::size_t end, Visit visit)
{
    const std::size_t block = matrix.indexBlock == 0 ? kRunRows : matrix.indexBlock;
    while (begin < end) {
        const std::size_t blockEnd = (begin / block + 1) * block;
        std::size_t last = begin + kRunRows;
        last = last < blockEnd ? last : blockEnd;
        last = last < end ? last : end;
        visit(begin, last);
        begin = last;
    }
}

constexpr std::size_t kCodebookFloats = 256 * kWidth; // of one stage

template<typename Word>
std::uint64_t loadWord(const std::uint8_t* bytes)
{
    Word value = 0;
    __builtin_memcpy(&value, bytes, sizeof value);
    return value;
}

constexpr std::size_t kEntryBytes = kWidth * sizeof(float);

// The entry that an index names; it is the lowest of kBits bits. One shift brings it to its place and multiplies it.
template<std::size_t kBits, std::size_t kFirstBit>
__m256 loadEntry(const float* stage, std::uint64_t bits)
{
    constexpr std::uint64_t kMask = ((std::uint64_t{1} << kBits) - 1) * kEntryBytes;
    constexpr std::size_t kEntryShift = 5;
    static_assert(kEntryBytes == std::size_t{1} << kEntryShift);
    std::uint64_t offset = 0;
    if constexpr (kFirstBit < kEntryShift)
        offset = (bits << (kEntryShift - kFirstBit)) & kMask;
    else
        offset = (bits >> (kFirstBit - kEntryShift)) & kMask;
    return _mm256_loadu_ps(reinterpret_cast<const float*>(reinterpret_cast<const char*>(stage) + offset));
}

// The eight weights that the indices of one vector stand for, the row's scale aside. The indices are the lowest bits of
// a word.
template<std::size_t kStages>
struct EightBitLookup {
    static constexpr std::size_t kBytes = kStages;
    static __m256 load(const float* codebooks, std::uint64_t bits)
    {
        __m256 weights = loadEntry<8, 0>(codebooks, bits);
        weights = _mm256_add_ps(weights, loadEntry<8, 8>(codebooks + kCodebookFloats, bits));
        if constexpr (kStages > 2)
            weights = _mm256_add_ps(weights, loadEntry<8, 16>(codebooks + 2 * kCodebookFloats, bits));
        if constexpr (kStages > 3)
            weights = _mm256_add_ps(weights, loadEntry<8, 24>(codebooks + 3 * kCodebookFloats, bits));
        return weights;
    }
};
struct SixBitLookup {
    static constexpr std::size_t kBytes = 3;
    static __m256 load(const float* codebooks, std::uint64_t bits)
    {
        __m256 weights = loadEntry<6, 0>(codebooks, bits);
        weights = _mm256_add_ps(weights, loadEntry<6, 6>(codebooks + kCodebookFloats, bits));
        weights = _mm256_add_ps(weights, loadEntry<6, 12>(codebooks + 2 * kCodebookFloats, bits));
        return _mm256_add_ps(weights, loadEntry<6, 18>(codebooks + 3 * kCodebookFloats, bits));
    }
};

template<std::size_t kBytes>
std::uint64_t loadIndices(const std::uint8_t* indices)
{
    if constexpr (kBytes == 2)
        return loadWord<std::uint16_t>(indices);
    else if constexpr (kBytes == 3)
        return loadWord<std::uint16_t>(indices) | std::uint64_t{indices[2]} << 16;
    else
        return loadWord<std::uint32_t>(indices);
}

// The indices of one vector of some rows. Where rows of three bytes lie side by side, two words hold those of four.
template<std::size_t kBytes, bool kSideBySide, std::size_t kRows>
void loadIndices(const std::uint8_t* indices, std::size_t pitch, std::uint64_t (&bits)[kRows])
{
    if constexpr (kSideBySide && kBytes == 3 && kRows == 4) {
        const std::uint64_t firstTwo = loadWord<std::uint64_t>(indices);
        const std::uint64_t lastTwo = loadWord<std::uint64_t>(indices + 4);
        bits[0] = firstTwo;
        bits[1] = firstTwo >> 24;
        bits[2] = lastTwo >> 16;
        bits[3] = lastTwo >> 40;
    } else {
#pragma GCC unroll 8
        for (std::size_t r = 0; r < kRows; ++r)
            bits[r] = loadIndices<kBytes>(indices + r * (kSideBySide ? kBytes : pitch));
    }
}

// Sums of some rows, in lanes, while their indices are walked through segment by segment: the indices of a block of
// rows lie side by side, and a segment of them stays in the first-level cache until all rows have used it.
constexpr std::size_t kSegmentColumns = 32 * kWidth;

template<std::size_t kTokens>
struct RowSums {
    __m256 lanes[kRunRows][kTokens] = {};
};

// kRows rows over the columns of a segment. Looking up whole vectors and multiplying costs as many loads as adding up
// prepared products per index, and needs no tables of products.
template<typename Lookup, bool kSideBySide, std::size_t kRows, std::size_t kTokens>
void addSegment(const float* codebooks, const IndexWalk& walk, const KernelTable::Vectors& vectors, std::size_t begin,
    std::size_t end, __m256 (*lanes)[kTokens])
{
    const std::uint8_t* indices = walk.first + begin / kWidth * walk.step;
    __m256 sums[kRows][kTokens];
    for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t t = 0; t < kTokens; ++t)
            sums[r][t] = lanes[r][t];
    }
    for (std::size_t column = begin; column < end; column += kWidth, indices += walk.step) {
        _mm_prefetch(indices + kSegmentColumns / kWidth * walk.step, _MM_HINT_T0); // for the next segment
        std::uint64_t bits[kRows];
        loadIndices<Lookup::kBytes, kSideBySide>(indices, walk.pitch, bits);
        for (std::size_t r = 0; r < kRows; ++r) {
            const __m256 weights = Lookup::load(codebooks, bits[r]);
            for (std::size_t t = 0; t < kTokens; ++t)
                sums[r][t] =
                    _mm256_fmadd_ps(weights, _mm256_loadu_ps(vectors.x + t * vectors.xStride + column), sums[r][t]);
        }
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
        for (std::size_t t = 0; t < kTokens; ++t)
            lanes[r][t] = sums[r][t];
    }
}

// A run of rows. As many at a time as leave registers for the sums of all vectors.
template<typename Lookup, bool kSideBySide, std::size_t kTokens>
void multiplyVq(const VqMatrixView& matrix, const KernelTable::Vectors& vectors, std::size_t first, std::size_t last)
{
    constexpr std::size_t kRows = kTokens <= 3 ? 4 : 3;
    RowSums<kTokens> sums;
    const IndexWalk whole = walkIndices(matrix, first, Lookup::kBytes);
    for (std::size_t begin = 0; begin < matrix.columns; begin += kSegmentColumns) {
        const std::size_t rest = matrix.columns - begin;
        const std::size_t end = begin + (rest < kSegmentColumns ? rest : kSegmentColumns);
        IndexWalk walk = whole;
        std::size_t row = 0;
        for (; row + kRows <= last - first; row += kRows, walk.first += kRows * walk.pitch)
            addSegment<Lookup, kSideBySide, kRows, kTokens>(
                matrix.codebooks, walk, vectors, begin, end, sums.lanes + row);
        for (; row < last - first; ++row, walk.first += walk.pitch)
            addSegment<Lookup, kSideBySide, 1, kTokens>(matrix.codebooks, walk, vectors, begin, end, sums.lanes + row);
    }
    for (std::size_t row = first; row < last; ++row) {
        const float scale = floatFromHalf(matrix.scales[row]);
        for (std::size_t t = 0; t < kTokens; ++t)
            vectors.y[t * vectors.yStride + row] = sumLanes(sums.lanes[row - first][t]) * scale;
    }
}

// kRows rows, so that their lookups do not wait for each other.
template<typename Lookup, bool kSideBySide, std::size_t kRows>
void unpackVq(const float* codebooks, const float* scales, const IndexWalk& walk, std::size_t columns, float* values,
    std::size_t stride)
{
    const std::uint8_t* indices = walk.first;
    for (std::size_t column = 0; column < columns; column += kWidth, indices += walk.step) {
        _mm_prefetch(indices + columns / kWidth * walk.step, _MM_HINT_T0); // for the columns after these
        std::uint64_t bits[kRows];
        loadIndices<Lookup::kBytes, kSideBySide>(indices, walk.pitch, bits);
        for (std::size_t r = 0; r < kRows; ++r) {
            const __m256 weights = Lookup::load(codebooks, bits[r]);
            _mm256_storeu_ps(values + r * stride + column, _mm256_mul_ps(weights, _mm256_broadcast_ss(scales + r)));
        }
    }
}

template<typename Lookup, bool kSideBySide>
struct VqKernels {
    static void multiplyRows(
        const VqMatrixView& matrix, const KernelTable::Vectors& vectors, std::uint32_t begin, std::uint32_t end)
    {
        static constexpr void (*kFor[kVqVectorsMax])(const VqMatrixView&, const KernelTable::Vectors&, std::size_t,
            std::size_t) = {multiplyVq<Lookup, kSideBySide, 1>, multiplyVq<Lookup, kSideBySide, 2>,
            multiplyVq<Lookup, kSideBySide, 3>, multiplyVq<Lookup, kSideBySide, 4>};
        forRuns(matrix, begin, end,
            [&](std::size_t first, std::size_t last) { kFor[vectors.tokens - 1](matrix, vectors, first, last); });
    }
    static void unpackRows(const VqMatrixView& matrix, std::uint32_t rowBegin, std::uint32_t rowEnd,
        std::uint32_t begin, std::uint32_t end, float* values, std::size_t stride)
    {
        forRuns(matrix, rowBegin, rowEnd, [&](std::size_t row, std::size_t last) {
            IndexWalk walk = walkIndices(matrix, row, Lookup::kBytes);
            walk.first += begin / kWidth * walk.step;
            float scales[kRunRows];
            for (std::size_t r = 0; r < last - row; ++r)
                scales[r] = floatFromHalf(matrix.scales[row + r]);
            const float* const codebooks = matrix.codebooks;
            float* target = values + (row - rowBegin) * stride;
            const std::size_t count = last - row;
            std::size_t r = 0;
            for (; r + 4 <= count; r += 4, walk.first += 4 * walk.pitch, target += 4 * stride)
                unpackVq<Lookup, kSideBySide, 4>(codebooks, scales + r, walk, end - begin, target, stride);
            for (; r < count; ++r, walk.first += walk.pitch, target += stride)
                unpackVq<Lookup, kSideBySide, 1>(codebooks, scales + r, walk, end - begin, target, stride);
        });
    }
};

template<typename Lookup, typename Visit>
void visitLayout(const VqMatrixView& matrix, Visit visit)
{
    if (matrix.indexBlock != 0)
        visit(VqKernels<Lookup, true>{});
    else
        visit(VqKernels<Lookup, false>{});
}

// Calls visit with the kernels of the matrix's format, if there are fast ones for it.
template<typename Visit>
bool visitVqKernels(const VqMatrixView& matrix, Visit visit)
{
    if (matrix.vecDim != kWidth)
        return false;
    if (matrix.indexBits == 6)
        visitLayout<SixBitLookup>(matrix, visit);
    else if (matrix.stages == 2)
        visitLayout<EightBitLookup<2>>(matrix, visit);
    else if (matrix.stages == 3)
        visitLayout<EightBitLookup<3>>(matrix, visit);
    else if (matrix.stages == 4)
        visitLayout<EightBitLookup<4>>(matrix, visit);
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

void unpackVqRows(const VqMatrixView& matrix, std::uint32_t rowBegin, std::uint32_t rowEnd, std::uint32_t begin,
    std::uint32_t end, float* values, std::size_t stride)
{
    const auto unpack = [&](auto kernels) { kernels.unpackRows(matrix, rowBegin, rowEnd, begin, end, values, stride); };
    if (!visitVqKernels(matrix, unpack))
        scalarTable().unpackVqRows(matrix, rowBegin, rowEnd, begin, end, values, stride);
}

} // namespace avx2
} // namespace waste::kernels
#endif
