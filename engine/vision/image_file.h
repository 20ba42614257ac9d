#pragma once

#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace waste {

// What a picture's header says, before anything is decoded.
struct ImageHeader {
    std::uint32_t width = 0; // as shown, that is after the EXIF orientation
    std::uint32_t height = 0;
    std::uint8_t orientation = 1; // EXIF 1…8
};

// 8-bit pixels, rows from the top, interleaved: [height][width][hasAlpha ? 4 : 3].
struct Image {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    bool hasAlpha = false;
    std::vector<std::uint8_t> pixels;

    [[nodiscard]] std::uint32_t channels() const { return hasAlpha ? 4 : 3; }
};

inline constexpr std::uint64_t kImagePixelsMax = std::uint64_t{1} << 26; // spec: vision 2.1
// What one picture takes from its file to its patches, at most. Enough for kImagePixelsMax of everything but pictures
// of 16 bits a sample, interlaced ones with colour, and progressive JPEG without subsampling.
inline constexpr std::size_t kImageBytesMax = std::size_t{576} << 20;

// Size and orientation of a PNG, JPEG, GIF, BMP, TGA or PSD file. `name` names the file in messages.
// Errors: Io with reason invalid_image (unreadable header, no pixels, more than kImagePixelsMax, more than
// kImageBytesMax to decode), OutOfMemory with reason picture_too_large (more than the caller's `bytesMax`). The message
// says how many pixels would do.
Result<ImageHeader> readImageHeader(
    std::span<const std::byte> file, std::string_view name, std::size_t bytesMax = kImageBytesMax);

// Decodes the first frame in bounded memory and turns it upright. Grey becomes RGB, 16-bit samples keep
// their high byte (spec: vision 2.1). Errors as above, also for a file that cannot be decoded.
Result<Image> decodeImage(
    std::span<const std::byte> file, std::string_view name, std::size_t bytesMax = kImageBytesMax);

} // namespace waste
