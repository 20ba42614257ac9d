#include "convert/vq_encoder.h"

#include "base/half.h"
#include "base/little_endian.h"
#include "container/index_packing.h"
#include "convert/row_scale.h"

#include <array>
#include <cassert>
#include <vector>

namespace waste {
namespace {

// Working memory of one row.
struct RowScratch {
    RowScratch(std::size_t columns, std::size_t stages)
        : normalised(columns)
        , sum(columns)
        , codes(stages * columns / kVectorDim)
    {
    }
    std::vector<float> normalised; // [columns]
    std::vector<float> sum; // [columns], entries of all stages, added as a reader adds them
    std::vector<std::uint8_t> codes; // [vectors][stages]
};

void addEntries(const VqCodebooks& codebooks, RowScratch& row)
{
    const std::uint8_t* code = row.codes.data();
    for (auto target = row.sum.begin(); target != row.sum.end(); target += kVectorDim) {
        std::array<float, kVectorDim> sum{};
        for (std::size_t stage = 0; stage < codebooks.stageCount(); ++stage) {
            const float* const entry = codebooks.entry(stage, *code++);
            for (std::size_t d = 0; d < kVectorDim; ++d)
                sum[d] += entry[d];
        }
        std::ranges::copy(sum, target);
    }
}

// The factor that brings `sum` nearest to `values`.
float fittedScale(std::span<const float> values, std::span<const float> sum)
{
    double product = 0;
    double square = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        product += static_cast<double>(values[i]) * static_cast<double>(sum[i]);
        square += static_cast<double>(sum[i]) * static_cast<double>(sum[i]);
    }
    return square > 0 ? static_cast<float>(product / square) : 0;
}

void storeIndices(const ExpertQuant& quant, const ExpertGeometry::Matrix& matrix, std::uint32_t r,
    const RowScratch& row, std::span<std::byte> record)
{
    const std::uint32_t vectorCount = matrix.columns / kVectorDim;
    for (std::uint32_t v = 0; v < vectorCount; ++v) {
        const std::uint8_t* const code = row.codes.data() + std::size_t{v} * quant.stages;
        std::byte* target = record.data() + matrix.indexOffset + indexOffset(quant, matrix.columns, r, v);
        if (quant.indexBits == 6) {
            const auto packed = packSixBit({code[0], code[1], code[2], code[3]});
            std::memcpy(target, packed.data(), packed.size());
        } else {
            std::memcpy(target, code, quant.stages);
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
    pool.parallelFor(matrix.rows, kIndexBlockRows, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
        RowScratch row(matrix.columns, quant.stages);
        for (std::uint32_t r = begin; r < end && !isStopped(stopped); ++r) {
            const auto original = values.subspan(std::uint64_t{r} * matrix.columns, matrix.columns);
            divideRow(original, rowRms(original), row.normalised.data());
            codebooks.codeSearch().search(width, row.normalised.data(), matrix.columns / kVectorDim, row.codes.data());
            addEntries(codebooks, row);
            storeIndices(quant, matrix, r, row, record);
            const std::uint16_t scale = halfFromFloat(fittedScale(original, row.sum));
            storeLittle(record, matrix.scaleOffset + std::uint64_t{r} * sizeof(scale), scale);
            for (std::uint32_t c = 0; c < matrix.columns; ++c)
                errors[r].add(original[c], floatFromHalf(scale) * row.sum[c]);
        }
    });
    return sumInOrder(errors);
}

} // namespace waste
