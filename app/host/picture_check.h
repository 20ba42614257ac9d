#pragma once

#include "waste/container.h"
#include "waste/picture.h"
#include "waste/result.h"

#include <cstddef>
#include <string_view>

namespace waste::host {

// Whether the model could see this picture, before it is kept and sent: its header, and if it can be decoded in
// `bytesMax` of memory also that the rest of the file holds what the header promises; a larger picture is decoded
// when its turn comes. Errors as Picture::inspect().
Result<Picture> checkPicture(const Container& container, std::string_view file, std::string_view name,
    PictureDetail detail, std::size_t bytesMax);

} // namespace waste::host
