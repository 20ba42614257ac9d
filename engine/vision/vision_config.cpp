#include "vision/vision_config.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace waste {
namespace {

using Json = nlohmann::json;

// Reads keys one after the other and keeps the first thing that is wrong.
class Reader {
public:
    Reader(const Json& json, std::string_view file)
        : m_json(json)
        , m_file(file)
    {
    }

    // The key's value if present and not null, else the default already in `value`.
    void integer(const char* key, std::uint32_t& value, std::uint64_t low, std::uint64_t high)
    {
        const Json* found = find(key);
        if (found == nullptr)
            return;
        if (!found->is_number_integer() || *found < low || *found > high)
            fail(key, "must be a whole number from " + std::to_string(low) + " to " + std::to_string(high));
        else
            value = found->get<std::uint32_t>();
    }

    void real(const char* key, float& value, float low, float high)
    {
        const Json* found = find(key);
        if (found == nullptr)
            return;
        const double number = found->is_number() ? found->get<double>() : std::nan("");
        if (!(number > low && number < high))
            fail(key, "is not a number in its range");
        else
            value = static_cast<float>(number);
    }

    void triple(const char* key, std::array<float, 3>& values, bool positive)
    {
        const Json* found = find(key);
        if (found == nullptr)
            return;
        if (!found->is_array() || found->size() != 3)
            return fail(key, "must be three numbers");
        for (std::size_t i = 0; i < 3; ++i) {
            const Json& item = (*found)[i];
            const double number = item.is_number() ? item.get<double>() : std::nan("");
            if (!std::isfinite(number) || std::abs(number) > 1e6 || (positive && number <= 0))
                return fail(key, positive ? "must be three numbers above 0" : "must be three numbers");
            values[i] = static_cast<float>(number);
        }
    }

    // A key whose other values this tower does not have; absent is fine.
    void expect(const char* key, const Json& wanted)
    {
        const Json* found = find(key);
        if (found != nullptr && *found != wanted && !m_error) {
            m_error = Error{ErrorCode::Unsupported, "vision_config",
                m_file + ": \"" + key + "\" is " + found->dump() + "; only " + wanted.dump() + " is supported"};
        }
    }

    [[nodiscard]] const Json* find(const char* key) const
    {
        const auto found = m_json.find(key);
        return found == m_json.end() || found->is_null() ? nullptr : &*found;
    }

    void fail(const char* key, const std::string& why)
    {
        if (!m_error)
            m_error = Error{ErrorCode::Corrupt, "vision_config", m_file + ": \"" + key + "\" " + why};
    }

    [[nodiscard]] const std::optional<Error>& error() const { return m_error; }

private:
    const Json& m_json;
    std::string m_file;
    std::optional<Error> m_error;
};

void readByte(Reader& reader, const char* key, std::uint8_t& value)
{
    std::uint32_t wide = value;
    reader.integer(key, wide, 0, 255);
    value = static_cast<std::uint8_t>(wide);
}

std::optional<Error> readBackground(const Json& json, std::string_view file, TransparentBackground& background)
{
    Reader reader(json, file);
    if (const Json* pattern = reader.find("pattern")) {
        if (*pattern == "chessboard")
            background.pattern = TransparentBackground::Pattern::Chessboard;
        else if (*pattern == "white")
            background.pattern = TransparentBackground::Pattern::White;
        else if (*pattern == "black")
            background.pattern = TransparentBackground::Pattern::Black;
        else if (*pattern == "gray" || *pattern == "grey")
            background.pattern = TransparentBackground::Pattern::Grey;
        else
            reader.fail("pattern", "is none of chessboard, white, black, gray");
    }
    reader.integer("chessboard_square_size", background.squareSize, 1, 65536);
    readByte(reader, "chessboard_white_value", background.whiteValue);
    readByte(reader, "chessboard_gray_value", background.greyValue);
    if (const Json* onTop = reader.find("chessboard_square_on_top_left")) {
        if (onTop->is_boolean())
            background.squareOnTopLeft = onTop->get<bool>();
        else
            reader.fail("chessboard_square_on_top_left", "must be true or false");
    }
    return reader.error();
}

} // namespace

Result<VisionConfig> VisionConfig::parse(
    const Json& json, std::uint32_t textHiddenSize, std::uint32_t vocabularySize, std::string_view file)
{
    if (!json.is_object())
        return Error{ErrorCode::Corrupt, "vision_config", std::string(file) + ": not a JSON object"};
    constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 20;
    VisionConfig config;
    Reader reader(json, file);
    reader.expect("patch_size", kPatchSize);
    reader.expect("pos_emb_type", "divided_fixed");
    reader.expect("pos_emb_interpolation_mode", "bilinear");
    reader.expect("norm_type", "rmsnorm");
    reader.expect("mlp_type", "mlp2");
    reader.expect("merge_type", "sd2_tpool");
    reader.expect("merge_kernel_size", Json::array({2, 2}));
    reader.expect("attn_bias", false);
    reader.expect("linear_bias", false);
    reader.expect("patch_embed_proj_bias", false);
    reader.expect("activation_func", "gelu_pytorch_tanh");
    reader.expect("mm_projector_type", "patchmergerv2");
    reader.expect("projector_hidden_act", "gelu");
    reader.integer("vt_hidden_size", config.hiddenSize, 1, kSizeMax);
    reader.integer("vt_num_attention_heads", config.headCount, 1, 1U << 16);
    reader.integer("qkv_hidden_size", config.qkvSize, 1, kSizeMax);
    reader.integer("vt_intermediate_size", config.mlpWidth, 1, 4 * kSizeMax);
    reader.integer("vt_num_hidden_layers", config.layerCount, 1, 256);
    reader.integer("init_pos_emb_height", config.positionRows, 1, 1U << 16);
    reader.integer("init_pos_emb_width", config.positionColumns, 1, 1U << 16);
    config.textHiddenSize = textHiddenSize;
    reader.integer("text_hidden_size", config.textHiddenSize, 1, kSizeMax);
    reader.integer("max_patches", config.patchesMax, 4, kSizeMax);
    reader.integer("in_patch_limit", config.patchLimit, 4, kSizeMax);
    reader.integer("patch_limit_on_one_side", config.patchLimitPerSide, 1, 512);
    reader.real("vt_rms_eps", config.normEpsilon, 0, 1);
    reader.real("projector_ln_eps", config.projectorEpsilon, 0, 1);
    reader.triple("image_mean", config.mean, false);
    reader.triple("image_std", config.deviation, true);
    std::uint32_t placeholder = std::numeric_limits<std::uint32_t>::max();
    reader.integer("media_placeholder_token_id", placeholder, 0, vocabularySize - 1);
    config.placeholderId = static_cast<TokenId>(placeholder);
    if (const Json* stage = reader.find("transparent_bg_fill_stage")) {
        if (*stage == "after_resize")
            config.background.stage = TransparentBackground::Stage::AfterResize;
        else if (*stage != "before_resize")
            reader.fail("transparent_bg_fill_stage", "is neither before_resize nor after_resize");
    }
    if (const Json* background = reader.find("transparent_bg_config")) {
        if (!background->is_object())
            reader.fail("transparent_bg_config", "must be an object");
        else if (auto error = readBackground(*background, file, config.background))
            return std::move(*error);
    }
    if (config.textHiddenSize != textHiddenSize)
        reader.fail("text_hidden_size", "differs from the text model's hidden_size");
    if (config.qkvSize % config.headCount != 0 || config.headDim() % 4 != 0)
        reader.fail("qkv_hidden_size", "must be heads times a multiple of 4");
    if (placeholder == std::numeric_limits<std::uint32_t>::max())
        reader.fail("media_placeholder_token_id", "is missing");
    if (reader.error())
        return *reader.error();
    return config;
}

} // namespace waste
