#pragma once

#include "container/model_config.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace waste {

// What one layer remembers of a sequence (spec: model 9). Null where the layer is of the other kind.
struct LayerState {
    float* kda = nullptr; // S [heads][D][D], key channel first
    float* windows = nullptr; // [q, k, v][C][kernel − 1], raw projections, oldest first
    float* latentRows = nullptr; // [context][kl + r]; rows below the position are valid
};

// Sizes in floats, of one layer.
std::uint64_t kdaStateFloats(const ModelConfig& config);
std::uint64_t windowFloats(const ModelConfig& config);
inline std::uint64_t latentRowFloats(const ModelConfig& config)
{
    return config.latentRowWidth();
}

// The whole memory of one sequence: 4·(n_kda·(S + windows) + n_mla·context·row). The memory plan and the
// allocator both use this.
std::uint64_t sequenceStateBytes(const ModelConfig& config, std::uint32_t contextTokens);

// The state of one sequence as views of memory that someone else keeps.
struct SequenceState {
    std::vector<LayerState> layers;
    std::uint64_t position = 0; // tokens evaluated; equals the valid latent rows of every MLA layer
    std::uint32_t contextTokens = 0;

    // Lays a sequence at position 0 out in memory of sequenceStateBytes(): layers ascending, S then windows,
    // or latent rows. Does not touch the memory; see reset().
    static SequenceState bind(const ModelConfig& config, std::uint32_t contextTokens, std::span<float> memory);

    // Zeroes S and windows and returns to position 0. Latent rows need no zeroes.
    void reset(const ModelConfig& config);
};

} // namespace waste
