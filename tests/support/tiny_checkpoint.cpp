#include "support/tiny_checkpoint.h"

#include "checkpoint/tensor_names.h"
#include "container/model_config.h"
#include "container/tensor_inventory.h"
#include "support/safetensors_writer.h"

#include <nlohmann/json.hpp>

#include <QtGlobal>

#include <cmath>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace waste::test {
namespace {

constexpr std::uint32_t kVocabulary = 512;
constexpr std::uint32_t kBaseTokens = 256;

// splitmix64; the sum of twelve uniform numbers is as good as Gaussian and the same everywhere.
class Random {
public:
    explicit Random(std::uint64_t seed)
        : m_state(seed)
    {
    }
    std::uint64_t bits()
    {
        std::uint64_t z = (m_state += 0x9E3779B97F4A7C15ULL);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }
    double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
    float gaussian()
    {
        double sum = -6;
        for (int i = 0; i < 12; ++i)
            sum += uniform();
        return static_cast<float>(sum);
    }

private:
    std::uint64_t m_state;
};

std::uint32_t latentWidth(const TinyCheckpoint& options)
{
    return options.latentWidth != 0 ? options.latentWidth : 64;
}

// MLA in every third layer and in the last two.
nlohmann::json linearAttention(const TinyCheckpoint& options)
{
    nlohmann::json kda = nlohmann::json::array();
    nlohmann::json full = nlohmann::json::array();
    for (std::uint32_t number = 1; number <= options.layerCount; ++number) {
        const bool isFull = number == options.layerCount || (number % 3 == 0);
        (isFull ? full : kda).push_back(number);
    }
    return {{"kda_layers", kda}, {"full_attn_layers", full}, {"num_heads", 4}, {"head_dim", 32},
        {"short_conv_kernel_size", 4}};
}

nlohmann::json textConfig(const TinyCheckpoint& options)
{
    nlohmann::json config = {{"architectures", {"KimiLinearForCausalLM"}}, {"model_type", "kimi_linear"},
        {"vocab_size", kVocabulary}, {"hidden_size", options.hiddenSize}, {"num_hidden_layers", options.layerCount},
        {"intermediate_size", 264}, {"num_attention_heads", 4}, {"num_key_value_heads", 4}, {"hidden_act", "silu"},
        {"rms_norm_eps", 1e-5}, {"first_k_dense_replace", 1}, {"moe_layer_freq", 1},
        {"num_experts", options.expertCount}, {"num_experts_per_token", options.expertsPerToken},
        {"num_shared_experts", 1}, {"moe_intermediate_size", options.expertWidth}, {"moe_renormalize", true},
        {"moe_router_activation_func", "sigmoid"}, {"num_expert_group", 1}, {"topk_group", 1},
        {"routed_scaling_factor", 2.446}, {"q_lora_rank", nullptr}, {"kv_lora_rank", 32}, {"qk_nope_head_dim", 16},
        {"qk_rope_head_dim", 8}, {"v_head_dim", 16}, {"mla_use_nope", true}, {"tie_word_embeddings", false},
        {"linear_attn_config", linearAttention(options)}, {"model_max_length", 4096}, {"bos_token_id", kBaseTokens},
        {"eos_token_id", kBaseTokens + 2}, {"pad_token_id", kVocabulary - 1}};
    if (options.family == TinyFamily::KimiK3) {
        config.update({{"hidden_act", "situ"}, {"activation_situ_beta", 4.0}, {"activation_situ_linear_beta", 25.0},
            {"attn_res_block_size", 2}, {"num_shared_experts", 2}, {"routed_expert_hidden_size", latentWidth(options)},
            {"latent_moe_use_norm", true}, {"routed_scaling_factor", 1.0}, {"q_lora_rank", 40},
            {"mla_use_output_gate", true}});
        config["linear_attn_config"].update({{"use_full_rank_gate", true}, {"gate_lower_bound", -5.0}});
    }
    return config;
}

nlohmann::json visionConfig(const TinyCheckpoint& options)
{
    return {{"patch_size", 14}, {"init_pos_emb_height", 4}, {"init_pos_emb_width", 4}, {"init_pos_emb_time", 4},
        {"pos_emb_type", "divided_fixed"}, {"pos_emb_interpolation_mode", "bilinear"}, {"vt_num_attention_heads", 2},
        {"vt_num_hidden_layers", 2}, {"vt_hidden_size", 16}, {"vt_intermediate_size", 32}, {"qkv_hidden_size", 24},
        {"merge_kernel_size", {2, 2}}, {"merge_type", "sd2_tpool"}, {"mm_projector_type", "patchmergerv2"},
        {"mm_hidden_size", 16}, {"projector_hidden_act", "gelu"}, {"projector_ln_eps", 1e-5}, {"norm_type", "rmsnorm"},
        {"attn_bias", false}, {"patch_embed_proj_bias", false}, {"mlp_type", "mlp2"}, {"linear_bias", false},
        {"activation_func", "gelu_pytorch_tanh"}, {"text_hidden_size", options.hiddenSize}, {"_note", "not copied"}};
}

nlohmann::json wholeConfig(const TinyCheckpoint& options)
{
    if (options.family == TinyFamily::KimiLinear)
        return textConfig(options);
    nlohmann::json config = {{"architectures", {"KimiK3ForConditionalGeneration"}}, {"model_type", "kimi_k3"},
        {"media_placeholder_token_id", kBaseTokens + 21}, {"bos_token_id", kBaseTokens},
        {"eos_token_id", kBaseTokens + 2}, {"pad_token_id", kVocabulary - 1}, {"tie_word_embeddings", false},
        {"text_config", textConfig(options)}};
    if (options.vision)
        config["vision_config"] = visionConfig(options);
    return config;
}

std::uint64_t product(const std::vector<std::uint64_t>& shape)
{
    std::uint64_t count = 1;
    for (const std::uint64_t dimension : shape)
        count *= dimension;
    return count;
}

std::vector<std::uint64_t> publishedShape(const TensorSpec& spec, const ModelConfig& config)
{
    if (spec.name.ends_with("conv1d.weight"))
        return {config.kdaWidth(), 1, config.convolutionKernel};
    if (spec.name.ends_with("A_log")) {
        if (config.architecture == ModelConfig::Architecture::KimiK3)
            return {config.kdaHeadDim};
        return {1, 1, config.kdaHeadCount, 1};
    }
    if (spec.name.ends_with("res_proj.weight"))
        return {1, spec.columns};
    if (spec.shape == TensorSpec::Shape::Matrix)
        return {spec.rows, spec.columns};
    return {spec.columns};
}

bool isPublishedAsF32(const std::string& name, TinyFamily family)
{
    if (name.ends_with("A_log") || name.ends_with("dt_bias") || name.ends_with("e_score_correction_bias"))
        return true;
    return family == TinyFamily::KimiK3 && (name.ends_with("conv1d.weight") || name.ends_with("o_norm.weight"));
}

// Values of a size that keeps activations of order one and decays inside (0, 1).
std::vector<float> randomValues(const TensorSpec& spec, const std::vector<std::uint64_t>& shape, Random& random)
{
    std::vector<float> values(product(shape));
    const bool isNorm = spec.name.ends_with("norm.weight");
    const float spread = spec.shape == TensorSpec::Shape::Matrix ? 1 / std::sqrt(static_cast<float>(spec.columns))
        : spec.name.ends_with("conv1d.weight")                   ? 0.5F
                                                                 : 0.2F;
    for (float& value : values)
        value = (isNorm ? 1.0F : 0.0F) + spread * random.gaussian();
    if (spec.name.ends_with("A_log")) {
        for (std::size_t i = spec.columns; i < values.size(); ++i)
            values[i] = 0; // the release pads with zeros
    }
    return values;
}

// Random nibbles and one scale per 32 columns such that rows have a length of about one.
void addMxfp4(
    SafetensorsWriter& writer, const std::string& plainName, std::uint64_t rows, std::uint64_t columns, Random& random)
{
    std::vector<std::byte> packed(rows * columns / 2);
    for (std::byte& byte : packed)
        byte = static_cast<std::byte>(random.bits());
    std::vector<std::byte> scales(rows * columns / 32);
    const int exponent = 127 - 2 - static_cast<int>(std::lround(std::log2(static_cast<double>(columns)) / 2));
    for (std::byte& byte : scales)
        byte = static_cast<std::byte>(exponent + static_cast<int>(random.bits() % 2));
    writer.add(plainName + "_packed", "U8", {rows, columns / 2}, std::move(packed));
    writer.add(plainName + "_scale", "U8", {rows, columns / 32}, std::move(scales));
}

void addExperts(SafetensorsWriter& writer, const ModelConfig& config, std::uint32_t layer, Random& random)
{
    const std::uint64_t inner = config.expertWidth;
    const std::uint64_t outer = config.expertInputWidth();
    for (std::uint32_t expert = 0; expert < config.expertCount; ++expert) {
        for (const ExpertMatrix matrix : kExpertMatrices) {
            const std::string name = expertTensorName(config.tensorPrefix, {layer, expert, matrix});
            const std::uint64_t rows = matrix == ExpertMatrix::Down ? outer : inner;
            const std::uint64_t columns = matrix == ExpertMatrix::Down ? inner : outer;
            if (config.architecture == ModelConfig::Architecture::KimiK3) {
                addMxfp4(writer, name, rows, columns, random);
                continue;
            }
            std::vector<float> values(rows * columns);
            for (float& value : values)
                value = random.gaussian() / std::sqrt(static_cast<float>(columns));
            writer.addBf16(name, {rows, columns}, values);
        }
    }
}

void addVision(SafetensorsWriter& writer, std::uint64_t hiddenSize, Random& random)
{
    const auto add = [&](const std::string& name, const std::vector<std::uint64_t>& shape) {
        std::vector<float> values(product(shape));
        for (float& value : values)
            value = shape.size() == 1 ? 1 : 0.2F * random.gaussian();
        writer.addBf16(name, shape, values);
    };
    add("vision_tower.patch_embed.proj.weight", {16, 3, 14, 14});
    add("vision_tower.patch_embed.pos_emb.weight", {4, 4, 16});
    for (int block = 0; block < 2; ++block) {
        const std::string place = "vision_tower.encoder.blocks." + std::to_string(block) + ".";
        add(place + "norm0.weight", {16});
        add(place + "norm1.weight", {16});
        add(place + "wqkv.weight", {72, 16});
        add(place + "wo.weight", {16, 24});
        add(place + "mlp.fc0.weight", {32, 16});
        add(place + "mlp.fc1.weight", {16, 32});
    }
    add("vision_tower.encoder.final_layernorm.weight", {16});
    add("mm_projector.proj.0.weight", {64, 64});
    add("mm_projector.proj.2.weight", {hiddenSize, 64});
    add("mm_projector.post_norm.weight", {hiddenSize});
}

void writeText(const std::filesystem::path& file, const std::string& text)
{
    std::ofstream(file, std::ios::binary) << text;
}

std::string base64(unsigned char byte)
{
    static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return {kDigits[byte >> 2], kDigits[(byte & 3) << 4], '=', '='};
}

// Ranks of the 256 single bytes, and the special tokens at the offsets that the release has.
void writeTokenizer(const std::filesystem::path& directory)
{
    std::string ranks;
    for (unsigned byte = 0; byte < kBaseTokens; ++byte)
        ranks += base64(static_cast<unsigned char>(byte)) + ' ' + std::to_string(byte) + '\n';
    writeText(directory / "tokenizer.model", ranks);

    const std::pair<unsigned, const char*> specials[] = {{0, "[BOS]"}, {1, "[EOS]"}, {2, "<|end_of_msg|>"},
        {3, "<|open|>"}, {4, "<|close|>"}, {5, "<|sep|>"}, {18, "<|media_begin|>"}, {19, "<|media_content|>"},
        {20, "<|media_end|>"}, {21, "<|media_pad|>"}, {254, "[UNK]"}, {255, "[PAD]"}};
    nlohmann::json decoder = nlohmann::json::object();
    for (const auto& [offset, text] : specials)
        decoder[std::to_string(kBaseTokens + offset)] = {{"content", text}, {"special", true}};
    writeText(directory / "tokenizer_config.json", nlohmann::json({{"added_tokens_decoder", decoder}}).dump(2));
}

void writeShards(const std::filesystem::path& directory, const std::vector<SafetensorsWriter>& shards)
{
    if (shards.size() == 1) {
        shards.front().write(directory / "model.safetensors");
        return;
    }
    nlohmann::json weightMap = nlohmann::json::object();
    for (std::size_t i = 0; i < shards.size(); ++i) {
        const std::string file =
            "model-" + std::to_string(i + 1) + "-of-" + std::to_string(shards.size()) + ".safetensors";
        shards[i].write(directory / file);
        for (const std::string& name : shards[i].names())
            weightMap[name] = file;
    }
    writeText(directory / "model.safetensors.index.json", nlohmann::json({{"weight_map", weightMap}}).dump());
}

} // namespace

void writeTinyCheckpoint(const std::filesystem::path& directory, const TinyCheckpoint& options)
{
    std::filesystem::create_directories(directory);
    const nlohmann::json config = wholeConfig(options);
    writeText(directory / "config.json", config.dump(2));
    const auto parsed = ModelConfig::parse(config, ModelConfig::Origin::Checkpoint, "config.json");
    if (!parsed)
        qFatal("the tiny checkpoint's configuration is refused: %s", parsed.error().message.c_str());

    Random random(options.seed);
    std::vector<SafetensorsWriter> shards(options.cutAnywhere ? 1 : options.shardCount);
    std::size_t turn = 0;
    for (const TensorSpec& spec : requiredTensors(*parsed)) {
        const std::vector<std::uint64_t> shape = publishedShape(spec, *parsed);
        const std::vector<float> values = randomValues(spec, shape, random);
        SafetensorsWriter& shard = shards[turn++ % shards.size()];
        if (isPublishedAsF32(spec.name, options.family))
            shard.addF32(spec.name, shape, values);
        else
            shard.addBf16(spec.name, shape, values);
    }
    for (std::uint32_t layer = 0; layer < parsed->layerCount; ++layer) {
        if (parsed->isMoe(layer))
            addExperts(shards[turn++ % shards.size()], *parsed, layer, random);
    }
    if (options.vision)
        addVision(shards.front(), options.hiddenSize, random);
    writeShards(directory, options.cutAnywhere ? shards.front().split(options.shardCount) : shards);
    if (options.tokenizer)
        writeTokenizer(directory);
}

} // namespace waste::test
