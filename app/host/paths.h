#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace waste::host {

// Where each kind of system keeps a program's files.
enum class PathStyle { Xdg, MacOs, Windows };
// Value of an environment variable; empty if it is not set.
using Environment = std::function<std::string(std::string_view name)>;

// Conversations, saved points, logs (spec: desktop 3.7). Empty if the system names no home for this user.
std::filesystem::path dataFolder(PathStyle style, const Environment& environment);
// config.json (spec: cli B.2) and desktop.json.
std::filesystem::path configurationFolder(PathStyle style, const Environment& environment);

// The same for the system and the environment of this process.
std::filesystem::path dataFolder();
std::filesystem::path configurationFolder();

// The built-in model as built or installed: ../share/waste beside the folder of the program, or in the
// resources of a macOS bundle.
std::optional<std::filesystem::path> builtInModel(const std::filesystem::path& programFolder);

} // namespace waste::host
