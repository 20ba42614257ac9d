#include "convert/vq_encoder.h"

#include "base/half.h"
#include "base/little_endian.h"
#include "container/index_packing.h"
#include "convert/row_scale.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <vector>

namespace waste {
namespace {

// Working memory of one row.
struct RowScratch {
    RowScratch(std::size_t columns, std::size_t stages)
        : normalised(columns)
        , codes(stages * columns / kVectorDim)
    {
    }
    std::vector<float> normalised; // [columns]
    std::vector<std::uint8_t> codes; // [vectors][stages]
};

// What a row w and the sum r of its entries, added as a reader adds them, have to do with each other.
struct RowProducts {
    double mixed = 0; // ⟨w, r⟩
    double square = 0; // ⟨r, r⟩

    // The factor that brings r nearest to w.
    [[nodiscard]] float fittedScale() const { return square > 0 ? static_cast<float>(mixed / square) : 0; }
    // ‖w − scale · r‖², which rounding must not take below zero.
    [[nodiscard]] double difference(double squaredNorm, double scale) const
    {
        return std::max(squaredNorm - scale * (2 * mixed - scale * square), 0.0);
    }
};

RowProducts productsWithEntries(
    const VqCodebooks& codebooks, std::span<const float> values, std::span<const std::uint8_t> codes)
{
    LaneSums mixed{};
    LaneSums square{};
    const std::uint8_t* code = codes.data();
    for (std::size_t i = 0; i < values.size(); i += kVectorDim) {
        std::array<float, kVectorDim> sum{};
        for (std::size_t stage = 0; stage < codebooks.stageCount(); ++stage) {
            const float* const entry = codebooks.entry(stage, *code++);
            for (std::size_t d = 0; d < kVectorDim; ++d)
                sum[d] += entry[d];
        }
        addProducts(&values[i], sum.data(), mixed);
        addProducts(sum.data(), sum.data(), square);
    }
    return {sumOf(mixed), sumOf(square)};
}

void storeIndices(const ExpertQuant& quant, const ExpertGeometry::Matrix& matrix, std::uint32_t r,
    const RowScratch& row, std::span<std::byte> record)
{
    std::byte* target = record.data() + matrix.indexOffset + indexOffset(quant, matrix.columns, r, 0);
    const std::uint64_t step = indexOffset(quant, matrix.columns, r, 1) - indexOffset(quant, matrix.columns, r, 0);
    for (auto code = row.codes.begin(); code != row.codes.end(); code += quant.stages, target += step) {
        if (quant.indexBits == 6) {
            const auto packed = packSixBit({code[0], code[1], code[2], code[3]});
            std::memcpy(target, packed.data(), packed.size());
        } else {
            std::memcpy(target, &*code, quant.stages);
        }
    }
}

} // namespace

SquaredError encodeVqMatrix(std::span<const float> values, const ExpertGeometry::Matrix& matrix,
    const ExpertQuant& quant, const VqCodebooks& codebooks, kernels::BeamWidth width, std::span<std::byte> record,
    ThreadPool& pool, const StopCheck& stopped)
{
    assert(values.size() == std::uint64_t{matrix.rows} * matrix.columns);
    assert(quant.vecDim == kVectorDim && quant.stages == codebooks.stageCount());
    std::vector<SquaredError> errors(matrix.rows);
    std::vector<RowScratch> rows(pool.threadCount(), RowScratch(matrix.columns, quant.stages));
    pool.parallelFor(matrix.rows, kIndexBlockRows, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
        RowScratch& row = rows[worker];
        for (std::uint32_t r = begin; r < end && !isStopped(stopped); ++r) {
            const auto original = values.subspan(std::uint64_t{r} * matrix.columns, matrix.columns);
            const double norm = squaredNorm(original);
            divideRow(original, rmsOf(norm, matrix.columns), row.normalised.data());
            codebooks.codeSearch().search(width, row.normalised.data(), matrix.columns / kVectorDim, row.codes.data());
            storeIndices(quant, matrix, r, row, record);
            const RowProducts products = productsWithEntries(codebooks, original, row.codes);
            const std::uint16_t scale = halfFromFloat(products.fittedScale());
            storeLittle(record, matrix.scaleOffset + std::uint64_t{r} * sizeof(scale), scale);
            errors[r] = {products.difference(norm, static_cast<double>(floatFromHalf(scale))), norm};
        }
    });
    return sumInOrder(errors);
}

} // namespace waste
