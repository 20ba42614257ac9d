#include "kernels/kernel_table.h"
#include "kernels/scalar_codes.h"
#include "kernels/scalar_reduced.h"

#include "base/checked.h"
#include "base/half.h"

#include <algorithm>
#include <cmath>

// The specification: plain loops that say what every other table computes. Long sums run in 16 lanes,
// which keeps their rounding error near that of a vector kernel and lets the compiler use what it may.

namespace waste::kernels {

namespace {

constexpr std::size_t kLanes = 16;
constexpr std::uint32_t kSegment = 256; // columns unpacked at a time, a multiple of the lanes

// A sum of products in 16 lanes: term i goes to lane i modulo 16.
class LaneSum {
public:
    // All calls but the last one add a multiple of 16 terms.
    void add(const float* x, const float* w, std::size_t count)
    {
        std::size_t i = 0;
        for (; i + kLanes <= count; i += kLanes) {
            for (std::size_t lane = 0; lane < kLanes; ++lane)
                m_lanes[lane] += x[i + lane] * w[i + lane];
        }
        for (std::size_t lane = 0; i + lane < count; ++lane)
            m_lanes[lane] += x[i + lane] * w[i + lane];
    }
    [[nodiscard]] float total() const
    {
        float lanes[kLanes];
        std::copy_n(m_lanes, kLanes, lanes);
        for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
            for (std::size_t lane = 0; lane < width; ++lane)
                lanes[lane] += lanes[lane + width];
        }
        return lanes[0];
    }

private:
    float m_lanes[kLanes] = {};
};

float dot(const float* x, const float* w, std::size_t count)
{
    LaneSum sum;
    sum.add(x, w, count);
    return sum.total();
}

void addScaled(float a, const float* x, float* y, std::size_t count)
{
    for (std::size_t i = 0; i < count; ++i)
        y[i] += a * x[i];
}

// The stored integer of one column (spec: container 7).
int quantizedValue(WeightFormat format, const std::uint8_t* row, std::size_t column)
{
    switch (format) {
    case WeightFormat::Q8G:
        return static_cast<std::int8_t>(row[column]);
    case WeightFormat::Q4G:
        return static_cast<int>((row[column / 2] >> (column % 2 * 4)) & 15U) - 8;
    case WeightFormat::Q3G: {
        const std::size_t bit = column * 3;
        const std::uint32_t pair = row[bit / 8] | std::uint32_t{row[bit / 8 + 1]} << 8;
        return static_cast<int>((pair >> (bit % 8)) & 7U) - 4;
    }
    case WeightFormat::F32:
        break;
    }
    return 0;
}

void unpackRow(const MatrixView& matrix, std::uint32_t row, std::uint32_t begin, std::uint32_t end, float* values)
{
    const std::byte* const payload = matrix.payload + row * matrix.rowBytes;
    if (matrix.format == WeightFormat::F32) {
        const float* const stored = reinterpret_cast<const float*>(payload);
        std::copy(stored + begin, stored + end, values);
        return;
    }
    const std::size_t groups = ceilDivide(matrix.columns, matrix.group);
    const std::uint16_t* const scales = matrix.scales + row * groups;
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(payload);
    for (std::uint32_t column = begin; column < end;) {
        const float scale = floatFromHalf(scales[column / matrix.group]);
        const std::uint32_t groupEnd = std::min(end, (column / matrix.group + 1) * matrix.group);
        for (; column < groupEnd; ++column)
            *values++ = scale * static_cast<float>(quantizedValue(matrix.format, bytes, column));
    }
}

void multiplyRows(const MatrixView& matrix, const float* x, float* y, std::uint32_t begin, std::uint32_t end)
{
    float values[kSegment];
    for (std::uint32_t row = begin; row < end; ++row) {
        LaneSum sum;
        for (std::uint32_t column = 0; column < matrix.columns; column += kSegment) {
            const std::uint32_t count = std::min(kSegment, matrix.columns - column);
            unpackRow(matrix, row, column, column + count, values);
            sum.add(values, x + column, count);
        }
        y[row] = sum.total();
    }
}

// Where the indices of a row's first vector lie, and how far the next vector's are (spec: container 5).
struct IndexWalk {
    const std::uint8_t* first;
    std::size_t step;
};

IndexWalk walkIndices(const VqMatrixView& matrix, std::uint32_t row)
{
    const std::size_t bytesPerVector = matrix.indexBits == 6 ? 3U : matrix.stages;
    const std::size_t rowBytes = matrix.columns / matrix.vecDim * bytesPerVector;
    if (matrix.indexBlock == 0)
        return {matrix.indices + row * rowBytes, bytesPerVector};
    const std::size_t block = matrix.indexBlock;
    return {matrix.indices + row / block * block * rowBytes + row % block * bytesPerVector, block * bytesPerVector};
}

std::size_t stageIndex(const VqMatrixView& matrix, const std::uint8_t* indices, std::size_t stage)
{
    if (matrix.indexBits == 8)
        return indices[stage];
    const std::uint32_t bits = indices[0] | std::uint32_t{indices[1]} << 8 | std::uint32_t{indices[2]} << 16;
    return (bits >> (stage * 6)) & 63U;
}

// The vector of weights that one set of indices stands for, the row's scale aside.
void lookUp(const VqMatrixView& matrix, const std::uint8_t* indices, float* values)
{
    constexpr std::size_t kEntries = 256;
    std::fill_n(values, matrix.vecDim, 0.0F);
    for (std::size_t stage = 0; stage < matrix.stages; ++stage) {
        const std::size_t entry = stage * kEntries + stageIndex(matrix, indices, stage);
        const float* const vector = matrix.codebooks + entry * matrix.vecDim;
        for (std::size_t i = 0; i < matrix.vecDim; ++i)
            values[i] += vector[i];
    }
}

void unpackVqRows(const VqMatrixView& matrix, std::uint32_t rowBegin, std::uint32_t rowEnd, std::uint32_t begin,
    std::uint32_t end, float* values, std::size_t stride)
{
    for (std::uint32_t row = rowBegin; row < rowEnd; ++row, values += stride) {
        const IndexWalk walk = walkIndices(matrix, row);
        const float scale = floatFromHalf(matrix.scales[row]);
        for (std::uint32_t column = begin; column < end; column += matrix.vecDim) {
            float* const vector = values + (column - begin);
            lookUp(matrix, walk.first + column / matrix.vecDim * walk.step, vector);
            for (std::size_t i = 0; i < matrix.vecDim; ++i)
                vector[i] *= scale;
        }
    }
}

void multiplyVqRow(const VqMatrixView& matrix, std::uint32_t row, const KernelTable::Vectors& vectors)
{
    // As many whole vectors as are a multiple of the lanes, whatever their width.
    const std::uint32_t segment = std::uint32_t{kLanes} * matrix.vecDim;
    float values[kLanes * 255];
    const IndexWalk walk = walkIndices(matrix, row);
    LaneSum sums[kVqVectorsMax];
    for (std::uint32_t column = 0; column < matrix.columns; column += segment) {
        const std::uint32_t count = std::min(segment, matrix.columns - column);
        for (std::uint32_t i = 0; i < count; i += matrix.vecDim)
            lookUp(matrix, walk.first + (column + i) / matrix.vecDim * walk.step, values + i);
        for (std::size_t token = 0; token < vectors.tokens; ++token)
            sums[token].add(values, vectors.x + token * vectors.xStride + column, count);
    }
    for (std::size_t token = 0; token < vectors.tokens; ++token)
        vectors.y[token * vectors.yStride + row] = sums[token].total() * floatFromHalf(matrix.scales[row]);
}

void multiplyVqRows(
    const VqMatrixView& matrix, const KernelTable::Vectors& vectors, std::uint32_t begin, std::uint32_t end)
{
    for (std::uint32_t row = begin; row < end; ++row)
        multiplyVqRow(matrix, row, vectors);
}

void multiplyTokens(const KernelTable::RowsTimesTokens& product)
{
    for (std::size_t token = 0; token < product.tokens; ++token) {
        for (std::size_t row = 0; row < product.rows; ++row) {
            const float sum =
                dot(product.x + token * product.xStride, product.w + row * product.wStride, product.columns);
            float& y = product.y[token * product.yStride + row];
            y = product.accumulate ? y + sum : sum;
        }
    }
}

void addProduct(const KernelTable::AddedProduct& product)
{
    for (std::size_t row = 0; row < product.rows; ++row) {
        const float* const a = product.a + row * product.aRowStride;
        float* const c = product.c + row * product.cStride;
        for (std::size_t k = 0; k < product.depth; ++k)
            addScaled(a[k * product.aDepthStride], product.b + k * product.bStride, c, product.columns);
    }
}

void expOfDifference(const double* later, const double* earlier, float* values, std::size_t count)
{
    for (std::size_t i = 0; i < count; ++i)
        values[i] = std::exp(static_cast<float>(later[i] - earlier[i]));
}

float expAndSum(float* x, float maximum, std::size_t count)
{
    float sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
        x[i] = std::exp(x[i] - maximum);
        sum += x[i];
    }
    return sum;
}

void packPanel(const float* w, std::size_t wStride, std::size_t rows, std::size_t columns, float* panel)
{
    for (std::size_t c = 0; c < columns; ++c) {
        for (std::size_t r = 0; r < kPanelRows; ++r)
            panel[c * kPanelRows + r] = r < rows ? w[r * wStride + c] : 0;
    }
}

void multiplyPanel(const KernelTable::PanelTimesTokens& product)
{
    for (std::size_t t = 0; t < product.tokens; ++t) {
        const float* const x = product.x + t * product.xStride;
        float sums[kPanelRows] = {};
        for (std::size_t c = 0; c < product.columns; ++c) {
            for (std::size_t r = 0; r < kPanelRows; ++r)
                sums[r] += product.panel[c * kPanelRows + r] * x[c];
        }
        float* const y = product.y + t * product.yStride;
        for (std::size_t r = 0; r < product.rows; ++r)
            y[r] = product.accumulate ? y[r] + sums[r] : sums[r];
    }
}

float sigmoid(float x)
{
    return 1.0F / (1.0F + std::exp(-x));
}

void multiplySigmoid(const float* t, float* y, std::size_t count)
{
    for (std::size_t i = 0; i < count; ++i)
        y[i] *= sigmoid(t[i]);
}

void siluInPlace(float* x, std::size_t count)
{
    for (std::size_t i = 0; i < count; ++i)
        x[i] *= sigmoid(x[i]);
}

void geluTanh(float* x, std::size_t count)
{
    constexpr float kRootOfTwoOverPi = 0.7978845608028654F;
    for (std::size_t i = 0; i < count; ++i) {
        const float u = x[i];
        x[i] = 0.5F * u * (1.0F + std::tanh(kRootOfTwoOverPi * (u + 0.044715F * u * u * u)));
    }
}

void silu(float* gate, const float* up, std::size_t count)
{
    for (std::size_t i = 0; i < count; ++i)
        gate[i] = gate[i] * sigmoid(gate[i]) * up[i];
}

void situ(KernelTable::Situ parameters, float* gate, const float* up, std::size_t count)
{
    const float beta = parameters.beta;
    const float linearBeta = parameters.linearBeta;
    for (std::size_t i = 0; i < count; ++i) {
        const float squashed = linearBeta != 0 ? linearBeta * std::tanh(up[i] / linearBeta) : up[i];
        gate[i] = beta * std::tanh(gate[i] / beta) * sigmoid(gate[i]) * squashed;
    }
}

// ln(1 + e^z), which is z itself from 20 on
float softplus(float z)
{
    return z > 20 ? z : std::log1p(std::exp(z));
}

void logDecay(KernelTable::LogDecay parameters, const float* z, float* g, std::size_t count)
{
    const bool isBounded = parameters.lowerBound < 0;
    for (std::size_t i = 0; i < count; ++i)
        g[i] = isBounded ? parameters.lowerBound * sigmoid(parameters.rate * z[i]) : -parameters.rate * softplus(z[i]);
}

// A column of S depends on its own entries only, so a strip of columns takes both passes at once and stays
// in the first-level cache between them.
void kdaStep(const KernelTable::KdaStep& step)
{
    constexpr std::size_t kStrip = 16;
    const std::size_t dim = step.dim;
    for (std::size_t first = 0; first < dim; first += kStrip) {
        const std::size_t width = std::min(kStrip, dim - first);
        float recalled[kStrip] = {};
        for (std::size_t d = 0; d < dim; ++d) {
            float* const row = step.state + d * dim + first;
            for (std::size_t j = 0; j < width; ++j) {
                row[j] *= step.decay[d];
                recalled[j] += step.key[d] * row[j];
            }
        }
        float update[kStrip] = {};
        for (std::size_t j = 0; j < width; ++j)
            update[j] = step.beta * (step.value[first + j] - recalled[j]);
        float output[kStrip] = {};
        for (std::size_t d = 0; d < dim; ++d) {
            float* const row = step.state + d * dim + first;
            for (std::size_t j = 0; j < width; ++j) {
                row[j] += step.key[d] * update[j];
                output[j] += step.query[d] * row[j];
            }
        }
        std::copy_n(output, width, step.output + first);
    }
}

} // namespace

const KernelTable& scalarTable()
{
    static constexpr KernelTable table = {
        .name = "scalar",
        .dot = dot,
        .addScaled = addScaled,
        .multiplyRows = multiplyRows,
        .multiplyVqRows = multiplyVqRows,
        .exactTables = kNoTables,
        .unpackRow = unpackRow,
        .unpackVqRows = unpackVqRows,
        .multiplyTokens = multiplyTokens,
        .addProduct = addProduct,
        .packPanel = packPanel,
        .multiplyPanel = multiplyPanel,
        .expOfDifference = expOfDifference,
        .expAndSum = expAndSum,
        .multiplySigmoid = multiplySigmoid,
        .silu = silu,
        .situ = situ,
        .siluInPlace = siluInPlace,
        .logDecay = logDecay,
        .geluTanh = geluTanh,
        .kdaStep = kdaStep,
        .splitPlanes = scalar::splitPlanes,
        .multiplyPlanes = scalar::multiplyPlanes,
        .reducedTables = {anyReducedTableBytes, scalar::buildTables, scalar::multiplyTables},
        .splitWords = scalar::splitWords,
        .unpackVqWords = scalar::unpackVqWords,
        .addWordProduct = scalar::addWordProduct,
        .nearestEntries = scalar::nearestEntries,
        .searchCodes = scalar::searchCodes,
    };
    return table;
}

} // namespace waste::kernels
