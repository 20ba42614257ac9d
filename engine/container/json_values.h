#pragma once

#include "waste/result.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace waste {

// Parses untrusted JSON. Nesting deeper than `depthMax`, text after the root value and ill-formed UTF-8 are
// refused (Corrupt, reason manifest). The caller has limited the size of the text.
Result<nlohmann::json> parseJson(std::string_view text, std::uint32_t depthMax, std::string_view file);

// A number without a fraction, also when written as 1.0. Empty for anything else and outside ±2^63 (2^53 for
// numbers written with a fraction or an exponent).
std::optional<std::int64_t> asInteger(const nlohmann::json& value);

// A member of an object; null when it is absent or its value is null, which mean the same everywhere.
const nlohmann::json* member(const nlohmann::json& object, std::string_view key);

} // namespace waste
