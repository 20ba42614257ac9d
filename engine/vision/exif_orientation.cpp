#include "vision/exif_orientation.h"

#include "vision/big_endian.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace waste {
namespace {

// TIFF numbers come in either order.
std::uint32_t readNumber(std::span<const std::byte> bytes, std::size_t offset, std::size_t count, bool bigEndian)
{
    if (bigEndian)
        return readBigEndian(bytes, offset, count);
    std::uint32_t value = 0;
    for (std::size_t i = count; i-- > 0;)
        value = (value << 8) | static_cast<std::uint32_t>(bytes[offset + i]);
    return value;
}

// The payload of the first EXIF segment before the picture data.
std::optional<std::span<const std::byte>> findTiff(std::span<const std::byte> file)
{
    constexpr std::string_view kSignature("Exif\0\0", 6);
    if (file.size() < 4 || readBigEndian(file, 0, 2) != 0xFFD8)
        return std::nullopt;
    std::size_t at = 2;
    while (file.size() - at >= 4) {
        const std::uint32_t marker = readBigEndian(file, at, 2);
        const std::size_t length = readBigEndian(file, at + 2, 2);
        if (marker < 0xFFC0 || marker == 0xFFDA || length < 2 || length > file.size() - at - 2)
            return std::nullopt;
        const auto payload = file.subspan(at + 4, length - 2);
        if (marker == 0xFFE1 && payload.size() >= kSignature.size()
            && std::equal(kSignature.begin(), kSignature.end(), payload.begin(),
                [](char a, std::byte b) { return static_cast<std::byte>(a) == b; }))
            return payload.subspan(kSignature.size());
        at += 2 + length;
    }
    return std::nullopt;
}

} // namespace

std::uint8_t exifOrientation(std::span<const std::byte> file)
{
    constexpr std::uint32_t kOrientationTag = 0x0112;
    constexpr std::size_t kEntryBytes = 12;
    const auto found = findTiff(file);
    if (!found || found->size() < 8)
        return 1;
    const auto tiff = *found;
    const bool bigEndian = tiff[0] == std::byte{'M'};
    const std::size_t directory = readNumber(tiff, 4, 4, bigEndian);
    if (directory > tiff.size() - 2)
        return 1;
    const std::size_t count = readNumber(tiff, directory, 2, bigEndian);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t entry = directory + 2 + i * kEntryBytes;
        if (entry + kEntryBytes > tiff.size())
            return 1;
        if (readNumber(tiff, entry, 2, bigEndian) == kOrientationTag) {
            const std::uint32_t value = readNumber(tiff, entry + 8, 2, bigEndian);
            return value >= 1 && value <= 8 ? static_cast<std::uint8_t>(value) : std::uint8_t{1};
        }
    }
    return 1;
}

} // namespace waste
