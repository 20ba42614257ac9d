#if defined(__aarch64__)

#include "kernels/arm_neon.h"

// Products of stored weights, decoded in registers, with one vector.

namespace waste::kernels {

namespace {

constexpr std::size_t kStep = 8; // columns decoded at a time

struct Eight {
    float32x4_t low;
    float32x4_t high;
};

Eight loadEight(const float* p)
{
    return {vld1q_f32(p), vld1q_f32(p + kWidth)};
}

Eight loadFirstOfEight(const float* p, std::size_t count)
{
    const std::size_t low = smaller(count, kWidth);
    return {loadFirst(p, low), loadFirst(p + low, count - low)};
}

void storeEight(float* p, const Eight& v)
{
    vst1q_f32(p, v.low);
    vst1q_f32(p + kWidth, v.high);
}

// sum + a·b
Eight multiplyAdd(const Eight& sum, const Eight& a, const Eight& b)
{
    return {vfmaq_f32(sum.low, a.low, b.low), vfmaq_f32(sum.high, a.high, b.high)};
}

Eight times(const Eight& v, float factor)
{
    return {vmulq_n_f32(v.low, factor), vmulq_n_f32(v.high, factor)};
}

float sumOf(const Eight& v)
{
    return sumLanes(vaddq_f32(v.low, v.high));
}

const std::uint8_t* rowPayload(const MatrixView& matrix, std::uint32_t row)
{
    return reinterpret_cast<const std::uint8_t*>(matrix.payload) + row * matrix.rowBytes;
}

std::size_t groupCount(const MatrixView& matrix)
{
    return matrix.columns / matrix.group + (matrix.columns % matrix.group != 0 ? 1 : 0);
}

std::uint32_t loadFourBytes(const std::uint8_t* bytes)
{
    std::uint32_t value = 0;
    __builtin_memcpy(&value, bytes, sizeof value);
    return value;
}

Eight floatsFrom(int8x8_t bytes)
{
    const int16x8_t words = vmovl_s8(bytes);
    return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(words))), vcvtq_f32_s32(vmovl_high_s16(words))};
}

// How eight columns from a multiple of eight on are decoded to the stored integers, as floats. The
// padding of a row makes that readable up to the end of its last group.
struct Q8Decoder {
    static Eight load(const std::uint8_t* row, std::size_t column)
    {
        return floatsFrom(vreinterpret_s8_u8(vld1_u8(row + column)));
    }
};
struct Q4Decoder {
    static Eight load(const std::uint8_t* row, std::size_t column)
    {
        const uint8x8_t bytes = vcreate_u8(loadFourBytes(row + column / 2));
        const uint8x8_t nibbles = vzip1_u8(vand_u8(bytes, vdup_n_u8(15)), vshr_n_u8(bytes, 4));
        return floatsFrom(vsub_s8(vreinterpret_s8_u8(nibbles), vdup_n_s8(8)));
    }
};
// Three bytes; the guard byte at the end of a row makes the load of four legal.
struct Q3Decoder {
    static Eight load(const std::uint8_t* row, std::size_t column)
    {
        static constexpr std::int32_t kShifts[kStep] = {0, -3, -6, -9, -12, -15, -18, -21};
        const uint32x4_t bits = vdupq_n_u32(loadFourBytes(row + column / 8 * 3));
        const auto codes = [&](std::size_t first) {
            const uint32x4_t code = vandq_u32(vshlq_u32(bits, vld1q_s32(kShifts + first)), vdupq_n_u32(7));
            return vcvtq_f32_s32(vsubq_s32(vreinterpretq_s32_u32(code), vdupq_n_s32(4)));
        };
        return {codes(0), codes(kWidth)};
    }
};

// kRows rows times one vector. Sums of a group are scaled once, at its end.
template<typename Decoder, std::size_t kRows>
void multiplyQuantized(const MatrixView& matrix, const float* x, float* y, std::uint32_t row)
{
    const std::size_t groups = groupCount(matrix);
    const std::uint8_t* payload[kRows];
    const std::uint16_t* scales[kRows];
    Eight totals[kRows] = {};
    for (std::size_t r = 0; r < kRows; ++r) {
        payload[r] = rowPayload(matrix, row + static_cast<std::uint32_t>(r));
        scales[r] = matrix.scales + (row + r) * groups;
    }
    for (std::size_t group = 0; group < groups; ++group) {
        const std::size_t begin = group * matrix.group;
        const std::size_t end = smaller(begin + matrix.group, matrix.columns);
        Eight sums[kRows] = {};
        std::size_t column = begin;
        for (; column + kStep <= end; column += kStep) {
            const Eight input = loadEight(x + column);
            for (std::size_t r = 0; r < kRows; ++r)
                sums[r] = multiplyAdd(sums[r], Decoder::load(payload[r], column), input);
        }
        if (column < end) {
            const Eight input = loadFirstOfEight(x + column, end - column);
            for (std::size_t r = 0; r < kRows; ++r)
                sums[r] = multiplyAdd(sums[r], Decoder::load(payload[r], column), input);
        }
        for (std::size_t r = 0; r < kRows; ++r) {
            const float scale = floatFromHalf(scales[r][group]);
            totals[r] = {
                vfmaq_n_f32(totals[r].low, sums[r].low, scale), vfmaq_n_f32(totals[r].high, sums[r].high, scale)};
        }
    }
    for (std::size_t r = 0; r < kRows; ++r)
        y[row + r] = sumOf(totals[r]);
}

template<std::size_t kRows>
void multiplyF32(const MatrixView& matrix, const float* x, float* y, std::uint32_t row)
{
    const float* weights[kRows];
    Eight sums[kRows] = {};
    for (std::size_t r = 0; r < kRows; ++r)
        weights[r] = reinterpret_cast<const float*>(rowPayload(matrix, row + static_cast<std::uint32_t>(r)));
    std::size_t column = 0;
    for (; column + kStep <= matrix.columns; column += kStep) {
        const Eight input = loadEight(x + column);
        for (std::size_t r = 0; r < kRows; ++r)
            sums[r] = multiplyAdd(sums[r], loadEight(weights[r] + column), input);
    }
    const std::size_t rest = matrix.columns - column;
    if (rest > 0) {
        const Eight input = loadFirstOfEight(x + column, rest);
        for (std::size_t r = 0; r < kRows; ++r)
            sums[r] = multiplyAdd(sums[r], loadFirstOfEight(weights[r] + column, rest), input);
    }
    for (std::size_t r = 0; r < kRows; ++r)
        y[row + r] = sumOf(sums[r]);
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
    const std::uint16_t* const scales = matrix.scales + row * groupCount(matrix);
    const std::uint8_t* const payload = rowPayload(matrix, row);
    for (std::uint32_t column = begin; column < end; column += kStep, values += kStep) {
        const Eight weights = times(Decoder::load(payload, column), floatFromHalf(scales[column / matrix.group]));
        const std::size_t count = end - column;
        if (count >= kStep) {
            storeEight(values, weights);
        } else {
            const std::size_t low = smaller(count, kWidth);
            storeFirst(values, weights.low, low);
            storeFirst(values + low, weights.high, count - low);
        }
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

constexpr std::size_t kCodebookFloats = 256 * kStep; // of one stage

Eight addVector(const Eight& sum, const float* vector)
{
    const Eight more = loadEight(vector);
    return {vaddq_f32(sum.low, more.low), vaddq_f32(sum.high, more.high)};
}

// The eight weights that the indices of one vector stand for, the row's scale aside.
template<std::size_t kStages>
struct EightBitLookup {
    static constexpr std::size_t kBytes = kStages;
    static Eight load(const float* codebooks, const std::uint8_t* indices)
    {
        Eight weights = loadEight(codebooks + indices[0] * kStep);
        for (std::size_t stage = 1; stage < kStages; ++stage)
            weights = addVector(weights, codebooks + stage * kCodebookFloats + indices[stage] * kStep);
        return weights;
    }
};
struct SixBitLookup {
    static constexpr std::size_t kBytes = 3;
    static Eight load(const float* codebooks, const std::uint8_t* indices)
    {
        std::uint16_t low = 0;
        __builtin_memcpy(&low, indices, sizeof low);
        const std::uint32_t bits = low | std::uint32_t{indices[2]} << 16;
        Eight weights = loadEight(codebooks + (bits & 63U) * kStep);
        for (std::size_t stage = 1; stage < 4; ++stage)
            weights = addVector(weights, codebooks + stage * kCodebookFloats + ((bits >> (6 * stage)) & 63U) * kStep);
        return weights;
    }
};

// Sums of some rows, in lanes, while their indices are walked through segment by segment: the indices of a block of
// rows lie side by side, and a segment of them stays in the first-level cache until all rows have used it.
constexpr std::size_t kSumRows = 64;
constexpr std::size_t kSegmentColumns = 32 * kStep;

template<std::size_t kTokens>
struct RowSums {
    Eight lanes[kSumRows][kTokens] = {};
};

// kRows rows over the columns of a segment. Looking up whole vectors and multiplying costs as many loads as adding up
// prepared products per index, and needs no tables of products.
template<typename Lookup, std::size_t kRows, std::size_t kTokens>
void addSegment(const VqMatrixView& matrix, const KernelTable::Vectors& vectors, std::size_t row, std::size_t begin,
    std::size_t end, Eight (*lanes)[kTokens])
{
    const std::uint8_t* indices[kRows];
    Eight sums[kRows][kTokens];
    std::size_t step = 0;
    for (std::size_t r = 0; r < kRows; ++r) {
        const IndexWalk walk = walkIndices(matrix, static_cast<std::uint32_t>(row + r), Lookup::kBytes);
        indices[r] = walk.first + begin / kStep * walk.step;
        step = walk.step;
        for (std::size_t t = 0; t < kTokens; ++t)
            sums[r][t] = lanes[r][t];
    }
    for (std::size_t column = begin; column < end; column += kStep) {
        __builtin_prefetch(indices[0] + kSegmentColumns / kStep * step); // for the next segment
        for (std::size_t r = 0; r < kRows; ++r) {
            const Eight weights = Lookup::load(matrix.codebooks, indices[r]);
            for (std::size_t t = 0; t < kTokens; ++t)
                sums[r][t] = multiplyAdd(sums[r][t], weights, loadEight(vectors.x + t * vectors.xStride + column));
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
        const std::size_t end = smaller(begin + kSegmentColumns, matrix.columns);
        std::size_t row = first;
        for (; row + kRows <= last; row += kRows)
            addSegment<Lookup, kRows, kTokens>(matrix, vectors, row, begin, end, sums.lanes + (row - first));
        for (; row < last; ++row)
            addSegment<Lookup, 1, kTokens>(matrix, vectors, row, begin, end, sums.lanes + (row - first));
    }
    for (std::size_t row = first; row < last; ++row) {
        const float scale = floatFromHalf(matrix.scales[row]);
        for (std::size_t t = 0; t < kTokens; ++t)
            vectors.y[t * vectors.yStride + row] = sumOf(sums.lanes[row - first][t]) * scale;
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
            kFor[vectors.tokens - 1](matrix, vectors, first, smaller(first + kSumRows, end));
    }
    static void unpackRows(const VqMatrixView& matrix, std::uint32_t rowBegin, std::uint32_t rowEnd,
        std::uint32_t begin, std::uint32_t end, float* values, std::size_t stride)
    {
        for (std::uint32_t row = rowBegin; row < rowEnd; ++row, values += stride) {
            const IndexWalk walk = walkIndices(matrix, row, Lookup::kBytes);
            const float scale = floatFromHalf(matrix.scales[row]);
            const std::uint8_t* indices = walk.first + begin / kStep * walk.step;
            for (std::size_t column = 0; column < end - begin; column += kStep, indices += walk.step) {
                // For the columns after these.
                __builtin_prefetch(indices + (end - begin) / kStep * walk.step);
                storeEight(values + column, times(Lookup::load(matrix.codebooks, indices), scale));
            }
        }
    }
};

// Calls visit with the kernels of the matrix's layout, if there are fast ones for it.
template<typename Visit>
bool visitVqKernels(const VqMatrixView& matrix, Visit visit)
{
    if (matrix.vecDim != kStep)
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
    return matrix.group % kStep == 0;
}

} // namespace

namespace neon {

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

} // namespace neon
} // namespace waste::kernels
#endif
