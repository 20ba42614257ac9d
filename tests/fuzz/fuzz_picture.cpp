// A picture file through header, decoder and preparation, in little memory so that large sizes end early.

#include "vision/image_file.h"
#include "vision/image_patches.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace waste;
    constexpr std::size_t kBytesMax = 4 << 20;
    const auto file = std::as_bytes(std::span(data, size));
    const auto header = readImageHeader(file, "input", kBytesMax);
    auto image = decodeImage(file, "input", kBytesMax);
    if (!image)
        return 0;
    if (!header || header->width != image->width || header->height != image->height)
        std::abort(); // the header promised something else
    if (image->pixels.size() != std::size_t{image->width} * image->height * image->channels())
        std::abort();
    const ImagePlan plan = planImage(image->width, image->height, 64, 512);
    if (makePatches(std::move(*image), plan, VisionConfig()).size() != std::size_t{plan.patchCount()} * 588)
        std::abort();
    return 0;
}
