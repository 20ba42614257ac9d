#pragma once

#include "container/json_values.h"
#include "waste/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace waste {

// Reads members of one object of a model's configuration. The first value that is missing, of the wrong type
// or out of range is kept as the error and everything after it still returns something harmless, so that a
// caller reads a whole group and asks once.
class ConfigFields {
public:
    // `object` is a JSON object that outlives the reader. `path` stands before keys in messages
    // ("linear_attn_config."), `file` names the file.
    ConfigFields(const nlohmann::json& object, std::string path, std::string_view file)
        : m_object(object)
        , m_path(std::move(path))
        , m_file(file)
    {
    }

    struct Range {
        std::uint32_t low = 0;
        std::uint32_t high = 0;
    };
    // Without a default the member is required. The default is not held against the range.
    std::uint32_t integer(std::string_view key, Range range, std::optional<std::uint32_t> absent = std::nullopt);
    float number(std::string_view key, std::optional<float> absent = std::nullopt); // finite
    bool flag(std::string_view key, bool absent);
    // The same without a range, for facts that nothing is computed from; empty when absent or no integer.
    std::optional<std::int64_t> fact(std::string_view key);

    [[nodiscard]] const nlohmann::json* find(std::string_view key) const { return member(m_object, key); }
    void require(bool condition, std::string_view key, std::string_view rule); // "config out of range: ..."
    void requireSupported(bool condition, std::string_view key, std::string_view rule);
    [[nodiscard]] Status status() const;

private:
    void fail(std::string_view key, std::string_view rule);
    [[nodiscard]] std::string describe(std::string_view key) const;

    const nlohmann::json& m_object;
    const std::string m_path;
    const std::string_view m_file;
    std::optional<Error> m_outOfRange; // told before m_unsupported: nonsense is not a feature
    std::optional<Error> m_unsupported;
};

} // namespace waste
