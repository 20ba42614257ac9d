#include "vision/image_file.h"

#include "vision/big_endian.h"
#include "vision/decoder_memory.h"
#include "vision/exif_orientation.h"
#include "vision/image_layout.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_NO_STDIO
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#define STBI_NO_PIC
#define STBI_NO_PNM
// Hostile files must not end the program; the decoder reports failure by itself afterwards.
#define STBI_ASSERT(condition) static_cast<void>(0)
#define STBI_MALLOC(bytes) waste::DecoderMemory::current().allocate(bytes)
#define STBI_REALLOC(pointer, bytes) waste::DecoderMemory::current().reallocate(pointer, bytes)
#define STBI_FREE(pointer) waste::DecoderMemory::current().free(pointer)
#include <stb_image.h>

namespace waste {
namespace {

constexpr std::size_t kHeaderBytesMax = 256 << 10; // reading a header allocates a JPEG decoder's tables at most

Error invalidImage(std::string_view name, const std::string& why)
{
    return {ErrorCode::Io, "invalid_image", std::string(name) + ": " + why};
}

bool swapsSides(std::uint8_t orientation)
{
    return orientation >= 5;
}

// Where EXIF orientation puts the pixel (x, y) of the stored picture of width × height.
std::size_t uprightIndex(std::uint8_t orientation, std::size_t x, std::size_t y, std::size_t width, std::size_t height)
{
    const std::size_t mirroredX = width - 1 - x;
    const std::size_t mirroredY = height - 1 - y;
    switch (orientation) {
    case 2:
        return y * width + mirroredX;
    case 3:
        return mirroredY * width + mirroredX;
    case 4:
        return mirroredY * width + x;
    case 5:
        return x * height + y;
    case 6:
        return x * height + mirroredY;
    case 7:
        return mirroredX * height + mirroredY;
    case 8:
        return mirroredX * height + y;
    default:
        return y * width + x;
    }
}

// 50331648 → "50.3 million"
std::string millions(std::uint64_t pixels)
{
    const std::uint64_t tenths = pixels / 100'000;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " million";
}

// What a picture of these proportions, in a file of this kind, could have.
std::string tooLarge(std::string_view name, const ImageHeader& header, const ImageLayout& layout, std::size_t bytesMax)
{
    const std::uint64_t pixels = std::uint64_t{header.width} * header.height;
    const double share =
        static_cast<double>(bytesMax) / static_cast<double>(layout.decodeBytes(header.width, header.height));
    const auto fitting = static_cast<std::uint64_t>(std::floor(static_cast<double>(pixels) * std::min(share, 1.0)));
    return std::string(name) + ": the picture has " + std::to_string(header.width) + " x "
        + std::to_string(header.height) + " pixels, and a file of this kind (" + layout.kind() + ") may have about "
        + millions(std::min(fitting, kImagePixelsMax)) + "; scale it down first, or save it as a plain PNG";
}

// Of a PNG that is too large for the decoder, which does not say so: nothing if it is another file, or of good size.
std::optional<ImageHeader> sizeOfHugePng(std::span<const std::byte> file)
{
    constexpr std::string_view kStart{"\x89PNG\r\n\x1A\n\0\0\0\rIHDR", 16};
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    if (!text.starts_with(kStart) || file.size() < kStart.size() + 8)
        return std::nullopt;
    const ImageHeader size{readBigEndian(file, kStart.size(), 4), readBigEndian(file, kStart.size() + 4, 4)};
    return std::uint64_t{size.width} * size.height > kImagePixelsMax ? std::optional(size) : std::nullopt;
}

// Of the stored picture, orientation aside.
Result<ImageHeader> readStoredSize(std::span<const std::byte> file, std::string_view name)
{
    if (file.empty())
        return invalidImage(name, "the file is empty");
    if (file.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        return invalidImage(name, "the file is larger than 2 GB");
    DecoderMemory memory(kHeaderBytesMax);
    int width = 0;
    int height = 0;
    int channels = 0;
    const auto* bytes = reinterpret_cast<const stbi_uc*>(file.data());
    if (stbi_info_from_memory(bytes, static_cast<int>(file.size()), &width, &height, &channels) == 0) {
        if (const auto size = sizeOfHugePng(file))
            return *size;
        return invalidImage(
            name, "this is not a picture that can be read; supported are PNG, JPEG, GIF, BMP, TGA and PSD");
    }
    if (width <= 0 || height <= 0)
        return invalidImage(name, "the picture has no pixels");
    return ImageHeader{static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height)};
}

// Interleaved samples of the decoder as an upright picture of three or four channels.
Image upright(const stbi_uc* samples, std::size_t channels, const ImageHeader& stored)
{
    Image image;
    image.width = stored.width;
    image.height = stored.height;
    if (swapsSides(stored.orientation))
        std::swap(image.width, image.height);
    image.hasAlpha = channels == 2 || channels == 4;
    const std::size_t to = image.channels();
    const bool grey = channels <= 2;
    image.pixels.resize(std::size_t{stored.width} * stored.height * to);
    const stbi_uc* source = samples;
    for (std::size_t y = 0; y < stored.height; ++y) {
        for (std::size_t x = 0; x < stored.width; ++x, source += channels) {
            const std::size_t place = uprightIndex(stored.orientation, x, y, stored.width, stored.height);
            std::uint8_t* target = image.pixels.data() + place * to;
            for (std::size_t c = 0; c < 3; ++c)
                target[c] = source[grey ? 0 : c];
            if (image.hasAlpha)
                target[3] = source[channels - 1];
        }
    }
    return image;
}

// As the file stores it.
Result<ImageHeader> readStored(std::span<const std::byte> file, std::string_view name, std::size_t bytesMax)
{
    const auto layout = ImageLayout::read(file);
    if (!layout)
        return invalidImage(name, layout.error().message);
    WASTE_TRY(ImageHeader header, readStoredSize(file, name));
    if (std::uint64_t{header.width} * header.height > kImagePixelsMax) {
        return invalidImage(name,
            "the picture has " + std::to_string(header.width) + " x " + std::to_string(header.height)
                + " pixels, more than " + millions(kImagePixelsMax) + "; scale it down first");
    }
    const std::uint64_t bytes = layout->decodeBytes(header.width, header.height);
    if (bytes > kImageBytesMax)
        return Error{ErrorCode::Io, "invalid_image", tooLarge(name, header, *layout, kImageBytesMax)};
    if (bytes > bytesMax) // a good picture, for a caller with more memory
        return Error{ErrorCode::OutOfMemory, "picture_too_large", tooLarge(name, header, *layout, bytesMax)};
    header.orientation = exifOrientation(file);
    return header;
}

} // namespace

Result<ImageHeader> readImageHeader(std::span<const std::byte> file, std::string_view name, std::size_t bytesMax)
{
    WASTE_TRY(ImageHeader header, readStored(file, name, bytesMax));
    if (swapsSides(header.orientation))
        std::swap(header.width, header.height);
    return header;
}

Result<Image> decodeImage(std::span<const std::byte> file, std::string_view name, std::size_t bytesMax)
{
    WASTE_TRY(const ImageHeader stored, readStored(file, name, bytesMax));
    DecoderMemory memory(bytesMax);
    int width = 0;
    int height = 0;
    int channels = 0;
    const auto* bytes = reinterpret_cast<const stbi_uc*>(file.data());
    const stbi_uc* samples = stbi_load_from_memory(bytes, static_cast<int>(file.size()), &width, &height, &channels, 0);
    if (samples == nullptr && memory.refused())
        return invalidImage(
            name, "the picture is damaged: it does not end where its size says; save it again, or take another copy");
    if (samples == nullptr)
        return invalidImage(name,
            "the picture is damaged (" + std::string(stbi_failure_reason()) + "); save it again, or take another copy");
    const bool isWhole = width == static_cast<int>(stored.width) && height == static_cast<int>(stored.height)
        && channels >= 1 && channels <= 4;
    const std::size_t uprightBytes = std::size_t{stored.width} * stored.height * (channels % 2 == 0 ? 4 : 3);
    if (!isWhole || !memory.reserve(uprightBytes))
        return invalidImage(name, "the picture's data does not have the size that its header states");
    return upright(samples, static_cast<std::size_t>(channels), stored);
}

} // namespace waste
