#include "host/picture_check.h"

#include <span>

namespace waste::host {

namespace {

// Decoding takes memory that no plan counts; larger pictures are decoded when their turn comes.
constexpr std::uint64_t kPixelsDecodedMax = std::uint64_t{16} << 20;
constexpr std::uint32_t kSideMax = 1024;

} // namespace

Result<Picture> checkPicture(
    const Container& container, std::string_view file, std::string_view name, PictureDetail detail)
{
    const auto bytes = std::as_bytes(std::span(file));
    WASTE_TRY(const Picture picture, Picture::inspect(container, bytes, name, detail));
    if (std::uint64_t{picture.width} * picture.height <= kPixelsDecodedMax) {
        if (auto drawn = drawPicture(bytes, name, kSideMax); !drawn)
            return std::move(drawn.error());
    }
    return picture;
}

} // namespace waste::host
