#include "checkpoint/json_file.h"

#include "base/json_depth.h"

#include <string>

namespace waste {
namespace {

constexpr std::size_t kLevelsMax = 64;

} // namespace

Result<nlohmann::json> parseJsonObject(
    std::string_view text, std::string_view file, const nlohmann::json::parser_callback_t& keep)
{
    const std::string name(file);
    if (isNestedDeeperThan(text, kLevelsMax))
        return Error{ErrorCode::Corrupt, "", name + ": values are nested more than 64 deep"};
    nlohmann::json root = nlohmann::json::parse(text, keep, false);
    if (!root.is_object())
        return Error{ErrorCode::Corrupt, "", name + " is not a valid JSON object"};
    return root;
}

} // namespace waste
