#pragma once

#include "waste/result.h"

#include <nlohmann/json.hpp>

#include <string_view>

namespace waste {

// Parses a JSON file of a checkpoint whose root must be an object and whose nesting must not pass 64.
// `keep` may drop parts that are not wanted, see nlohmann::json::parse. Errors: Corrupt naming `file`.
Result<nlohmann::json> parseJsonObject(
    std::string_view text, std::string_view file, const nlohmann::json::parser_callback_t& keep = nullptr);

} // namespace waste
