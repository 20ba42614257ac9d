#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// The orientation 1…8 that a JPEG file's EXIF segment states; 1 when there is none or it makes no sense
// (CIPA DC-008, tag 0x0112).
std::uint8_t exifOrientation(std::span<const std::byte> file);

} // namespace waste
