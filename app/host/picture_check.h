#pragma once

#include "waste/container.h"
#include "waste/picture.h"
#include "waste/result.h"

#include <string_view>

namespace waste::host {

// Whether the model could see this picture, before it is kept and sent: its header, and for pictures of ordinary size
// that the rest of the file holds what the header promises. Errors as Picture::inspect().
Result<Picture> checkPicture(const Container& container, std::string_view file, std::string_view name,
    PictureDetail detail = PictureDetail::Full);

} // namespace waste::host
