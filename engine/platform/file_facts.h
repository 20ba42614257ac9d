#pragma once

#include "waste/result.h"

#include <cstdint>
#include <filesystem>

namespace waste {

// What the system says about a name, a symbolic link not followed.
struct FileFacts {
    bool isRegular = false; // an ordinary file, neither link nor folder
    std::uint64_t bytes = 0;
    std::int64_t modifiedNs = 0; // since 1970
    std::uint64_t linkCount = 0; // names of the file
};

// Errors: NotFound, Io.
Result<FileFacts> fileFacts(const std::filesystem::path& path);

// What a name is a symbolic link to; empty: it is none.
std::filesystem::path linkTarget(const std::filesystem::path& path);

// Whether two existing places share their free space. What cannot be found out counts as no.
bool isSameVolume(const std::filesystem::path& a, const std::filesystem::path& b);

} // namespace waste
