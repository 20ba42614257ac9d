#include "container/config_fields.h"

#include "container/error_reasons.h"

#include <cmath>

namespace waste {

std::uint32_t ConfigFields::integer(std::string_view key, Range range, std::optional<std::uint32_t> absent)
{
    const nlohmann::json* value = find(key);
    if (value == nullptr && absent)
        return *absent;
    const std::optional<std::int64_t> number = value == nullptr ? std::nullopt : asInteger(*value);
    if (number && *number >= range.low && *number <= range.high)
        return static_cast<std::uint32_t>(*number);
    fail(key, "a whole number from " + std::to_string(range.low) + " to " + std::to_string(range.high));
    return range.low;
}

float ConfigFields::number(std::string_view key, std::optional<float> absent)
{
    const nlohmann::json* value = find(key);
    if (value == nullptr && absent)
        return *absent;
    if (value != nullptr && value->is_number()) {
        // A double beyond the range of float becomes infinite here, and is refused.
        const auto number = static_cast<float>(value->get<double>());
        if (std::isfinite(number))
            return number;
    }
    fail(key, "a finite number");
    return 0;
}

bool ConfigFields::flag(std::string_view key, bool absent)
{
    const nlohmann::json* value = find(key);
    if (value == nullptr)
        return absent;
    if (value->is_boolean())
        return value->get<bool>();
    fail(key, "true or false");
    return absent;
}

std::optional<std::int64_t> ConfigFields::fact(std::string_view key)
{
    const nlohmann::json* value = find(key);
    return value == nullptr ? std::nullopt : asInteger(*value);
}

void ConfigFields::require(bool condition, std::string_view key, std::string_view rule)
{
    if (!condition)
        fail(key, rule);
}

void ConfigFields::requireSupported(bool condition, std::string_view key, std::string_view rule)
{
    if (!condition && !m_unsupported)
        m_unsupported = reason::unsupported(reason::kConfigKey,
            std::string(m_file) + ": " + describe(key) + "; this program supports only " + std::string(rule) + ".");
}

Status ConfigFields::status() const
{
    if (m_outOfRange)
        return *m_outOfRange;
    if (m_unsupported)
        return *m_unsupported;
    return {};
}

void ConfigFields::fail(std::string_view key, std::string_view rule)
{
    if (!m_outOfRange)
        m_outOfRange = reason::corrupt(reason::kConfig,
            std::string(m_file) + ": config out of range: " + describe(key) + ", must be " + std::string(rule) + ".");
}

std::string ConfigFields::describe(std::string_view key) const
{
    const nlohmann::json* value = find(key);
    std::string text = m_path + std::string(key);
    if (value == nullptr)
        return text + " is missing";
    constexpr std::size_t kShownBytesMax = 60;
    const std::string shown = value->is_structured()
        ? std::string(value->type_name())
        : value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).substr(0, kShownBytesMax);
    return text + " is " + shown;
}

} // namespace waste
