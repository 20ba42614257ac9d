#include "layers/layer_state.h"

#include <algorithm>
#include <cassert>

namespace waste {

std::uint64_t kdaStateFloats(const ModelConfig& config)
{
    return std::uint64_t{config.kdaHeadCount} * config.kdaHeadDim * config.kdaHeadDim;
}

std::uint64_t windowFloats(const ModelConfig& config)
{
    return std::uint64_t{3} * config.kdaWidth() * (config.convolutionKernel - 1);
}

std::uint64_t sequenceStateBytes(const ModelConfig& config, std::uint32_t contextTokens)
{
    const std::uint64_t kda = config.kdaLayerCount() * (kdaStateFloats(config) + windowFloats(config));
    const std::uint64_t mla = std::uint64_t{config.mlaLayerCount()} * contextTokens * latentRowFloats(config);
    return (kda + mla) * sizeof(float);
}

SequenceState SequenceState::bind(const ModelConfig& config, std::uint32_t contextTokens, std::span<float> memory)
{
    assert(memory.size_bytes() == sequenceStateBytes(config, contextTokens));
    SequenceState state;
    state.contextTokens = contextTokens;
    state.layers.resize(config.layerCount);
    float* next = memory.data();
    for (std::uint32_t layer = 0; layer < config.layerCount; ++layer) {
        if (config.isKda(layer)) {
            state.layers[layer].kda = next;
            next += kdaStateFloats(config);
            state.layers[layer].windows = next;
            next += windowFloats(config);
        } else {
            state.layers[layer].latentRows = next;
            next += contextTokens * latentRowFloats(config);
        }
    }
    return state;
}

void SequenceState::reset(const ModelConfig& config)
{
    for (const LayerState& layer : layers) {
        if (layer.kda == nullptr)
            continue;
        std::fill_n(layer.kda, kdaStateFloats(config), 0.0F);
        std::fill_n(layer.windows, windowFloats(config), 0.0F);
    }
    position = 0;
}

} // namespace waste
