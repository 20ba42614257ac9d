#pragma once

#include "waste/result.h"
#include "waste/types.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// The text model's configuration, validated: every size is inside the bounds of model 2.3, so code
// that follows may multiply in 64 bits without checks. Source: spec model 2.2.
struct ModelConfig {
    enum class Architecture : std::uint8_t { KimiLinear, KimiK3 };
    enum class Activation : std::uint8_t { Silu, Situ };
    // Where a key is absent a checkpoint and a container mean different things (container 2.2).
    enum class Origin : std::uint8_t { Checkpoint, Container };

    Architecture architecture = Architecture::KimiLinear;
    std::string tensorPrefix; // "" or "language_model."
    std::uint32_t layerCount = 0;
    std::uint32_t hiddenSize = 0;
    std::uint32_t vocabularySize = 0;
    float normEpsilon = 1e-5F;

    Activation activation = Activation::Silu;
    float situBeta = 1; // β
    float situLinearBeta = 0; // β of the up half; 0: not squashed

    std::uint32_t denseLayerCount = 0; // layers below this use the dense feed-forward network
    std::uint32_t denseWidth = 0;

    std::uint32_t expertCount = 0; // 0: no experts anywhere
    std::uint32_t expertsPerToken = 0;
    std::uint32_t expertWidth = 0;
    std::uint32_t sharedExpertCount = 0;
    bool renormalizeWeights = true;
    float routedScaling = 1;
    std::uint32_t expertGroupCount = 1;
    std::uint32_t expertGroupsKept = 1;
    std::uint32_t latentWidth = 0; // 0: experts run at hiddenSize
    bool latentNorm = false;

    std::uint32_t attentionHeadCount = 0;
    std::uint32_t queryLoraRank = 0; // 0: one q_proj
    std::uint32_t kvLoraRank = 0;
    std::uint32_t nopeDim = 0;
    std::uint32_t ropeDim = 0; // never rotated in these families
    std::uint32_t valueDim = 0;
    bool attentionOutputGate = false;

    std::uint32_t residualBlockSize = 0; // Attention Residuals; 0: plain residual

    std::uint32_t kdaHeadCount = 0;
    std::uint32_t kdaHeadDim = 0;
    std::uint32_t convolutionKernel = 4;
    bool kdaFullRankGate = false;
    float gateLowerBound = 0; // < 0: bounded decay; 0: softplus decay

    std::vector<bool> kdaLayers; // [layerCount], 0-based

    std::uint64_t contextMax = 0; // 0: not stated
    TokenId endOfTextId = -1; // −1: not stated
    TokenId mediaPlaceholderId = -1; // −1: none

    [[nodiscard]] std::string_view name() const; // "kimi-linear", "kimi-k3"
    [[nodiscard]] bool isKda(std::uint32_t layer) const { return kdaLayers[layer]; }
    [[nodiscard]] bool isMoe(std::uint32_t layer) const { return expertCount > 0 && layer >= denseLayerCount; }
    [[nodiscard]] std::uint32_t expertInputWidth() const { return latentWidth != 0 ? latentWidth : hiddenSize; }
    [[nodiscard]] std::uint32_t sharedWidth() const { return expertWidth * sharedExpertCount; }
    [[nodiscard]] std::uint32_t kdaWidth() const { return kdaHeadCount * kdaHeadDim; } // C
    [[nodiscard]] std::uint32_t latentRowWidth() const { return kvLoraRank + ropeDim; }
    [[nodiscard]] std::uint32_t moeLayerCount() const { return expertCount > 0 ? layerCount - denseLayerCount : 0; }
    [[nodiscard]] std::uint32_t kdaLayerCount() const;
    [[nodiscard]] std::uint32_t mlaLayerCount() const { return layerCount - kdaLayerCount(); }

    // Reads the root object of a config.json (flat, or a wrapper with text_config) or of a manifest's
    // `config` (wrapper under `_outer`). `file` names the file in messages. `tensorPrefix` of a manifest,
    // if it records one. Errors: Corrupt "config out of range ..." or Unsupported; both name the key.
    static Result<ModelConfig> parse(const nlohmann::json& config, Origin origin, std::string_view file,
        const std::string* recordedPrefix = nullptr);
};

} // namespace waste
