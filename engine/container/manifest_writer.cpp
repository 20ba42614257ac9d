#include "container/manifest.h"

#include "container/json_values.h"

#include <algorithm>
#include <cassert>

namespace waste {

namespace {

using Json = nlohmann::ordered_json;

Json composeQuant(const ManifestContent& content)
{
    const ExpertQuant& quant = content.expertQuant;
    Json json;
    json["fmt"] = quant.name();
    json["stages"] = quant.stages;
    json["vec_dim"] = quant.vecDim;
    json["entries"] = quant.entries;
    json["index_block"] = quant.indexBlock;
    json["index_bits"] = quant.indexBits;
    json["bits_per_weight"] = quant.bitsPerWeight();
    if (content.codebooksCrc32)
        json["codebooks_crc32"] = *content.codebooksCrc32;
    return json;
}

Json composeTensor(const TrunkEntry& entry)
{
    assert(entry.format);
    const auto layout = TrunkLayout::compute(*entry.format, entry.shape, entry.group);
    assert(layout);
    Json json;
    json["name"] = entry.name;
    json["fmt"] = static_cast<int>(*entry.format);
    json["off"] = entry.offset;
    json["shape"] = entry.shape;
    if (*entry.format != kernels::WeightFormat::F32) {
        json["group"] = entry.group;
        json["scale_off"] = entry.scaleOffset;
    }
    json["bytes"] = layout->bytes();
    if (entry.crc32)
        json["crc32"] = *entry.crc32;
    return json;
}

Json composeDesktop(const DesktopMetadata& metadata)
{
    Json json;
    const auto set = [](Json& target, const char* key, const std::string& value) {
        if (!value.empty())
            target[key] = value;
    };
    set(json, "converter", metadata.converter);
    set(json["source"], "repo", metadata.sourceRepository);
    set(json["source"], "revision", metadata.sourceRevision);
    set(json["quant"], "recipe", metadata.recipe);
    if (metadata.seed)
        json["quant"]["seed"] = *metadata.seed;
    for (const auto& [layer, errors] : metadata.errors)
        for (std::size_t k = 0; k < kExpertMatrixCount; ++k)
            json["errors"][std::to_string(layer)][std::string(kExpertMatrixNames[k])] = errors[k];
    set(json, "created", metadata.created);
    for (const char* key : {"source", "quant"})
        if (json[key].is_null())
            json.erase(key);
    return json;
}

// Drops a member that says no: some readers of the format take its presence for yes.
void dropUnlessTrue(nlohmann::json& object, const char* key)
{
    const nlohmann::json* value = member(object, key);
    if (value == nullptr || *value == false)
        object.erase(key);
}

} // namespace

std::string composeManifest(const ManifestContent& content)
{
    Json json;
    json["format_version"] = kFormatVersion;
    json["arch"] = content.architecture;
    json["tensor_prefix"] = content.tensorPrefix;
    json["config"] = content.config;
    json["expert_quant"] = composeQuant(content);

    std::vector<const BankEntry*> banks;
    for (const BankEntry& bank : content.banks)
        banks.push_back(&bank);
    std::sort(banks.begin(), banks.end(), [](const auto* a, const auto* b) { return a->layer < b->layer; });
    json["layers"] = Json::object();
    for (const BankEntry* bank : banks)
        json["layers"][std::to_string(bank->layer)] = Json{{"file", bank->file}, {"experts", bank->expertCount},
            {"bytes", bank->bytes}, {"codebook_base", bank->codebookBase}};

    std::vector<const TrunkEntry*> trunk;
    for (const TrunkEntry& entry : content.trunk)
        trunk.push_back(&entry);
    std::sort(trunk.begin(), trunk.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
    json["trunk"] = Json::array();
    for (const TrunkEntry* entry : trunk)
        json["trunk"].push_back(composeTensor(*entry));

    if (Json desktop = composeDesktop(content.desktop); !desktop.empty())
        json["x_desktop"] = std::move(desktop);
    return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

nlohmann::json composeConfig(const nlohmann::json& checkpointConfig)
{
    nlohmann::json config = checkpointConfig;
    if (const nlohmann::json* text = member(checkpointConfig, "text_config"); text != nullptr && text->is_object()) {
        config = *text;
        config["_outer"] = checkpointConfig;
        config["_outer"].erase("text_config");
    }
    if (member(config, "num_experts") == nullptr)
        if (const nlohmann::json* count = member(config, "n_routed_experts"))
            config["num_experts"] = *count;

    // Where a checkpoint says nothing it renormalises.
    if (member(config, "moe_renormalize") == nullptr)
        config["moe_renormalize"] = true;
    dropUnlessTrue(config, "moe_renormalize");
    dropUnlessTrue(config, "latent_moe_use_norm");
    dropUnlessTrue(config, "mla_use_output_gate");
    if (const auto linear = config.find("linear_attn_config"); linear != config.end() && linear->is_object())
        dropUnlessTrue(*linear, "use_full_rank_gate");
    return config;
}

} // namespace waste
