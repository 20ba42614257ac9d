#include "vision/image_resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace waste {
namespace {

constexpr int kFractionBits = 22;

double bicubic(double x)
{
    constexpr double a = -0.5;
    x = std::abs(x);
    if (x < 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2)
        return (((x - 5) * x + 8) * x - 4) * a;
    return 0;
}

// Which inputs one output sees, and their weights in fixed point.
struct Window {
    std::size_t first = 0;
    std::vector<std::int32_t> weights;
};

std::vector<Window> windowsOf(std::uint32_t from, std::uint32_t to)
{
    const double scale = static_cast<double>(from) / to;
    const double filterScale = std::max(scale, 1.0);
    const double support = 2 * filterScale;
    std::vector<Window> windows(to);
    std::vector<double> weights;
    for (std::uint32_t i = 0; i < to; ++i) {
        const double center = (i + 0.5) * scale;
        const double low = std::max(0.0, std::trunc(center - support + 0.5));
        const double high = std::min(static_cast<double>(from), std::trunc(center + support + 0.5));
        weights.clear();
        double sum = 0;
        for (double j = low; j < high; ++j) {
            weights.push_back(bicubic((j - center + 0.5) / filterScale));
            sum += weights.back();
        }
        windows[i].first = static_cast<std::size_t>(low);
        for (const double weight : weights) {
            const double fixed = weight / sum * (1 << kFractionBits);
            windows[i].weights.push_back(static_cast<std::int32_t>(fixed < 0 ? fixed - 0.5 : fixed + 0.5));
        }
    }
    return windows;
}

// One pass along lines of `from` samples that lie `stride` apart; `offset(line)` is where a line begins.
struct Lines {
    std::size_t count = 0; // lines, each of every channel
    std::size_t lineStep = 0; // from line to line
    std::size_t sampleStep = 0; // from sample to sample
};

void resizeLines(const std::vector<std::uint8_t>& source, Lines in, std::vector<std::uint8_t>& target, Lines out,
    std::size_t channels, const std::vector<Window>& windows)
{
    for (std::size_t line = 0; line < in.count; ++line) {
        for (std::size_t i = 0; i < windows.size(); ++i) {
            const Window& window = windows[i];
            for (std::size_t c = 0; c < channels; ++c) {
                std::int64_t sum = std::int64_t{1} << (kFractionBits - 1);
                std::size_t at = line * in.lineStep + window.first * in.sampleStep + c;
                for (const std::int32_t weight : window.weights) {
                    sum += std::int64_t{weight} * source[at];
                    at += in.sampleStep;
                }
                const std::int64_t value = std::clamp<std::int64_t>(sum >> kFractionBits, 0, 255);
                target[line * out.lineStep + i * out.sampleStep + c] = static_cast<std::uint8_t>(value);
            }
        }
    }
}

void premultiply(std::vector<std::uint8_t>& rgba)
{
    for (std::size_t i = 0; i < rgba.size(); i += 4) {
        for (std::size_t c = 0; c < 3; ++c) {
            const std::uint32_t t = std::uint32_t{rgba[i + c]} * rgba[i + 3] + 128;
            rgba[i + c] = static_cast<std::uint8_t>((t + (t >> 8)) >> 8);
        }
    }
}

void unpremultiply(std::vector<std::uint8_t>& rgba)
{
    for (std::size_t i = 0; i < rgba.size(); i += 4) {
        const std::uint32_t alpha = rgba[i + 3];
        if (alpha == 0 || alpha == 255)
            continue;
        for (std::size_t c = 0; c < 3; ++c)
            rgba[i + c] = static_cast<std::uint8_t>(std::min(255U, 255 * std::uint32_t{rgba[i + c]} / alpha));
    }
}

} // namespace

Image resizeImage(Image image, std::uint32_t width, std::uint32_t height)
{
    if (width == image.width && height == image.height)
        return image;
    Image result = std::move(image);
    const std::size_t channels = result.channels();
    if (result.hasAlpha)
        premultiply(result.pixels);
    if (width != result.width) {
        std::vector<std::uint8_t> target(std::size_t{width} * result.height * channels);
        resizeLines(result.pixels, {result.height, result.width * channels, channels}, target,
            {result.height, width * channels, channels}, channels, windowsOf(result.width, width));
        result.pixels = std::move(target);
        result.width = width;
    }
    if (height != result.height) {
        std::vector<std::uint8_t> target(std::size_t{width} * height * channels);
        resizeLines(result.pixels, {width, channels, width * channels}, target, {width, channels, width * channels},
            channels, windowsOf(result.height, height));
        result.pixels = std::move(target);
        result.height = height;
    }
    if (result.hasAlpha)
        unpremultiply(result.pixels);
    return result;
}

} // namespace waste
