#pragma once

#include "support/canvas.h"

#include <cstdint>
#include <string>

namespace waste::test {

// Picture files, written by our own code for our own reader: small writers of one form each, nothing that
// a library shares with the decoder under test.

struct PngForm {
    std::uint32_t channels = 3; // 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA
    std::uint32_t depth = 8; // or 16
    bool interlaced = false;
};
std::string pngOf(const Canvas& canvas, PngForm form = {});
std::string blackPng(std::uint32_t width, std::uint32_t height, PngForm form); // of any size, in little memory

std::string bmpOf(const Canvas& canvas); // 24 bits
enum class Compression : std::uint8_t { None, Runs };
std::string tgaOf(const Canvas& canvas, Compression compression = Compression::None); // 32 bits
std::string psdOf(const Canvas& canvas, Compression compression = Compression::None); // RGB
std::string gifOf(const Canvas& canvas); // colours rounded to 3, 3 and 2 bits

// A grey JPEG of any size and number of components whose blocks are all alike.
enum class Scans : std::uint8_t { Sequential, Progressive };
std::string flatJpeg(
    std::uint32_t width, std::uint32_t height, std::uint32_t components, Scans scans, std::uint32_t scanCount = 1);
// With an EXIF segment that states an orientation of 1 to 8.
std::string withOrientation(const std::string& jpeg, std::uint8_t orientation);

} // namespace waste::test
