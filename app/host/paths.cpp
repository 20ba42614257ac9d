#include "host/paths.h"

#include "waste/files.h"

#include <array>
#include <cstdlib>

namespace waste::host {

namespace {

// The environment variable's folder, or `fallback` below the home folder.
std::filesystem::path folderFrom(
    const Environment& environment, std::string_view variable, std::string_view homeVariable, const char* fallback)
{
    // A relative XDG path is to be ignored, says its specification; elsewhere it would be no less wrong.
    if (auto named = pathOfText(environment(variable)); named.is_absolute())
        return named;
    const std::string home = environment(homeVariable);
    return home.empty() ? std::filesystem::path() : pathOfText(home) / fallback;
}

std::string processEnvironment(std::string_view name)
{
    const char* value = std::getenv(std::string(name).c_str());
    return value != nullptr ? value : "";
}

// An unknown user gets no folder rather than one in the root of the disk.
std::filesystem::path below(const std::filesystem::path& folder, const char* name)
{
    return folder.empty() ? folder : folder / name;
}

} // namespace

std::filesystem::path dataFolder(PathStyle style, const Environment& environment)
{
    switch (style) {
    case PathStyle::MacOs:
        return below(folderFrom(environment, {}, "HOME", "Library/Application Support"), "WASTE");
    case PathStyle::Windows:
        return below(folderFrom(environment, "LOCALAPPDATA", "USERPROFILE", "AppData/Local"), "WASTE");
    case PathStyle::Xdg:
        break;
    }
    return below(folderFrom(environment, "XDG_DATA_HOME", "HOME", ".local/share"), "waste");
}

std::filesystem::path configurationFolder(PathStyle style, const Environment& environment)
{
    switch (style) {
    case PathStyle::MacOs:
        return below(folderFrom(environment, {}, "HOME", "Library/Application Support"), "WASTE");
    case PathStyle::Windows:
        return below(folderFrom(environment, "APPDATA", "USERPROFILE", "AppData/Roaming"), "WASTE");
    case PathStyle::Xdg:
        break;
    }
    return below(folderFrom(environment, "XDG_CONFIG_HOME", "HOME", ".config"), "waste");
}

std::filesystem::path dataFolder()
{
    return dataFolder(PathStyle::WASTE_PATH_STYLE, processEnvironment);
}

std::filesystem::path configurationFolder()
{
    return configurationFolder(PathStyle::WASTE_PATH_STYLE, processEnvironment);
}

std::optional<std::filesystem::path> builtInModel(const std::filesystem::path& programFolder)
{
    constexpr std::array kPlaces = {"../share/waste/k3-mini.waste", "../Resources/k3-mini.waste", "k3-mini.waste"};
    for (const char* place : kPlaces) {
        const std::filesystem::path model = programFolder / place;
        std::error_code error;
        if (std::filesystem::is_regular_file(model / "manifest.json", error))
            return model.lexically_normal();
    }
    return std::nullopt;
}

} // namespace waste::host
