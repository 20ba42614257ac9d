#pragma once

#include <filesystem>
#include <string>

namespace waste {

// A path as Windows takes it: from 260 characters on only absolute, and with a prefix that switches its own reading of
// paths off.
std::wstring systemPath(const std::filesystem::path& path);

} // namespace waste
