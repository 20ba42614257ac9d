#pragma once

#include <cstdint>

namespace waste {

// How one picture becomes patches: resized to width × height, padded right and bottom to whole pairs of
// patches, cut into gridRows × gridColumns patches of 14 pixels, merged two by two into positions.
struct ImagePlan {
    std::uint32_t width = 0; // after the resize, before the padding
    std::uint32_t height = 0;
    std::uint32_t gridRows = 0; // even
    std::uint32_t gridColumns = 0; // even

    [[nodiscard]] std::uint32_t patchCount() const { return gridRows * gridColumns; }
    [[nodiscard]] std::uint32_t positionCount() const { return patchCount() / 4; }
    friend bool operator==(const ImagePlan&, const ImagePlan&) = default;
};

// The release's size rule with our patch budget (spec: vision 2.2): never upscales, keeps the aspect.
// Sizes ≥ 1, 4 ≤ patchBudget, 1 ≤ patchLimitPerSide ≤ 512.
ImagePlan planImage(
    std::uint32_t width, std::uint32_t height, std::uint32_t patchBudget, std::uint32_t patchLimitPerSide);

} // namespace waste
