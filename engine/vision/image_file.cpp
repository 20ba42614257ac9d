#include "vision/image_file.h"

#include "vision/exif_orientation.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

namespace {

// What the decoder below may still allocate. The library's allocation hooks have no context argument,
// so the bound of one decodeImage() call travels in a variable of its thread.
thread_local std::size_t decodeBytesLeft = 0;

constexpr std::size_t kBlockHeaderBytes = alignof(std::max_align_t);

void* decoderAllocate(std::size_t bytes)
{
    if (bytes > decodeBytesLeft || decodeBytesLeft - bytes < kBlockHeaderBytes)
        return nullptr;
    auto* block = static_cast<std::byte*>(std::malloc(bytes + kBlockHeaderBytes));
    if (block == nullptr)
        return nullptr;
    decodeBytesLeft -= bytes + kBlockHeaderBytes;
    std::memcpy(block, &bytes, sizeof(bytes));
    return block + kBlockHeaderBytes;
}

void decoderFree(void* pointer)
{
    if (pointer == nullptr)
        return;
    auto* block = static_cast<std::byte*>(pointer) - kBlockHeaderBytes;
    std::size_t bytes = 0;
    std::memcpy(&bytes, block, sizeof(bytes));
    decodeBytesLeft += bytes + kBlockHeaderBytes;
    std::free(block);
}

void* decoderReallocate(void* pointer, std::size_t bytes)
{
    void* grown = decoderAllocate(bytes);
    if (grown == nullptr || pointer == nullptr)
        return grown;
    std::size_t oldBytes = 0;
    std::memcpy(&oldBytes, static_cast<std::byte*>(pointer) - kBlockHeaderBytes, sizeof(oldBytes));
    std::memcpy(grown, pointer, std::min(bytes, oldBytes));
    decoderFree(pointer);
    return grown;
}

} // namespace

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_NO_STDIO
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#define STBI_NO_PIC
#define STBI_NO_PNM
// Hostile files must not end the program; the decoder reports failure by itself afterwards.
#define STBI_ASSERT(condition) static_cast<void>(0)
#define STBI_MALLOC(bytes) decoderAllocate(bytes)
#define STBI_REALLOC(pointer, bytes) decoderReallocate(pointer, bytes)
#define STBI_FREE(pointer) decoderFree(pointer)
#include <stb_image.h>

namespace waste {
namespace {

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

} // namespace

Result<ImageHeader> readImageHeader(std::span<const std::byte> file, std::string_view name)
{
    if (file.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        return invalidImage(name, "the file is larger than 2 GB");
    int width = 0;
    int height = 0;
    int channels = 0;
    decodeBytesLeft = kImageDecodeBytesMax;
    const auto* bytes = reinterpret_cast<const stbi_uc*>(file.data());
    if (stbi_info_from_memory(bytes, static_cast<int>(file.size()), &width, &height, &channels) == 0) {
        return invalidImage(
            name, "this is not a picture that can be read; supported are PNG, JPEG, GIF, BMP, TGA and PSD");
    }
    if (width <= 0 || height <= 0)
        return invalidImage(name, "the picture has no pixels");
    ImageHeader header{static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), exifOrientation(file)};
    if (std::uint64_t{header.width} * header.height > kImagePixelsMax) {
        return invalidImage(name,
            "the picture has " + std::to_string(header.width) + " x " + std::to_string(header.height)
                + " pixels, more than 64 million; scale it down first");
    }
    if (swapsSides(header.orientation))
        std::swap(header.width, header.height);
    return header;
}

Result<Image> decodeImage(std::span<const std::byte> file, std::string_view name)
{
    WASTE_TRY(const ImageHeader header, readImageHeader(file, name));
    decodeBytesLeft = kImageDecodeBytesMax;
    int storedWidth = 0;
    int storedHeight = 0;
    int storedChannels = 0;
    const auto* bytes = reinterpret_cast<const stbi_uc*>(file.data());
    const std::unique_ptr<stbi_uc, void (*)(void*)> decoded(
        stbi_load_from_memory(bytes, static_cast<int>(file.size()), &storedWidth, &storedHeight, &storedChannels, 0),
        decoderFree);
    if (decoded == nullptr)
        return invalidImage(name, "the picture is damaged or too large to decode");

    const auto width = static_cast<std::size_t>(storedWidth);
    const auto height = static_cast<std::size_t>(storedHeight);
    const bool upright = swapsSides(header.orientation) ? width == header.height && height == header.width
                                                        : width == header.width && height == header.height;
    if (!upright)
        return invalidImage(name, "the picture's data does not have the size that its header states");

    Image image;
    image.width = header.width;
    image.height = header.height;
    image.hasAlpha = storedChannels == 2 || storedChannels == 4;
    const auto from = static_cast<std::size_t>(storedChannels);
    const std::size_t to = image.channels();
    const bool grey = from <= 2;
    image.pixels.resize(width * height * to);
    for (std::size_t y = 0; y < height; ++y) {
        for (std::size_t x = 0; x < width; ++x) {
            const stbi_uc* source = decoded.get() + (y * width + x) * from;
            std::uint8_t* target = image.pixels.data() + uprightIndex(header.orientation, x, y, width, height) * to;
            for (std::size_t c = 0; c < 3; ++c)
                target[c] = source[grey ? 0 : c];
            if (image.hasAlpha)
                target[3] = source[from - 1];
        }
    }
    return image;
}

} // namespace waste
