#include "convert/side_files.h"

#include "checkpoint/json_file.h"
#include "checkpoint/vision_description.h"
#include "prompt/template_presets.h"

#include <charconv>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

namespace waste {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kRankFileBytesMax = 64U << 20;
constexpr std::uint64_t kSmallFileBytesMax = 16U << 20;
constexpr std::string_view kTokenizerConfig = "tokenizer_config.json";
constexpr std::string_view kChatFile = "chat.json";

Error corrupt(std::string_view file, const std::string& what)
{
    return {ErrorCode::Corrupt, "", std::string(file) + ": " + what};
}

std::string jsonText(const Json& json)
{
    return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

// A small JSON file of the checkpoint; null if it does not exist.
Result<nlohmann::json> readJson(const CheckpointFiles& files, std::string_view name)
{
    WASTE_TRY(const std::optional<std::string> text, files.readSideFile(name, kSmallFileBytesMax));
    if (!text)
        return nlohmann::json();
    return parseJsonObject(*text, name);
}

const nlohmann::json* member(const nlohmann::json& object, std::string_view key)
{
    if (!object.is_object())
        return nullptr;
    const auto value = object.find(key);
    return value != object.end() && !value->is_null() ? &*value : nullptr;
}

class SideFiles {
public:
    SideFiles(const CheckpointFiles& files, const WorkFolder& folder, std::vector<std::string>& warnings)
        : m_files(files)
        , m_folder(folder)
        , m_warnings(warnings)
    {
    }

    Status writeTokenizer()
    {
        const std::string name = m_files.tokenizerFileName();
        if (name.empty()) {
            m_warnings.emplace_back("the checkpoint has no tokenizer; the container takes token ids only");
            return {};
        }
        return copy(name, "tokenizer.model", kRankFileBytesMax);
    }

    Status writeSpecials(std::uint32_t vocabularySize)
    {
        WASTE_TRY(const nlohmann::json config, readJson(m_files, kTokenizerConfig));
        const nlohmann::json* decoder = member(config, "added_tokens_decoder");
        if (decoder == nullptr)
            return {};
        if (!decoder->is_object())
            return corrupt(kTokenizerConfig, "added_tokens_decoder is not an object");
        std::map<std::uint32_t, std::string> specials;
        for (const auto& [key, token] : decoder->items()) {
            std::uint32_t id = 0;
            const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
            const nlohmann::json* content = member(token, "content");
            if (error != std::errc() || end != key.data() + key.size() || id >= vocabularySize || content == nullptr
                || !content->is_string() || content->get_ref<const std::string&>().empty())
                return corrupt(kTokenizerConfig, "the added token \"" + key + "\" is not one");
            if (!specials.emplace(id, content->get<std::string>()).second)
                return corrupt(kTokenizerConfig, "the added token \"" + key + "\" is there twice");
        }
        Json list = Json::array();
        for (const auto& [id, text] : specials)
            list.push_back({{"id", id}, {"text", text}});
        return write("specials.json", jsonText(list));
    }

    Status writeVision()
    {
        WASTE_TRY(const Json vision, describeVision(m_files, m_warnings));
        if (vision.is_null())
            return {};
        return write("vision.json", jsonText(vision));
    }

    Status writeChat(std::string_view architecture)
    {
        std::error_code ignored;
        const TemplatePreset* preset = presetForArchitecture(architecture);
        if (preset == nullptr || std::filesystem::exists(m_folder.target() / kChatFile, ignored))
            return {};
        return write(kChatFile, preset->json);
    }

    Status writeGenerationConfig()
    {
        return copy("generation_config.json", "generation_config.json", kSmallFileBytesMax);
    }

    // A release has its template in a file of its own, in a JSON file, or in the tokenizer's configuration.
    Status writeChatTemplate()
    {
        constexpr std::string_view kName = "chat_template.jinja";
        WASTE_TRY(const std::optional<std::string> plain, m_files.readSideFile(kName, kSmallFileBytesMax));
        if (plain)
            return write(kName, *plain);
        for (const std::string_view file : {std::string_view("chat_template.json"), kTokenizerConfig}) {
            WASTE_TRY(const nlohmann::json config, readJson(m_files, file));
            const nlohmann::json* text = member(config, "chat_template");
            if (text != nullptr && text->is_string())
                return write(kName, text->get_ref<const std::string&>());
        }
        return {};
    }

private:
    Status copy(std::string_view from, std::string_view to, std::uint64_t bytesMax)
    {
        WASTE_TRY(const std::optional<std::string> text, m_files.readSideFile(from, bytesMax));
        return text ? write(to, *text) : Status();
    }

    Status write(std::string_view name, std::string_view text)
    {
        return m_folder.writeTarget(name, std::as_bytes(std::span(text)));
    }

    const CheckpointFiles& m_files;
    const WorkFolder& m_folder;
    std::vector<std::string>& m_warnings;
};

} // namespace

Status writeSideFiles(const CheckpointFiles& files, std::string_view architecture, std::uint32_t vocabularySize,
    const WorkFolder& folder, std::vector<std::string>& warnings)
{
    SideFiles sideFiles(files, folder, warnings);
    WASTE_TRY_STATUS(sideFiles.writeTokenizer());
    WASTE_TRY_STATUS(sideFiles.writeSpecials(vocabularySize));
    WASTE_TRY_STATUS(sideFiles.writeVision());
    WASTE_TRY_STATUS(sideFiles.writeChat(architecture));
    WASTE_TRY_STATUS(sideFiles.writeGenerationConfig());
    return sideFiles.writeChatTemplate();
}

} // namespace waste
