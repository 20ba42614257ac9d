#pragma once

#include "waste/result.h"
#include "waste/types.h"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace waste {

// What a picture with transparency stands on (spec: vision 2.4).
struct TransparentBackground {
    enum class Pattern : std::uint8_t { Chessboard, White, Black, Grey };
    enum class Stage : std::uint8_t { AfterResize, BeforeResize };
    Pattern pattern = Pattern::Black;
    Stage stage = Stage::BeforeResize;
    std::uint32_t squareSize = 16;
    bool squareOnTopLeft = true;
    std::uint8_t whiteValue = 255;
    std::uint8_t greyValue = 200;
};

// Shapes and constants of the vision tower and of the preparation of pictures, validated (spec: vision 1).
struct VisionConfig {
    std::uint32_t hiddenSize = 1024; // Dv
    std::uint32_t headCount = 12;
    std::uint32_t qkvSize = 1536; // Q
    std::uint32_t mlpWidth = 4096; // Fv
    std::uint32_t layerCount = 27;
    std::uint32_t positionRows = 64;
    std::uint32_t positionColumns = 64;
    std::uint32_t textHiddenSize = 0;
    float normEpsilon = 1.1920929e-07F;
    float projectorEpsilon = 1e-5F;
    TokenId placeholderId = -1;
    std::array<float, 3> mean{0.5F, 0.5F, 0.5F};
    std::array<float, 3> deviation{0.5F, 0.5F, 0.5F};
    std::uint32_t patchesMax = 1024; // our budget
    std::uint32_t patchLimit = 65536; // in_patch_limit
    std::uint32_t patchLimitPerSide = 512;
    TransparentBackground background;

    static constexpr std::uint32_t kPatchSize = 14;
    static constexpr std::uint32_t kPatchFloats = 3 * kPatchSize * kPatchSize;

    [[nodiscard]] std::uint32_t headDim() const { return qkvSize / headCount; }
    [[nodiscard]] std::uint32_t mergedSize() const { return 4 * hiddenSize; }
    [[nodiscard]] std::uint32_t patchBudget() const { return patchesMax < patchLimit ? patchesMax : patchLimit; }

    // Reads a container's vision.json. Errors: Corrupt or Unsupported; both name `file` and the key.
    static Result<VisionConfig> parse(
        const nlohmann::json& json, std::uint32_t textHiddenSize, std::uint32_t vocabularySize, std::string_view file);
};

} // namespace waste
