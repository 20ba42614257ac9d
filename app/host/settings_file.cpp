#include "host/settings_file.h"

#include "waste/files.h"

#include <utility>

namespace waste::host {

namespace {

constexpr std::uint64_t kSettingsBytesMax = std::uint64_t{1} << 20;

Result<nlohmann::json> readObject(const std::filesystem::path& path)
{
    auto text = readFile(path, kSettingsBytesMax);
    if (!text) {
        if (text.error().code == ErrorCode::NotFound)
            return nlohmann::json::object();
        return std::move(text.error());
    }
    nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
    if (!json.is_object())
        return Error{ErrorCode::Corrupt, "", textOfPath(path) + " is not one JSON object"};
    return json;
}

} // namespace

Result<SettingsFile> SettingsFile::open(const std::filesystem::path& configurationFolder)
{
    SettingsFile file;
    file.m_path = configurationFolder / "desktop.json";
    // The command line complains about a bad configuration file; the window starts without its defaults.
    if (auto defaults = readObject(configurationFolder / "config.json"))
        file.m_defaults = std::move(*defaults);
    WASTE_TRY(file.m_own, readObject(file.m_path));
    return file;
}

nlohmann::json SettingsFile::value(const std::string& key) const
{
    if (const auto own = m_own.find(key); own != m_own.end())
        return *own;
    const auto byDefault = m_defaults.find(key);
    return byDefault != m_defaults.end() ? *byDefault : nlohmann::json();
}

void SettingsFile::set(const std::string& key, nlohmann::json value)
{
    m_own[key] = std::move(value);
}

Status SettingsFile::save() const
{
    WASTE_TRY_STATUS(makePrivateFolder(m_path.parent_path()));
    return replaceFile(m_path, m_own.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

} // namespace waste::host
