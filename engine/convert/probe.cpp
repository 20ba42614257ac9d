#include "convert/probe.h"

#include "base/half.h"
#include "base/little_endian.h"
#include "checkpoint/tensor_names.h"
#include "container/dequantize.h"
#include "convert/squared_error.h"
#include "platform/direct_file.h"
#include "platform/pages.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace waste {
namespace {

constexpr std::uint32_t kProbedExpertsMax = 16;

// f32 [stages][256][vecDim] of one matrix, from the records of a layer.
std::vector<float> codebookTable(const FinishedLayer& layer, const ExpertQuant& quant, std::size_t matrix)
{
    std::vector<float> table(std::size_t{quant.stages} * kCodebookTableRows * quant.vecDim);
    for (std::size_t stage = 0; stage < quant.stages; ++stage) {
        const std::size_t record = (matrix * quant.stages + stage) * quant.codebookRecordBytes();
        const auto halves = std::span(layer.codebooks).subspan(record + kCodebookHeaderBytes);
        for (std::size_t i = 0; i < std::size_t{quant.entries} * quant.vecDim; ++i)
            table[stage * kCodebookTableRows * quant.vecDim + i] =
                floatFromHalf(loadLittle<std::uint16_t>(halves, i * sizeof(std::uint16_t)));
    }
    return table;
}

kernels::VqMatrixView viewOf(const ExpertGeometry::Matrix& matrix, const ExpertQuant& quant,
    std::span<const std::byte> record, const std::vector<float>& codebooks)
{
    kernels::VqMatrixView view;
    view.rows = matrix.rows;
    view.columns = matrix.columns;
    view.vecDim = quant.vecDim;
    view.stages = quant.stages;
    view.indexBits = quant.indexBits;
    view.indexBlock = quant.indexBlock;
    view.indices = reinterpret_cast<const std::uint8_t*>(record.data() + matrix.indexOffset);
    view.scales = reinterpret_cast<const std::uint16_t*>(record.data() + matrix.scaleOffset);
    view.codebooks = codebooks.data();
    return view;
}

} // namespace

Result<double> probeBank(const CheckpointFiles& files, const ConversionPlan& plan, const BankEntry& bank,
    const FinishedLayer& layer, const std::filesystem::path& file, const ConversionProgress& progress)
{
    WASTE_TRY(const DirectFile source, DirectFile::open(file, DirectFile::Access::Direct));
    WASTE_TRY(const Pages pages, Pages::allocate(plan.geometry.strideBytes, "comparing experts"));
    const auto record = pages.bytes().first(plan.geometry.strideBytes);
    const std::uint32_t step = std::max(1U, bank.expertCount / kProbedExpertsMax);
    double worst = 0;
    std::vector<float> original;
    std::vector<float> decoded;
    for (const ExpertMatrix matrix : kExpertMatrices) {
        const auto k = static_cast<std::size_t>(matrix);
        const std::vector<float> codebooks = codebookTable(layer, plan.quant, k);
        for (std::uint32_t expert = 0; expert < bank.expertCount; expert += step) {
            WASTE_TRY_STATUS(progress.checkCancelled());
            WASTE_TRY_STATUS(source.readExactly(expert * plan.geometry.strideBytes, record));
            const CheckpointTensor* tensor =
                files.find(expertTensorName(plan.config.tensorPrefix, {bank.layer, expert, matrix}));
            assert(tensor != nullptr); // the plan has seen it
            original.resize(tensor->elements());
            decoded.resize(tensor->elements());
            WASTE_TRY_STATUS(files.read(*tensor, 0, original));
            dequantize(viewOf(plan.geometry.matrices[k], plan.quant, record, codebooks), decoded);
            SquaredError error;
            for (std::size_t i = 0; i < original.size(); ++i)
                error.add(original[i], decoded[i]);
            worst = std::max(worst, error.isFinite() ? error.relative() : 1.0);
        }
    }
    return worst;
}

} // namespace waste
