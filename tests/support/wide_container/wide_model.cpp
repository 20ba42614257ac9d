#include "support/wide_container/wide_model.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace waste::test {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t kSpecialCount = 256;

std::uint32_t rankedCount(const WideModel& model)
{
    return model.vocabularySize - kSpecialCount;
}

std::uint32_t expertCount(const WideModel& model)
{
    if (model.expertCount != 0)
        return model.expertCount;
    return model.family == WideFamily::KimiLinear ? 256 : 896;
}

// Latent attention in every fourth layer, as released. A model with fewer layers gets it in the last one, so
// that each kind of layer is there.
Json linearAttention(const WideModel& model, std::uint32_t headCount)
{
    Json kda = Json::array();
    Json full = Json::array();
    for (std::uint32_t number = 1; number <= model.layerCount; ++number) {
        const bool isFull = number % 4 == 0 || (model.layerCount < 4 && number == model.layerCount);
        (isFull ? full : kda).push_back(number);
    }
    return {{"kda_layers", kda}, {"full_attn_layers", full}, {"num_heads", headCount}, {"head_dim", 128},
        {"short_conv_kernel_size", 4}};
}

// What both families share.
Json commonConfig(const WideModel& model)
{
    const std::uint32_t firstSpecial = rankedCount(model);
    return {{"architectures", {"KimiLinearForCausalLM"}}, {"model_type", "kimi_linear"},
        {"vocab_size", model.vocabularySize}, {"num_hidden_layers", model.layerCount}, {"rms_norm_eps", 1e-5},
        {"first_k_dense_replace", 1}, {"moe_layer_freq", 1}, {"num_experts", expertCount(model)},
        {"moe_renormalize", true}, {"moe_router_activation_func", "sigmoid"}, {"num_expert_group", 1},
        {"topk_group", 1}, {"kv_lora_rank", 512}, {"qk_nope_head_dim", 128}, {"qk_rope_head_dim", 64},
        {"v_head_dim", 128}, {"mla_use_nope", true}, {"tie_word_embeddings", false}, {"bos_token_id", firstSpecial},
        {"eos_token_id", firstSpecial + 2}, {"max_position_embeddings", 1048576}};
}

Json kimiLinearConfig(const WideModel& model)
{
    Json config = commonConfig(model);
    config.update({{"hidden_size", 2304}, {"hidden_act", "silu"}, {"intermediate_size", 9216},
        {"num_experts_per_token", 8}, {"moe_intermediate_size", 1024}, {"num_shared_experts", 1},
        {"routed_scaling_factor", 2.446}, {"num_attention_heads", 32}, {"num_key_value_heads", 32},
        {"linear_attn_config", linearAttention(model, 32)}});
    return config;
}

Json k3Config(const WideModel& model)
{
    Json linear = linearAttention(model, 96);
    linear.update({{"use_full_rank_gate", true}, {"gate_lower_bound", -5.0}});
    Json config = commonConfig(model);
    config.update({{"hidden_size", 7168}, {"hidden_act", "situ"}, {"activation_situ_beta", 4.0},
        {"activation_situ_linear_beta", 25.0}, {"intermediate_size", 33792}, {"num_experts_per_token", 16},
        {"moe_intermediate_size", 3072}, {"num_shared_experts", 2}, {"routed_expert_hidden_size", 3584},
        {"latent_moe_use_norm", true}, {"routed_scaling_factor", 1.0}, {"num_attention_heads", 96},
        {"num_key_value_heads", 96}, {"q_lora_rank", 1536}, {"mla_use_output_gate", true},
        {"attn_res_block_size", std::min(12U, model.layerCount)}, {"linear_attn_config", linear}});
    return {{"architectures", {"KimiK3ForConditionalGeneration"}}, {"model_type", "kimi_k3"},
        {"tie_word_embeddings", false}, {"text_config", config}};
}

std::string base64(std::string_view bytes)
{
    static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t first = 0; first < bytes.size(); first += 3) {
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < 3; ++i)
            bits = bits << 8 | (first + i < bytes.size() ? static_cast<std::uint8_t>(bytes[first + i]) : 0U);
        for (std::size_t digit = 0; digit < 4; ++digit)
            text += first + digit > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * digit) & 63U];
    }
    return text;
}

} // namespace

Json wideConfig(const WideModel& model)
{
    return model.family == WideFamily::KimiLinear ? kimiLinearConfig(model) : k3Config(model);
}

std::string wideRankFile(const WideModel& model)
{
    static constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .";
    const std::uint32_t count = rankedCount(model);
    std::string file;
    std::uint32_t rank = 0;
    const auto add = [&](std::string_view token) {
        if (rank < count)
            file += base64(token) + ' ' + std::to_string(rank++) + '\n';
    };
    for (unsigned byte = 0; byte < 256; ++byte)
        add(std::string(1, static_cast<char>(static_cast<std::uint8_t>(byte))));
    for (const char first : kCharacters)
        for (const char second : kCharacters)
            add(std::string{first, second});
    for (const char first : kCharacters)
        for (const char second : kCharacters)
            for (const char third : kCharacters)
                add(std::string{first, second, third});
    return file;
}

std::string wideSpecials(const WideModel& model)
{
    using Names = std::vector<std::pair<std::uint32_t, const char*>>;
    static const Names kLinear = {{0, "[BOS]"}, {1, "[EOS]"}, {2, "<|im_end|>"}, {3, "<|im_user|>"},
        {4, "<|im_assistant|>"}, {9, "[EOT]"}, {10, "<|im_system|>"}, {17, "<|im_middle|>"}, {254, "[UNK]"},
        {255, "[PAD]"}};
    static const Names kK3 = {{0, "[BOS]"}, {1, "[EOS]"}, {2, "<|end_of_msg|>"}, {3, "<|open|>"}, {4, "<|close|>"},
        {5, "<|sep|>"}, {9, "[EOT]"}, {18, "<|media_begin|>"}, {19, "<|media_content|>"}, {20, "<|media_end|>"},
        {21, "<|media_pad|>"}, {254, "[UNK]"}, {255, "[PAD]"}};
    nlohmann::ordered_json specials = nlohmann::ordered_json::array();
    for (const auto& [offset, text] : model.family == WideFamily::KimiLinear ? kLinear : kK3)
        specials.push_back({{"id", rankedCount(model) + offset}, {"text", text}});
    return specials.dump() + "\n";
}

} // namespace waste::test
