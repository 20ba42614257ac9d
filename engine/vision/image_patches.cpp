#include "vision/image_patches.h"

#include "vision/image_resize.h"

#include <cstddef>
#include <utility>

namespace waste {
namespace {

constexpr std::size_t kPatch = VisionConfig::kPatchSize;

std::uint8_t backgroundAt(const TransparentBackground& background, std::uint32_t x, std::uint32_t y)
{
    switch (background.pattern) {
    case TransparentBackground::Pattern::White:
        return 255;
    case TransparentBackground::Pattern::Black:
        return 0;
    case TransparentBackground::Pattern::Grey:
        return 128;
    case TransparentBackground::Pattern::Chessboard:
        break;
    }
    const bool even = (x / background.squareSize + y / background.squareSize) % 2 == 0;
    return even == background.squareOnTopLeft ? background.whiteValue : background.greyValue;
}

// α·rgb + (1 − α)·background with every operation rounded to f32, as the model's makers computed it.
Image composite(Image image, const TransparentBackground& background)
{
    if (!image.hasAlpha)
        return image;
    Image result;
    result.width = image.width;
    result.height = image.height;
    result.pixels.resize(std::size_t{image.width} * image.height * 3);
    std::size_t at = 0;
    for (std::uint32_t y = 0; y < image.height; ++y) {
        for (std::uint32_t x = 0; x < image.width; ++x, ++at) {
            const float alpha = static_cast<float>(image.pixels[at * 4 + 3]) / 255.0F;
            const float under = (1.0F - alpha) * static_cast<float>(backgroundAt(background, x, y));
            for (std::size_t c = 0; c < 3; ++c) {
                const float over = alpha * static_cast<float>(image.pixels[at * 4 + c]);
                result.pixels[at * 3 + c] = static_cast<std::uint8_t>(over + under);
            }
        }
    }
    return result;
}

} // namespace

std::vector<float> makePatches(Image image, const ImagePlan& plan, const VisionConfig& config)
{
    const bool compositeFirst = config.background.stage == TransparentBackground::Stage::BeforeResize;
    const Image opaque = compositeFirst
        ? resizeImage(composite(std::move(image), config.background), plan.width, plan.height)
        : composite(resizeImage(std::move(image), plan.width, plan.height), config.background);

    std::vector<float> patches(std::size_t{plan.patchCount()} * VisionConfig::kPatchFloats);
    float* out = patches.data();
    for (std::size_t patch = 0; patch < plan.patchCount(); ++patch) {
        const std::size_t left = patch % plan.gridColumns * kPatch;
        const std::size_t top = patch / plan.gridColumns * kPatch;
        for (std::size_t c = 0; c < 3; ++c) {
            for (std::size_t y = top; y < top + kPatch; ++y) {
                for (std::size_t x = left; x < left + kPatch; ++x) {
                    // Outside lies the padding: black in 8-bit space.
                    const bool inside = x < plan.width && y < plan.height;
                    const std::uint8_t byte = inside ? opaque.pixels[(y * plan.width + x) * 3 + c] : std::uint8_t{0};
                    *out++ = (static_cast<float>(byte) / 255.0F - config.mean[c]) / config.deviation[c];
                }
            }
        }
    }
    return patches;
}

} // namespace waste
