#include "container/json_values.h"

#include "base/json_depth.h"
#include "container/error_reasons.h"

#include <cmath>
#include <limits>
#include <string>

namespace waste {

Result<nlohmann::json> parseJson(std::string_view text, std::uint32_t depthMax, std::string_view file)
{
    if (isNestedDeeperThan(text, depthMax))
        return reason::corrupt(
            reason::kManifest, std::string(file) + ": nested deeper than " + std::to_string(depthMax) + " levels.");
    try {
        return nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& error) { // the only way to learn the place
        return reason::corrupt(reason::kManifest,
            std::string(file) + " is not valid JSON at byte " + std::to_string(error.byte)
                + ". Copy the file again, or convert the model again.");
    } catch (const nlohmann::json::exception&) { // a number too large for any type
        return reason::corrupt(reason::kManifest, std::string(file) + " holds a value out of range.");
    }
}

std::optional<std::int64_t> asInteger(const nlohmann::json& value)
{
    if (value.is_number_unsigned()) {
        const auto number = value.get<std::uint64_t>();
        if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return std::nullopt;
        return static_cast<std::int64_t>(number);
    }
    if (value.is_number_integer())
        return value.get<std::int64_t>();
    if (value.is_number_float()) {
        const auto number = value.get<double>();
        if (std::abs(number) <= 0x1p53 && std::trunc(number) == number)
            return static_cast<std::int64_t>(number);
    }
    return std::nullopt;
}

const nlohmann::json* member(const nlohmann::json& object, std::string_view key)
{
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
}

} // namespace waste
