#include "host/picture_viewer.h"

#include "host/picture_check.h"

#include <span>

namespace waste::host {

Result<Picture> PictureViewer::check(const Container& container, std::string_view file, std::string_view name)
{
    const std::lock_guard lock(m_oneAtATime);
    return checkPicture(container, file, name, PictureDetail::Full, m_bytesMax);
}

Result<PicturePixels> PictureViewer::draw(std::string_view file, std::string_view name, std::uint32_t sideMax)
{
    const std::lock_guard lock(m_oneAtATime);
    return drawPicture(std::as_bytes(std::span(file)), name, sideMax, m_bytesMax);
}

} // namespace waste::host
