#include "container/model_config.h"

#include "container/config_fields.h"
#include "container/error_reasons.h"

#include <algorithm>
#include <array>
#include <limits>

namespace waste {

namespace {

// The bounds of spec: model 2.3.
constexpr std::uint32_t kLayersMax = 128;
constexpr std::uint32_t kWidthMax = 1U << 20;
constexpr std::uint32_t kVocabularyMax = 1U << 24;
constexpr std::uint32_t kHeadsMax = 1U << 16;
constexpr std::uint32_t kConvolutionMax = 64;
constexpr std::uint32_t kExpertsMax = 1U << 16;
constexpr std::uint32_t kExpertsPerTokenMax = 64;
constexpr std::uint32_t kSharedExpertsMax = 64;
constexpr std::uint64_t kProductMax = std::numeric_limits<std::int32_t>::max();

using Origin = ModelConfig::Origin;

// Where the parts of a configuration are: `text` describes the language model, `outer` the wrapper around
// it (the same object when there is none).
struct Parts {
    const nlohmann::json* text = nullptr;
    const nlohmann::json* outer = nullptr;
    std::string_view prefix;
};

Result<Parts> locate(const nlohmann::json& config, std::string_view file)
{
    const auto notAnObject = [&](std::string_view what) {
        return reason::corrupt(
            reason::kConfig, std::string(file) + ": config out of range: " + std::string(what) + " must be an object.");
    };
    if (!config.is_object())
        return notAnObject("the configuration");
    if (const nlohmann::json* text = member(config, "text_config")) {
        if (!text->is_object())
            return notAnObject("text_config");
        return Parts{text, &config, "language_model."};
    }
    if (const nlohmann::json* outer = member(config, "_outer")) {
        if (!outer->is_object())
            return notAnObject("_outer");
        return Parts{&config, outer, ""};
    }
    return Parts{&config, &config, ""};
}

// The first name in `architectures`, else `model_type`.
std::string architectureName(const nlohmann::json& object)
{
    if (const nlohmann::json* names = member(object, "architectures"))
        if (names->is_array() && !names->empty() && names->front().is_string())
            return names->front().get<std::string>();
    if (const nlohmann::json* type = member(object, "model_type"))
        if (type->is_string())
            return type->get<std::string>();
    return {};
}

Status readArchitecture(const Parts& parts, std::string_view file, ModelConfig& config)
{
    std::string name = architectureName(*parts.outer);
    if (name.empty())
        name = architectureName(*parts.text);
    const auto contains = [&name](std::string_view word) { return name.find(word) != std::string::npos; };
    if (contains("KimiK3") || contains("kimi_k3"))
        config.architecture = ModelConfig::Architecture::KimiK3;
    else if (contains("KimiLinear") || contains("kimi_linear"))
        config.architecture = ModelConfig::Architecture::KimiLinear;
    else
        return reason::unsupported(reason::kArchitecture,
            std::string(file) + ": the model's architecture "
                + (name.empty() ? "is not stated" : "\"" + name.substr(0, 80) + "\" is not supported")
                + "; this program runs Kimi K3 and Kimi-Linear.");
    return {};
}

void readCommon(ConfigFields& fields, Origin origin, ModelConfig& config)
{
    config.layerCount = fields.integer("num_hidden_layers", {1, kLayersMax});
    config.hiddenSize = fields.integer("hidden_size", {1, kWidthMax});
    config.vocabularySize = fields.integer("vocab_size", {1, kVocabularyMax});
    config.normEpsilon = fields.number("rms_norm_eps");
    fields.require(config.normEpsilon > 0 && config.normEpsilon < 1, "rms_norm_eps", "above 0 and below 1");
    config.residualBlockSize = fields.integer("attn_res_block_size", {0, config.layerCount}, 0);

    fields.requireSupported(!fields.flag("tie_word_embeddings", false), "tie_word_embeddings", "false");
    fields.requireSupported(
        fields.integer("num_nextn_predict_layers", {0, kLayersMax}, 0) == 0, "num_nextn_predict_layers", "0");

    const nlohmann::json* activation = fields.find("hidden_act");
    const bool isSitu = activation != nullptr && *activation == "situ";
    fields.requireSupported(isSitu || activation == nullptr || *activation == "silu", "hidden_act", "silu and situ");
    config.activation = isSitu ? ModelConfig::Activation::Situ : ModelConfig::Activation::Silu;
    config.situBeta = fields.number("activation_situ_beta", 0.0F);
    config.situLinearBeta = fields.number("activation_situ_linear_beta", 0.0F);
    fields.require(config.situBeta >= 0, "activation_situ_beta", "at least 0");
    fields.require(config.situLinearBeta >= 0, "activation_situ_linear_beta", "at least 0");
    if (config.situBeta == 0)
        config.situBeta = 1;

    // A checkpoint that does not say so renormalises; a container states it, because other readers of the
    // format take presence for truth (spec: container 2.2).
    config.renormalizeWeights = fields.flag("moe_renormalize", origin == Origin::Checkpoint);
}

void readFeedForward(ConfigFields& fields, ModelConfig& config)
{
    config.denseLayerCount = fields.integer("first_k_dense_replace", {0, config.layerCount}, 0);
    config.expertCount = fields.integer("num_experts", {0, kExpertsMax}, 0);
    const bool hasDense = config.expertCount == 0 || config.denseLayerCount > 0;
    config.denseWidth = hasDense ? fields.integer("intermediate_size", {1, kWidthMax})
                                 : fields.integer("intermediate_size", {0, kWidthMax}, 0);
    if (config.expertCount == 0)
        return;

    const std::uint32_t perTokenMax = std::min(config.expertCount, kExpertsPerTokenMax);
    config.expertsPerToken = fields.integer("num_experts_per_token", {1, perTokenMax});
    config.expertWidth = fields.integer("moe_intermediate_size", {1, kWidthMax});
    config.sharedExpertCount = fields.integer("num_shared_experts", {1, kSharedExpertsMax});
    config.routedScaling = fields.number("routed_scaling_factor", 1.0F);
    config.latentWidth = fields.integer("routed_expert_hidden_size", {0, kWidthMax}, 0);
    config.latentNorm = fields.flag("latent_moe_use_norm", false);
    fields.requireSupported(fields.integer("moe_layer_freq", {0, kLayersMax}, 1) == 1, "moe_layer_freq", "1");
    const nlohmann::json* router = fields.find("moe_router_activation_func");
    fields.requireSupported(router == nullptr || *router == "sigmoid", "moe_router_activation_func", "sigmoid");

    const std::uint32_t groups = fields.integer("num_expert_group", {1, config.expertCount}, 1);
    const std::uint32_t kept = fields.integer("topk_group", {1, groups}, 1);
    fields.require(config.expertCount % groups == 0, "num_expert_group", "a divisor of num_experts");
    fields.require(config.expertsPerToken <= kept * (config.expertCount / groups), "num_experts_per_token",
        "at most the number of experts in the kept groups");
    if (fields.flag("use_grouped_topk", true)) {
        config.expertGroupCount = groups;
        config.expertGroupsKept = kept;
    }
}

// Marks the 1-based layers of a list. Empty when an entry is no layer or comes twice.
std::optional<std::vector<bool>> readLayerList(const nlohmann::json& list, std::uint32_t layerCount)
{
    if (!list.is_array() || list.size() > layerCount)
        return std::nullopt;
    std::vector<bool> marked(layerCount, false);
    for (const nlohmann::json& entry : list) {
        const auto layer = asInteger(entry);
        if (!layer || *layer < 1 || *layer > layerCount || marked[static_cast<std::size_t>(*layer - 1)])
            return std::nullopt;
        marked[static_cast<std::size_t>(*layer - 1)] = true;
    }
    return marked;
}

void readLayerKinds(ConfigFields& fields, Origin origin, ModelConfig& config)
{
    config.kdaLayers.assign(config.layerCount, false);
    const nlohmann::json* kda = fields.find("kda_layers");
    if (kda == nullptr) {
        fields.require(origin == Origin::Container, "kda_layers", "a list of layers");
    } else if (auto marked = readLayerList(*kda, config.layerCount)) {
        config.kdaLayers = std::move(*marked);
    } else {
        fields.require(false, "kda_layers", "a list of distinct layers counted from 1");
    }
    if (const nlohmann::json* full = fields.find("full_attn_layers")) {
        std::vector<bool> others = config.kdaLayers;
        others.flip();
        const auto marked = readLayerList(*full, config.layerCount);
        // Without the other list this one is only checked for itself.
        fields.require(marked && (kda == nullptr || *marked == others), "full_attn_layers",
            "a list of exactly the layers that kda_layers leaves out");
    }
}

void readKda(ConfigFields& fields, Origin origin, ModelConfig& config)
{
    readLayerKinds(fields, origin, config);
    const std::uint32_t low = config.kdaLayerCount() > 0 ? 1 : 0;
    const std::optional<std::uint32_t> absent = low == 0 ? std::optional<std::uint32_t>(0) : std::nullopt;
    config.kdaHeadCount = fields.integer("num_heads", {low, kHeadsMax}, absent);
    config.kdaHeadDim = fields.integer("head_dim", {low, kHeadsMax}, absent);
    config.convolutionKernel = fields.integer("short_conv_kernel_size", {1, kConvolutionMax}, 4);
    config.kdaFullRankGate = fields.flag("use_full_rank_gate", false);
    config.gateLowerBound = fields.number("gate_lower_bound", 0.0F);
    fields.require(config.gateLowerBound <= 0, "gate_lower_bound", "at most 0");
}

void readMla(ConfigFields& fields, Origin origin, ModelConfig& config)
{
    const bool used = config.mlaLayerCount() > 0;
    const std::uint32_t low = used ? 1 : 0;
    const std::optional<std::uint32_t> absent = used ? std::nullopt : std::optional<std::uint32_t>(0);
    config.attentionHeadCount = fields.integer("num_attention_heads", {1, kHeadsMax});
    config.queryLoraRank = fields.integer("q_lora_rank", {0, kWidthMax}, 0);
    config.kvLoraRank = fields.integer("kv_lora_rank", {low, kWidthMax}, absent);
    config.nopeDim = fields.integer("qk_nope_head_dim", {low, kWidthMax}, absent);
    config.ropeDim = fields.integer("qk_rope_head_dim", {0, kWidthMax}, origin == Origin::Container ? 0 : absent);
    config.valueDim = fields.integer("v_head_dim", {low, kWidthMax}, absent);
    config.attentionOutputGate = fields.flag("mla_use_output_gate", false);
    fields.requireSupported(!used || fields.flag("mla_use_nope", false), "mla_use_nope", "true");
    fields.requireSupported(
        fields.integer("num_key_value_heads", {0, kHeadsMax}, config.attentionHeadCount) == config.attentionHeadCount,
        "num_key_value_heads", "the value of num_attention_heads");
}

// Code that follows multiplies these without checks.
void checkProducts(ConfigFields& fields, const ModelConfig& config)
{
    const std::uint64_t heads = config.attentionHeadCount;
    const auto fits = [](std::uint64_t product) { return product <= kProductMax; };
    fields.require(fits(std::uint64_t{config.kdaHeadCount} * config.kdaHeadDim), "linear_attn_config",
        "of a total width num_heads x head_dim below 2^31");
    fields.require(fits(heads * (std::uint64_t{config.nopeDim} + config.ropeDim))
            && fits(heads * (std::uint64_t{config.nopeDim} + config.valueDim)) && fits(heads * config.valueDim),
        "num_attention_heads", "small enough for heads x head width to stay below 2^31");
    fields.require(fits(std::uint64_t{config.expertWidth} * config.sharedExpertCount), "num_shared_experts",
        "small enough for moe_intermediate_size x num_shared_experts to stay below 2^31");
}

// A token id where 0 or less means that there is none.
TokenId readTokenId(const Parts& parts, std::string_view key, std::uint32_t vocabularySize)
{
    for (const nlohmann::json* object : {parts.text, parts.outer})
        if (const nlohmann::json* value = member(*object, key)) {
            const auto id = asInteger(*value);
            return id && *id > 0 && *id < vocabularySize ? static_cast<TokenId>(*id) : -1;
        }
    return -1;
}

void readFacts(ConfigFields& fields, const Parts& parts, ModelConfig& config)
{
    auto context = fields.fact("max_position_embeddings");
    if (!context)
        context = fields.fact("model_max_length");
    config.contextMax = context && *context > 0 ? static_cast<std::uint64_t>(*context) : 0;
    config.endOfTextId = readTokenId(parts, "eos_token_id", config.vocabularySize);
    config.mediaPlaceholderId = readTokenId(parts, "media_placeholder_token_id", config.vocabularySize);
}

} // namespace

std::string_view ModelConfig::name() const
{
    return architecture == Architecture::KimiK3 ? "kimi-k3" : "kimi-linear";
}

std::uint32_t ModelConfig::kdaLayerCount() const
{
    return static_cast<std::uint32_t>(std::count(kdaLayers.begin(), kdaLayers.end(), true));
}

Result<ModelConfig> ModelConfig::parse(
    const nlohmann::json& config, Origin origin, std::string_view file, const std::string* recordedPrefix)
{
    WASTE_TRY(const Parts parts, locate(config, file));
    ModelConfig result;
    result.tensorPrefix = recordedPrefix != nullptr ? *recordedPrefix : std::string(parts.prefix);
    WASTE_TRY_STATUS(readArchitecture(parts, file, result));

    ConfigFields fields(*parts.text, "", file);
    readCommon(fields, origin, result);
    readFeedForward(fields, result);
    WASTE_TRY_STATUS(fields.status());

    static const nlohmann::json kNoMembers = nlohmann::json::object();
    const nlohmann::json* linear = fields.find("linear_attn_config");
    fields.require(linear == nullptr || linear->is_object(), "linear_attn_config", "an object");
    WASTE_TRY_STATUS(fields.status());
    ConfigFields linearFields(linear == nullptr ? kNoMembers : *linear, "linear_attn_config.", file);
    readKda(linearFields, origin, result);
    WASTE_TRY_STATUS(linearFields.status());

    readMla(fields, origin, result);
    checkProducts(fields, result);
    readFacts(fields, parts, result);
    WASTE_TRY_STATUS(fields.status());
    return result;
}

} // namespace waste
