#include "layers/exact_weights.h"

#include "checkpoint/tensor_names.h"
#include "container/tensor_inventory.h"
#include "platform/path_text.h"

#include <algorithm>
#include <string>
#include <utility>

namespace waste {

namespace {

kernels::MatrixView viewOf(std::span<const float> values, std::uint32_t rows, std::uint32_t columns)
{
    return {.format = kernels::WeightFormat::F32,
        .rows = rows,
        .columns = columns,
        .rowBytes = columns * sizeof(float),
        .payload = reinterpret_cast<const std::byte*>(values.data())};
}

TensorSpec expertSpec(const ModelConfig& config, const ExpertTensorName& name)
{
    const bool isDown = name.matrix == ExpertMatrix::Down;
    TensorSpec spec;
    spec.name = expertTensorName(config.tensorPrefix, name);
    spec.rows = isDown ? config.expertInputWidth() : config.expertWidth;
    spec.columns = isDown ? config.expertWidth : config.expertInputWidth();
    return spec;
}

} // namespace

class ExactWeights::Loader {
public:
    Loader(const CheckpointFiles& files, const ModelConfig& config, ExactWeights& weights, const ProgressSink& progress,
        const CancelFlag* cancel)
        : m_files(files)
        , m_config(config)
        , m_weights(weights)
        , m_progress(progress)
        , m_cancel(cancel)
    {
    }

    Status load()
    {
        for (const TensorSpec& spec : requiredTensors(m_config)) {
            if (spec.optional && m_files.find(spec.name) == nullptr)
                continue;
            WASTE_TRY(const kernels::MatrixView view, loadTensor(spec));
            m_weights.m_tensors.emplace(spec.name, view);
        }
        for (std::uint32_t layer = 0; layer < m_config.layerCount; ++layer) {
            for (std::uint32_t expert = 0; m_config.isMoe(layer) && expert < m_config.expertCount; ++expert)
                WASTE_TRY_STATUS(loadExpert(layer, expert));
        }
        return {};
    }

private:
    Status loadExpert(std::uint32_t layer, std::uint32_t expert)
    {
        DenseExpert& matrices = m_weights.m_experts[std::size_t{layer} * m_config.expertCount + expert];
        for (const ExpertMatrix matrix : kExpertMatrices) {
            WASTE_TRY(
                matrices[static_cast<std::size_t>(matrix)], loadTensor(expertSpec(m_config, {layer, expert, matrix})));
        }
        return {};
    }

    Result<kernels::MatrixView> loadTensor(const TensorSpec& spec)
    {
        if (m_cancel != nullptr && m_cancel->isCancelled())
            return Error{ErrorCode::Cancelled, "", "loading the weights was cancelled"};
        const CheckpointTensor* const tensor = m_files.find(spec.name);
        if (tensor == nullptr)
            return corrupt(spec, "is missing");
        if (!spec.accepts(tensor->shape))
            return corrupt(spec, "does not have the shape " + spec.describe());
        const std::size_t count = std::size_t{spec.rows} * static_cast<std::size_t>(spec.columns);
        const std::span<float> values = m_weights.m_arena.take<float>(count);
        WASTE_TRY_STATUS(m_files.read(*tensor, 0, values));
        WASTE_TRY_STATUS(checkSurplus(spec, *tensor, count));
        if (m_progress)
            m_progress({"weights", m_weights.m_arena.usedBytes(), m_weights.m_arena.capacityBytes()});
        return viewOf(values, spec.rows, static_cast<std::uint32_t>(spec.columns));
    }

    // A_log of a published model has more places than heads, and zeros in them. Anything else there would
    // mean that we take a tensor of another meaning for ours (spec: model 12 T1).
    Status checkSurplus(const TensorSpec& spec, const CheckpointTensor& tensor, std::size_t count)
    {
        std::array<float, 256> values;
        for (std::uint64_t first = count; first < tensor.elements(); first += values.size()) {
            const std::uint64_t rest = std::min<std::uint64_t>(values.size(), tensor.elements() - first);
            const std::span<float> part = std::span(values).first(static_cast<std::size_t>(rest));
            WASTE_TRY_STATUS(m_files.read(tensor, first, part));
            if (std::any_of(part.begin(), part.end(), [](float value) { return value != 0; }))
                return corrupt(spec, "has values other than zero behind the " + std::to_string(count) + " in use");
        }
        return {};
    }

    Error corrupt(const TensorSpec& spec, const std::string& what) const
    {
        return {ErrorCode::Corrupt, "tensor",
            "in " + textFromPath(m_files.directory()) + " the tensor " + spec.name + " " + what};
    }

    const CheckpointFiles& m_files;
    const ModelConfig& m_config;
    ExactWeights& m_weights;
    const ProgressSink& m_progress;
    const CancelFlag* const m_cancel;
};

ExactWeights::ExactWeights(Arena arena, const ModelConfig& config)
    : m_arena(std::move(arena))
    , m_expertCount(config.expertCount)
    , m_experts(std::size_t{config.layerCount} * config.expertCount)
{
}

std::uint64_t ExactWeights::residentBytes(const ModelConfig& config)
{
    ArenaSize size;
    for (const TensorSpec& spec : requiredTensors(config))
        size.take<float>(std::size_t{spec.rows} * static_cast<std::size_t>(spec.columns));
    ArenaSize expert; // pieces start at multiples of the arena's alignment, so experts add up
    for (const ExpertMatrix matrix : kExpertMatrices) {
        const TensorSpec spec = expertSpec(config, {0, 0, matrix});
        expert.take<float>(std::size_t{spec.rows} * static_cast<std::size_t>(spec.columns));
    }
    const std::uint64_t experts = std::uint64_t{config.moeLayerCount()} * config.expertCount;
    return roundUp<std::uint64_t>(size.bytes(), kArenaAlignment)
        + experts * roundUp<std::uint64_t>(expert.bytes(), kArenaAlignment);
}

Result<ExactWeights> ExactWeights::load(
    const CheckpointFiles& files, const ModelConfig& config, const ProgressSink& progress, const CancelFlag* cancel)
{
    WASTE_TRY(Arena arena, Arena::create(residentBytes(config), "the exact weights"));
    ExactWeights weights(std::move(arena), config);
    WASTE_TRY_STATUS(Loader(files, config, weights, progress, cancel).load());
    return weights;
}

std::optional<kernels::MatrixView> ExactWeights::find(std::string_view name) const
{
    const auto found = m_tensors.find(std::string(name));
    return found == m_tensors.end() ? std::nullopt : std::optional(found->second);
}

const DenseExpert& ExactWeights::expert(ExpertKey key) const
{
    return m_experts[std::size_t{key.layer} * m_expertCount + key.expert];
}

Result<ExpertSource::Pin> ResidentExperts::acquire(ExpertKey key)
{
    return Pin(nullptr, 0, m_weights.expert(key));
}

void ResidentExperts::release(std::uint32_t) { }

} // namespace waste
