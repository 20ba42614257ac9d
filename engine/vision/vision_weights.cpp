#include "vision/vision_weights.h"

#include <cstddef>
#include <utility>

namespace waste {
namespace {

constexpr std::string_view kPatchKernel = "vision_tower.patch_embed.proj.weight";
constexpr std::string_view kPositions = "vision_tower.patch_embed.pos_emb.weight";
constexpr std::string_view kFinalNorm = "vision_tower.encoder.final_layernorm.weight";
constexpr std::string_view kProjectorUp = "mm_projector.proj.0.weight";
constexpr std::string_view kProjectorDown = "mm_projector.proj.2.weight";
constexpr std::string_view kProjectorNorm = "mm_projector.post_norm.weight";

std::string blockName(std::uint32_t block, std::string_view part)
{
    return "vision_tower.encoder.blocks." + std::to_string(block) + "." + std::string(part) + ".weight";
}

Error badTensor(std::string_view name, const std::string& why)
{
    return {ErrorCode::Corrupt, "tensor", "tensor \"" + std::string(name) + "\" " + why};
}

// Looks tensors up one after the other and keeps the first failure.
class Binder {
public:
    explicit Binder(const VisionTensorLookup& lookup)
        : m_lookup(lookup)
    {
    }

    kernels::MatrixView matrix(std::string_view name, std::uint64_t rows, std::uint32_t columns)
    {
        const auto found = m_lookup(name);
        if (!found)
            return fail(name, "is missing");
        if (found->rows != rows || found->columns != columns) {
            return fail(name,
                "has shape [" + std::to_string(found->rows) + ", " + std::to_string(found->columns) + "], needed is ["
                    + std::to_string(rows) + ", " + std::to_string(columns) + "]");
        }
        return *found;
    }

    const float* vector(std::string_view name, std::uint32_t count)
    {
        const kernels::MatrixView found = matrix(name, 1, count);
        if (!m_error && found.format != kernels::WeightFormat::F32)
            fail(name, "must be stored as f32");
        return reinterpret_cast<const float*>(found.payload);
    }

    // [Dv][588], or the convolution kernel as published, [Dv][3][14][14], which quantising converters
    // store in rows of 14.
    std::vector<float> patchKernel(std::uint32_t hiddenSize, const kernels::KernelTable& kernels)
    {
        constexpr std::uint32_t kFloats = VisionConfig::kPatchFloats;
        constexpr std::uint32_t kSide = VisionConfig::kPatchSize;
        const auto found = m_lookup(kPatchKernel);
        if (!found) {
            fail(kPatchKernel, "is missing");
            return {};
        }
        const bool flat = found->columns == kFloats && found->rows == hiddenSize;
        const bool published = found->columns == kSide && found->rows == std::uint64_t{hiddenSize} * (kFloats / kSide);
        if (!flat && !published) {
            fail(kPatchKernel, "is no kernel of " + std::to_string(hiddenSize) + " x 3 x 14 x 14");
            return {};
        }
        std::vector<float> values(std::size_t{hiddenSize} * kFloats);
        for (std::uint32_t row = 0; row < found->rows; ++row)
            kernels.unpackRow(*found, row, 0, found->columns, values.data() + std::size_t{row} * found->columns);
        return values;
    }

    [[nodiscard]] const std::optional<Error>& error() const { return m_error; }

private:
    kernels::MatrixView fail(std::string_view name, const std::string& why)
    {
        if (!m_error)
            m_error = badTensor(name, why);
        return {};
    }

    const VisionTensorLookup& m_lookup;
    std::optional<Error> m_error;
};

} // namespace

std::vector<VisionTensor> visionTensors(const VisionConfig& config)
{
    const std::uint32_t hidden = config.hiddenSize;
    std::vector<VisionTensor> tensors;
    tensors.push_back({std::string(kPatchKernel), hidden, VisionConfig::kPatchFloats});
    tensors.push_back({std::string(kPositions), std::uint64_t{config.positionRows} * config.positionColumns, hidden});
    for (std::uint32_t block = 0; block < config.layerCount; ++block) {
        tensors.push_back({blockName(block, "norm0"), 1, hidden, true});
        tensors.push_back({blockName(block, "wqkv"), std::uint64_t{3} * config.qkvSize, hidden});
        tensors.push_back({blockName(block, "wo"), hidden, config.qkvSize});
        tensors.push_back({blockName(block, "norm1"), 1, hidden, true});
        tensors.push_back({blockName(block, "mlp.fc0"), config.mlpWidth, hidden});
        tensors.push_back({blockName(block, "mlp.fc1"), hidden, config.mlpWidth});
    }
    tensors.push_back({std::string(kFinalNorm), 1, hidden, true});
    tensors.push_back({std::string(kProjectorUp), config.mergedSize(), config.mergedSize()});
    tensors.push_back({std::string(kProjectorDown), config.textHiddenSize, config.mergedSize()});
    tensors.push_back({std::string(kProjectorNorm), 1, config.textHiddenSize, true});
    return tensors;
}

Result<VisionWeights> bindVisionWeights(
    const VisionConfig& config, const VisionTensorLookup& lookup, const kernels::KernelTable& kernels)
{
    const std::uint32_t hidden = config.hiddenSize;
    Binder binder(lookup);
    VisionWeights weights;
    weights.patchKernel = binder.patchKernel(hidden, kernels);
    weights.positions = binder.matrix(kPositions, std::uint64_t{config.positionRows} * config.positionColumns, hidden);
    weights.blocks.resize(config.layerCount);
    for (std::uint32_t i = 0; i < config.layerCount; ++i) {
        VisionWeights::Block& block = weights.blocks[i];
        block.attentionNorm = binder.vector(blockName(i, "norm0"), hidden);
        block.qkv = binder.matrix(blockName(i, "wqkv"), std::uint64_t{3} * config.qkvSize, hidden);
        block.output = binder.matrix(blockName(i, "wo"), hidden, config.qkvSize);
        block.mlpNorm = binder.vector(blockName(i, "norm1"), hidden);
        block.mlpUp = binder.matrix(blockName(i, "mlp.fc0"), config.mlpWidth, hidden);
        block.mlpDown = binder.matrix(blockName(i, "mlp.fc1"), hidden, config.mlpWidth);
    }
    weights.finalNorm = binder.vector(kFinalNorm, hidden);
    weights.projectorUp = binder.matrix(kProjectorUp, config.mergedSize(), config.mergedSize());
    weights.projectorDown = binder.matrix(kProjectorDown, config.textHiddenSize, config.mergedSize());
    weights.projectorNorm = binder.vector(kProjectorNorm, config.textHiddenSize);
    if (binder.error())
        return *binder.error();
    return weights;
}

} // namespace waste
