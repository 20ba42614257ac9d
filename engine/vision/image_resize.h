#pragma once

#include "vision/image_file.h"

#include <cstdint>

namespace waste {

// Antialiased bicubic resize with 8-bit intermediates, bit for bit the one the model was trained with
// (spec: vision 2.3); colours of a picture with alpha are premultiplied meanwhile.
Image resizeImage(Image image, std::uint32_t width, std::uint32_t height);

} // namespace waste
