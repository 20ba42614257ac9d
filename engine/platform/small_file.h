#pragma once

#include "waste/result.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace waste {

// A whole file of text or JSON. Larger than `bytesMax` is refused before anything is allocated (Corrupt,
// reason too_large). Errors: NotFound, Io, Corrupt; they name the file.
Result<std::string> readSmallFile(const std::filesystem::path& path, std::uint64_t bytesMax);

} // namespace waste
