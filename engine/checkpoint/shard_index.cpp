#include "checkpoint/shard_index.h"

#include "checkpoint/json_file.h"

namespace waste {
namespace {

constexpr std::string_view kWeightMap = "weight_map";

// A shard lies beside its index: nothing that leads anywhere else, on any system.
bool isPlainFileName(std::string_view name)
{
    if (name.empty() || name == "." || name == "..")
        return false;
    for (const char c : name) {
        if (c == '/' || c == '\\' || c == ':' || static_cast<unsigned char>(c) < 0x20)
            return false;
    }
    return true;
}

// Keeps `weight_map` and its strings only, so that whatever else a file holds costs no memory.
bool isWanted(int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed)
{
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::array_start)
        return false;
    if (event == Event::object_start)
        return depth <= 1;
    if (event == Event::key && depth == 1)
        return parsed == kWeightMap;
    return true;
}

} // namespace

Result<std::map<std::string, std::string>> parseShardIndex(std::string_view json, std::string_view file)
{
    const std::string name(file);
    WASTE_TRY(const nlohmann::json root, parseJsonObject(json, file, isWanted));
    const auto weightMap = root.find(kWeightMap);
    if (weightMap == root.end() || !weightMap->is_object())
        return Error{ErrorCode::Corrupt, "", name + ": there is no weight_map"};
    std::map<std::string, std::string> shards;
    for (const auto& [tensor, shard] : weightMap->items()) {
        if (!shard.is_string() || !isPlainFileName(shard.get_ref<const std::string&>()))
            return Error{
                ErrorCode::Corrupt, "", name + ": the shard of tensor \"" + tensor + "\" is not a plain file name"};
        shards.emplace_hint(shards.end(), tensor, shard.get<std::string>());
    }
    return shards;
}

} // namespace waste
