#include "host/picture_check.h"

#include <span>

namespace waste::host {

namespace {

constexpr std::uint32_t kSideMax = 64; // nobody looks at it

} // namespace

Result<Picture> checkPicture(const Container& container, std::string_view file, std::string_view name,
    PictureDetail detail, std::size_t bytesMax)
{
    const auto bytes = std::as_bytes(std::span(file));
    WASTE_TRY(const Picture picture, Picture::inspect(container, bytes, name, detail));
    auto drawn = drawPicture(bytes, name, kSideMax, bytesMax);
    if (!drawn && drawn.error().code != ErrorCode::OutOfMemory)
        return std::move(drawn.error());
    return picture;
}

} // namespace waste::host
