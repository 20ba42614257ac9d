#pragma once

#include "waste/result.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace waste::host {

// What the window remembers: desktop.json beside the configuration file of the command line, whose values
// are the defaults here too (spec: desktop 3.8). Never holds secrets. One thread at a time.
class SettingsFile {
public:
    // Absent files are empty. A file that is no JSON object is an error (Corrupt) and is left alone.
    static Result<SettingsFile> open(const std::filesystem::path& configurationFolder);

    // The value of the first file that has the key; null if none has it.
    [[nodiscard]] nlohmann::json value(const std::string& key) const;
    void set(const std::string& key, nlohmann::json value);
    Status save() const; // replaces desktop.json; keys of other versions are kept

private:
    std::filesystem::path m_path;
    nlohmann::json m_own = nlohmann::json::object();
    nlohmann::json m_defaults = nlohmann::json::object();
};

} // namespace waste::host
