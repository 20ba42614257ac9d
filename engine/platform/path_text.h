#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace waste {

// Paths in messages, JSON and on command lines are UTF-8 on every system; std::filesystem's own
// conversions are not (Windows).
std::string textFromPath(const std::filesystem::path& path);
std::filesystem::path pathFromText(std::string_view utf8);

} // namespace waste
