#pragma once

#include "waste/result.h"

#include <cstdint>
#include <filesystem>

namespace waste {

// What the user may still write where `path` is or will be (the nearest existing folder above counts).
Result<std::uint64_t> freeSpaceBytes(const std::filesystem::path& path);

// What a long job leaves free on a volume, so that others can go on writing: of the one that the system lives on more
// (spec: download 7.2).
std::uint64_t spaceReserveBytes(std::uint64_t capacityBytes, bool isSystemVolume);
Result<std::uint64_t> spaceReserveBytes(const std::filesystem::path& path);

} // namespace waste
