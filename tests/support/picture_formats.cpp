#include "support/picture_formats.h"

#include "base/crc32.h"
#include "support/zlib_runs.h"

#include <array>
#include <span>
#include <string_view>

namespace waste::test {

namespace {

std::string bigEndian(std::uint32_t value, int bytes)
{
    std::string text;
    for (int i = bytes - 1; i >= 0; --i)
        text += static_cast<char>((value >> (8 * i)) & 0xFF);
    return text;
}

std::string littleEndian(std::uint32_t value, int bytes)
{
    std::string text;
    for (int i = 0; i < bytes; ++i)
        text += static_cast<char>((value >> (8 * i)) & 0xFF);
    return text;
}

// ---- PNG

std::string chunk(std::string_view type, const std::string& content)
{
    const std::string body = std::string(type) + content;
    const std::uint32_t checksum = crc32(std::as_bytes(std::span(body)));
    return bigEndian(static_cast<std::uint32_t>(content.size()), 4) + body + bigEndian(checksum, 4);
}

std::string pngFile(std::uint32_t width, std::uint32_t height, PngForm form, const std::string& compressed)
{
    static constexpr std::array<std::uint32_t, 5> colourTypes = {0, 0, 4, 2, 6};
    const std::string header = bigEndian(width, 4) + bigEndian(height, 4) + bigEndian(form.depth, 1)
        + bigEndian(colourTypes.at(form.channels), 1) + bigEndian(0, 2) + bigEndian(form.interlaced ? 1 : 0, 1);
    return "\x89PNG\r\n\x1A\n" + chunk("IHDR", header) + chunk("IDAT", compressed) + chunk("IEND", "");
}

// Every stepX-th pixel from x on of every stepY-th line from y on.
struct Pass {
    std::uint32_t x, y, stepX, stepY;
};
std::span<const Pass> passesOf(PngForm form)
{
    static constexpr std::array<Pass, 1> whole = {{{0, 0, 1, 1}}};
    static constexpr std::array<Pass, 7> adam = {
        {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}};
    return form.interlaced ? std::span<const Pass>(adam) : std::span<const Pass>(whole);
}

void addPixel(ZlibRuns& lines, const Colour& pixel, PngForm form)
{
    const bool grey = form.channels <= 2;
    for (std::size_t c = 0; c < form.channels; ++c) {
        const std::size_t from = !grey ? c : c == 0 ? 0 : 3;
        for (std::uint32_t byte = 0; byte < form.depth / 8; ++byte)
            lines.add(byte == 0 ? pixel[from] : std::uint8_t{0x5A}); // the low byte is nobody's business
    }
}

} // namespace

std::string pngOf(const Canvas& canvas, PngForm form)
{
    ZlibRuns lines;
    for (const Pass& pass : passesOf(form)) {
        if (pass.x >= canvas.width())
            continue;
        for (std::uint32_t y = pass.y; y < canvas.height(); y += pass.stepY) {
            lines.add(0); // no filter
            for (std::uint32_t x = pass.x; x < canvas.width(); x += pass.stepX)
                addPixel(lines, canvas.at(x, y), form);
        }
    }
    return pngFile(canvas.width(), canvas.height(), form, lines.finish());
}

std::string blackPng(std::uint32_t width, std::uint32_t height, PngForm form)
{
    std::uint64_t bytes = 0;
    for (const Pass& pass : passesOf(form)) {
        if (pass.x >= width || pass.y >= height)
            continue;
        const std::uint64_t columns = (width - pass.x + pass.stepX - 1) / pass.stepX;
        const std::uint64_t rows = (height - pass.y + pass.stepY - 1) / pass.stepY;
        bytes += rows * (1 + columns * form.channels * form.depth / 8);
    }
    ZlibRuns lines;
    lines.add(0, bytes);
    return pngFile(width, height, form, lines.finish());
}

std::string bmpOf(const Canvas& canvas)
{
    const std::uint32_t lineBytes = (canvas.width() * 3 + 3) / 4 * 4;
    const std::uint32_t pixelBytes = lineBytes * canvas.height();
    std::string file = "BM" + littleEndian(54 + pixelBytes, 4) + littleEndian(0, 4) + littleEndian(54, 4);
    file += littleEndian(40, 4) + littleEndian(canvas.width(), 4) + littleEndian(canvas.height(), 4);
    file += littleEndian(1, 2) + littleEndian(24, 2) + littleEndian(0, 4) + littleEndian(pixelBytes, 4);
    file.append(16, '\0');
    for (std::uint32_t y = canvas.height(); y-- > 0;) {
        std::string line;
        for (std::uint32_t x = 0; x < canvas.width(); ++x) {
            for (const std::size_t c : {2U, 1U, 0U})
                line += static_cast<char>(canvas.at(x, y)[c]);
        }
        line.resize(lineBytes);
        file += line;
    }
    return file;
}

std::string tgaOf(const Canvas& canvas, Compression compression)
{
    const bool runs = compression == Compression::Runs;
    std::string file = bigEndian(0, 2) + bigEndian(runs ? 10 : 2, 1) + std::string(9, '\0');
    file += littleEndian(canvas.width(), 2) + littleEndian(canvas.height(), 2) + bigEndian(32, 1);
    file += bigEndian(0x28, 1); // lines from the top, eight bits of alpha
    for (std::uint32_t y = 0; y < canvas.height(); ++y) {
        for (std::uint32_t x = 0; x < canvas.width();) {
            const Colour& pixel = canvas.at(x, y);
            std::uint32_t count = 1;
            while (runs && count < 128 && x + count < canvas.width() && canvas.at(x + count, y) == pixel)
                ++count;
            if (runs)
                file += static_cast<char>(0x80 | (count - 1));
            for (const std::size_t c : {2U, 1U, 0U, 3U})
                file += static_cast<char>(pixel[c]);
            x += count;
        }
    }
    return file;
}

std::string psdOf(const Canvas& canvas, Compression compression)
{
    const bool runs = compression == Compression::Runs;
    std::string file = "8BPS" + bigEndian(1, 2) + std::string(6, '\0') + bigEndian(3, 2);
    file += bigEndian(canvas.height(), 4) + bigEndian(canvas.width(), 4) + bigEndian(8, 2) + bigEndian(3, 2);
    file += std::string(12, '\0') + bigEndian(runs ? 1 : 0, 2); // no palette, resources or layers
    std::string lengths;
    std::string content;
    for (std::size_t c = 0; c < 3; ++c) {
        for (std::uint32_t y = 0; y < canvas.height(); ++y) {
            const std::size_t before = content.size();
            for (std::uint32_t x = 0; x < canvas.width();) {
                std::uint32_t count = 1;
                while (runs && count < 128 && x + count < canvas.width()
                    && canvas.at(x + count, y)[c] == canvas.at(x, y)[c])
                    ++count;
                if (runs)
                    content += static_cast<char>(1 - static_cast<int>(count)); // one: a literal of one byte
                content += static_cast<char>(canvas.at(x, y)[c]);
                x += count;
            }
            lengths += bigEndian(static_cast<std::uint32_t>(content.size() - before), 2);
        }
    }
    return file + (runs ? lengths : "") + content;
}

// Codes of nine bits, none of which repeats anything, with a fresh start before the table would grow.
std::string gifOf(const Canvas& canvas)
{
    std::string file = "GIF89a" + littleEndian(canvas.width(), 2) + littleEndian(canvas.height(), 2);
    file += bigEndian(0xF7, 1) + bigEndian(0, 2); // 256 colours
    for (int i = 0; i < 256; ++i)
        for (const int level : {(i >> 5) * 255 / 7, ((i >> 2) & 7) * 255 / 7, (i & 3) * 255 / 3})
            file += static_cast<char>(level);
    file += "," + littleEndian(0, 4) + littleEndian(canvas.width(), 2) + littleEndian(canvas.height(), 2);
    file += bigEndian(0, 1) + bigEndian(8, 1);
    std::string codes;
    std::uint32_t bits = 0;
    int bitCount = 0;
    const auto put = [&](std::uint32_t code) {
        bits |= code << bitCount;
        for (bitCount += 9; bitCount >= 8; bitCount -= 8, bits >>= 8)
            codes += static_cast<char>(bits & 0xFF);
    };
    constexpr std::size_t kCodesBetweenClears = 200;
    for (std::size_t i = 0; i < std::size_t{canvas.width()} * canvas.height(); ++i) {
        if (i % kCodesBetweenClears == 0)
            put(256);
        const Colour& pixel = canvas.at(i % canvas.width(), i / canvas.width());
        put((pixel[0] >> 5 << 5) | (pixel[1] >> 5 << 2) | (pixel[2] >> 6));
    }
    put(257);
    codes += static_cast<char>(bits & 0xFF);
    for (std::size_t at = 0; at < codes.size(); at += 255) {
        const std::string block = codes.substr(at, 255);
        file += static_cast<char>(block.size()) + block;
    }
    return file + std::string("\0;", 2);
}

// Tables in which the one code 0 means "no difference" or "no more coefficients": the scans are all zeros.
std::string flatJpeg(
    std::uint32_t width, std::uint32_t height, std::uint32_t components, Scans scans, std::uint32_t scanCount)
{
    const bool progressive = scans == Scans::Progressive;
    std::string file = "\xFF\xD8";
    file += std::string("\xFF\xDB\0\x43\0", 5) + std::string(64, '\x01');
    file += std::string(progressive ? "\xFF\xC2" : "\xFF\xC0") + bigEndian(8 + 3 * components, 2) + bigEndian(8, 1);
    file += bigEndian(height, 2) + bigEndian(width, 2) + bigEndian(components, 1);
    for (std::uint32_t i = 1; i <= components; ++i)
        file += bigEndian(i, 1) + bigEndian(0x11, 1) + bigEndian(0, 1);
    for (const char table : {'\x00', '\x10'})
        file += std::string("\xFF\xC4\0\x14", 4) + table + '\x01' + std::string(15, '\0') + '\0';
    const std::size_t blocks = std::size_t{(width + 7) / 8} * ((height + 7) / 8) * components;
    for (std::uint32_t scan = 0; scan < scanCount; ++scan) {
        file += "\xFF\xDA" + bigEndian(6 + 2 * components, 2) + bigEndian(components, 1);
        for (std::uint32_t i = 1; i <= components; ++i)
            file += bigEndian(i, 1) + bigEndian(0, 1);
        file += bigEndian(0, 1) + bigEndian(progressive ? 0 : 63, 1) + bigEndian(0, 1);
        file.append(blocks * (progressive ? 1 : 2) / 8 + 1, '\0');
    }
    return file + "\xFF\xD9";
}

std::string withOrientation(const std::string& jpeg, std::uint8_t orientation)
{
    std::string exif("Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", 25);
    exif += static_cast<char>(orientation);
    exif.append(6, '\0');
    const std::string segment = "\xFF\xE1" + bigEndian(static_cast<std::uint32_t>(exif.size() + 2), 2) + exif;
    return jpeg.substr(0, 2) + segment + jpeg.substr(2);
}

} // namespace waste::test
