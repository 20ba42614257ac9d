#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace waste::test {

// Every file below a directory with its bytes, by its path relative to the directory.
using DirectoryContent = std::map<std::string, std::vector<std::byte>>;
DirectoryContent readDirectory(const std::filesystem::path& directory);

// Empty, or the first difference in words.
std::string difference(const DirectoryContent& actual, const DirectoryContent& expected);

} // namespace waste::test
