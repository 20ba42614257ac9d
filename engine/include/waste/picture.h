#pragma once

#include "waste/container.h"
#include "waste/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace waste {

// How much of a picture the model gets to see: Half takes about half the positions, so half the time to read.
enum class PictureDetail : std::uint8_t { Full, Half };

// What a picture would become, from the header of its file alone (spec: vision 2.2).
struct Picture {
    std::uint32_t width = 0; // pixels as shown, before any resize: what the prompt states
    std::uint32_t height = 0;
    std::uint32_t positionCount = 0; // places it takes in the sequence
    std::uint64_t multiplyAdds = 0; // what the tower computes to look at it

    // `file` is the whole file, `name` names it in messages. Errors: Unsupported (the model has no vision
    // tower, or one that this program does not know), Corrupt (the tower's description), Io with reason
    // invalid_image.
    static Result<Picture> inspect(const Container& container, std::span<const std::byte> file, std::string_view name,
        PictureDetail detail = PictureDetail::Full);
};

// The pixels of a picture file, for hosts that show what they send: upright, no side longer than `sideMax`, smaller
// pictures as they are. Decoding takes no more than `bytesMax`, beside the file and the pixels that are returned.
// Errors: Io with reason invalid_image; OutOfMemory, among others for a picture that would take more.
struct PicturePixels {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::vector<std::uint8_t> rgba; // [height][width][4], colours not multiplied by alpha
};
Result<PicturePixels> drawPicture(
    std::span<const std::byte> file, std::string_view name, std::uint32_t sideMax, std::size_t bytesMax);

} // namespace waste
