#include "vision/image_layout.h"

#include "vision/big_endian.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

// The sizes below are those of the buffers of stb_image 2.27. tst_image_limits decodes the largest picture of
// each kind that they allow.

namespace waste {
namespace {

constexpr std::uint64_t kSmallBuffersBytes = 256 << 10; // tables and line buffers of every decoder

// In any file the pixels are turned upright from one buffer into another at the end.
std::uint64_t uprightBytes(std::uint64_t pixels, std::uint64_t channels)
{
    return pixels * (channels + (channels % 2 == 0 ? 4 : 3));
}

// ---- PNG

struct Png {
    std::uint32_t depth = 0;
    std::uint32_t channels = 0;
    bool palette = false;
    bool transparency = false; // one colour or palette entries are transparent
    bool interlaced = false;
};

Result<Png> readPng(std::span<const std::byte> file)
{
    constexpr std::size_t kSignatureBytes = 8;
    constexpr std::size_t kChunkFrameBytes = 12; // length, type, checksum
    Png png;
    for (std::size_t at = kSignatureBytes; at + kChunkFrameBytes <= file.size();) {
        const std::size_t length = readBigEndian(file, at, 4);
        const std::string_view type(reinterpret_cast<const char*>(file.data()) + at + 4, 4);
        if (length > file.size() - at - kChunkFrameBytes)
            break; // the decoder says what is missing
        if (type == "IHDR" && length >= 13) {
            png.depth = readBigEndian(file, at + 16, 1);
            const std::uint32_t colour = readBigEndian(file, at + 17, 1);
            png.palette = colour == 3;
            png.channels = colour == 2 ? 3 : colour == 4 ? 2 : colour == 6 ? 4 : 1;
            png.interlaced = readBigEndian(file, at + 20, 1) != 0;
        } else if (type == "tRNS") {
            png.transparency = true;
        } else if (const bool critical = std::isupper(static_cast<unsigned char>(type[0])) != 0;
                   critical && type != "PLTE" && type != "IDAT" && type != "IEND" && type != "CgBI") {
            return Error{ErrorCode::Io, "invalid_image", "it has a part that is not known, so it cannot be shown"};
        }
        at += kChunkFrameBytes + length;
    }
    return png;
}

std::uint64_t pngBytes(const Png& png, std::uint64_t fileBytes, std::uint64_t width, std::uint64_t height)
{
    const std::uint64_t pixels = width * height;
    const std::uint64_t sampleBytes = png.depth == 16 ? 2 : 1;
    const std::uint64_t outChannels = png.channels + (png.transparency && !png.palette ? 1 : 0);
    const std::uint64_t shownChannels = png.palette ? (png.transparency ? 4 : 3) : outChannels;
    // Inflated lines. Interlaced ones have more of them than was guessed, and the buffer is doubled once.
    const std::uint64_t lines = (width * png.depth + 7) / 8 * height * png.channels + height;
    const std::uint64_t linesPeak = png.interlaced ? 3 * lines : lines;
    const std::uint64_t linesKept = png.interlaced ? 2 * lines : lines;
    const std::uint64_t samples = pixels * outChannels * sampleBytes;
    const std::uint64_t passes = png.interlaced ? samples / 2 + height * outChannels * sampleBytes : 0;
    const std::uint64_t palette = png.palette ? pixels * shownChannels : 0;
    // The compressed bytes are collected in a buffer that grows by doubling.
    return std::max({3 * fileBytes, 2 * fileBytes + linesPeak, linesKept + samples + std::max(passes, palette),
        uprightBytes(pixels, shownChannels)});
}

// ---- JPEG

struct Jpeg {
    struct Component {
        std::uint64_t horizontal = 1;
        std::uint64_t vertical = 1;
    };
    bool progressive = false;
    std::size_t componentCount = 0;
    std::array<Component, 4> components{};
};

// A segment of Huffman tables, from its length to the end of the file: each has 16 counts of codes and a value for each
// code. The decoder would write more than 256 behind its tables.
bool hasGoodHuffmanTables(std::span<const std::byte> segment)
{
    constexpr std::size_t kCounts = 16;
    const std::size_t end = readBigEndian(segment, 0, 2);
    for (std::size_t at = 2; at < end;) { // the last table may reach beyond the segment
        std::size_t codes = 0;
        for (std::size_t i = at + 1; i < std::min(at + 1 + kCounts, segment.size()); ++i)
            codes += readBigEndian(segment, i, 1);
        if (codes > 256)
            return false;
        at += 1 + kCounts + codes;
    }
    return true;
}

bool isFrame(std::uint32_t marker)
{
    return marker >= 0xC0 && marker <= 0xC2;
}

// Among the scans markers stand out: a byte FF of the data is followed by 0. Each scan of a progressive picture
// walks through all of it, so a small file with very many of them would keep the decoder busy for days. Encoders
// write about ten.
Status checkScans(std::span<const std::byte> scans)
{
    constexpr int kScansMax = 64;
    int count = 0;
    for (std::size_t i = 0; i + 4 <= scans.size(); ++i) {
        if (scans[i] != std::byte{0xFF})
            continue;
        count += scans[i + 1] == std::byte{0xDA} ? 1 : 0;
        if (scans[i + 1] == std::byte{0xC4} && !hasGoodHuffmanTables(scans.subspan(i + 2)))
            return Error{ErrorCode::Io, "invalid_image", "the JPEG's tables are damaged"};
    }
    if (count > kScansMax)
        return Error{ErrorCode::Io, "invalid_image", "the JPEG has more than 64 scans; save it anew"};
    return {};
}

// Checks all tables on the way.
Result<Jpeg> readJpeg(std::span<const std::byte> file)
{
    const Error damaged{ErrorCode::Io, "invalid_image", "the JPEG's header or tables are damaged"};
    Jpeg jpeg;
    std::size_t at = 2;
    while (at + 4 <= file.size()) {
        const std::uint32_t marker = readBigEndian(file, at + 1, 1);
        if (readBigEndian(file, at, 1) != 0xFF || marker == 0xFF || marker == 0) {
            ++at; // rubbish between segments is passed over
            continue;
        }
        if (marker == 0xDA)
            break;
        const std::size_t length = readBigEndian(file, at + 2, 2);
        if (marker == 0xC4 && !hasGoodHuffmanTables(file.subspan(at + 2)))
            return damaged;
        if (isFrame(marker) && jpeg.componentCount == 0 && length >= 8 && at + 2 + length <= file.size()) {
            const std::size_t count = readBigEndian(file, at + 9, 1);
            if (count == 0 || count > jpeg.components.size() || length != 8 + 3 * count)
                return damaged;
            jpeg.progressive = marker == 0xC2;
            jpeg.componentCount = count;
            for (std::size_t i = 0; i < count; ++i) {
                const std::uint32_t sampling = readBigEndian(file, at + 11 + 3 * i, 1);
                jpeg.components[i] = {sampling >> 4, sampling & 15};
            }
        }
        at += 2 + length;
    }
    if (jpeg.componentCount == 0)
        return damaged;
    WASTE_TRY_STATUS(checkScans(file.subspan(std::min(at, file.size()))));
    return jpeg;
}

std::uint64_t jpegBytes(const Jpeg& jpeg, std::uint64_t width, std::uint64_t height)
{
    const std::span components = std::span(jpeg.components).first(jpeg.componentCount);
    std::uint64_t horizontal = 1;
    std::uint64_t vertical = 1;
    for (const Jpeg::Component& component : components) {
        horizontal = std::max(horizontal, component.horizontal);
        vertical = std::max(vertical, component.vertical);
    }
    // Planes of whole blocks; progressive pictures keep their coefficients of two bytes as well.
    const std::uint64_t blocks =
        ((width + 8 * horizontal - 1) / (8 * horizontal)) * ((height + 8 * vertical - 1) / (8 * vertical));
    std::uint64_t planes = 0;
    for (const Jpeg::Component& component : components)
        planes += blocks * 64 * component.horizontal * component.vertical;
    const std::uint64_t channels = components.size() >= 3 ? 3 : 1;
    return std::max(
        planes * (jpeg.progressive ? 3 : 1) + width * height * channels, uprightBytes(width * height, channels));
}

bool beginsWith(std::span<const std::byte> file, std::string_view signature)
{
    return file.size() >= signature.size()
        && std::equal(signature.begin(), signature.end(), file.begin(),
            [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

} // namespace

Result<ImageLayout> ImageLayout::read(std::span<const std::byte> file)
{
    ImageLayout layout;
    if (beginsWith(file, "\x89PNG")) {
        WASTE_TRY(const Png png, readPng(file));
        layout.m_kind = png.interlaced ? "interlaced PNG" : "PNG";
        layout.m_kind += png.depth == 16 ? " of 16 bits" : "";
        layout.m_bytes = [png, fileBytes = std::uint64_t{file.size()}](std::uint64_t width, std::uint64_t height) {
            return pngBytes(png, fileBytes, width, height);
        };
    } else if (beginsWith(file, "\xFF\xD8")) {
        WASTE_TRY(const Jpeg jpeg, readJpeg(file));
        layout.m_kind = jpeg.progressive ? "progressive JPEG" : "JPEG";
        layout.m_bytes = [jpeg](std::uint64_t width, std::uint64_t height) { return jpegBytes(jpeg, width, height); };
    } else if (beginsWith(file, "GIF8")) {
        layout.m_kind = "GIF";
        layout.m_bytes = [](std::uint64_t width, std::uint64_t height) {
            return 9 * width * height; // picture, background, and what was drawn
        };
    } else {
        layout.m_kind = "picture";
        layout.m_bytes = [](std::uint64_t width, std::uint64_t height) { return uprightBytes(width * height, 4); };
    }
    return layout;
}

std::uint64_t ImageLayout::decodeBytes(std::uint32_t width, std::uint32_t height) const
{
    return m_bytes(width, height) + kSmallBuffersBytes;
}

} // namespace waste
