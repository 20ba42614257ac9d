#include "convert/conversion_memory.h"

#include <algorithm>

namespace waste {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// Name, shape and places of a tensor, and what its index and header take while they are read.
constexpr std::uint64_t kTensorBytes = 1024; // 623 measured
// A vector of 8 as drawn, as what is left of it, and what the fit keeps beside it.
constexpr std::uint64_t kSampledVectorBytes = 8 * sizeof(float) * 6;
constexpr std::uint64_t kTrunkTileBytes = 16 * kMiB; // 2^20 elements as f32 and encoded, with the read in between
constexpr std::uint64_t kSideFileBytes = 32 * kMiB; // tokenizer and templates, parsed
constexpr std::uint64_t kThreadBytes = 2 * kMiB;

} // namespace

ConversionSizes ConversionSizes::of(const CheckpointFiles& files, const ConversionPlan& plan, std::uint32_t threadCount)
{
    ConversionSizes sizes{.recordBytes = plan.geometry.strideBytes,
        .sampledVectors = plan.vq.sampledVectorsMax,
        .threadCount = threadCount};
    for (const CheckpointTensor& tensor : files.tensors())
        sizes.tensorCount += tensor.coding == CheckpointTensor::Coding::Mxfp4 ? 2 : 1;
    for (const ExpertGeometry::Matrix& matrix : plan.geometry.matrices)
        sizes.expertMatrixElements = std::max(sizes.expertMatrixElements, std::uint64_t{matrix.rows} * matrix.columns);
    for (const TrunkItem& item : plan.trunk)
        sizes.trunkScaleBytes = std::max(sizes.trunkScaleBytes, item.entry.layout.scaleBytes);
    return sizes;
}

std::uint64_t conversionMemoryBytes(const ConversionSizes& sizes)
{
    const std::uint64_t matrixBytes = sizes.expertMatrixElements * sizeof(float);
    // A layer that is compared with its source needs the matrix twice.
    const std::uint64_t layerBytes =
        2 * matrixBytes + 2 * sizes.recordBytes + sizes.sampledVectors * kSampledVectorBytes;
    const std::uint64_t trunkBytes = kTrunkTileBytes + sizes.trunkScaleBytes;
    return sizes.tensorCount * kTensorBytes + kSideFileBytes + std::max(layerBytes, trunkBytes)
        + sizes.threadCount * kThreadBytes;
}

} // namespace waste
