#include "convert/side_files.h"

#include "checkpoint/json_file.h"
#include "checkpoint/vision_description.h"
#include "platform/path_text.h"
#include "prompt/template_presets.h"
#include "tokens/rank_file.h"
#include "tokens/special_tokens.h"
#include "vision/vision_config.h"
#include "waste/tokenizer.h"

#include <charconv>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

namespace waste {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kSmallFileBytesMax = 16U << 20;
constexpr std::string_view kTokenizerConfig = "tokenizer_config.json";
constexpr const char* kRemedy = "; download this file again";

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
    SideFiles(const CheckpointFiles& files, const SideFileOptions& options, std::vector<std::string>& warnings)
        : m_files(files)
        , m_options(options)
        , m_warnings(warnings)
    {
    }

    Status addTokenizer()
    {
        const std::string name = m_files.tokenizerFileName();
        if (name.empty()) {
            m_warnings.emplace_back("the checkpoint has no tokenizer; the container takes token ids only");
            return {};
        }
        WASTE_TRY(std::optional<std::string> text, m_files.readSideFile(name, kRankFileBytesMax));
        if (!text)
            return corrupt(name, "vanished while it was read");
        WASTE_TRY(const Vocabulary vocabulary, parseRankFile(*text, name));
        m_rankedCount = vocabulary.count();
        add("tokenizer.model", std::move(*text));
        return {};
    }

    Status addSpecials()
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
            if (error != std::errc() || end != key.data() + key.size() || id >= m_options.vocabularySize
                || content == nullptr || !content->is_string() || content->get_ref<const std::string&>().empty())
                return corrupt(kTokenizerConfig, "the added token \"" + key + "\" is not one");
            if (!specials.emplace(id, content->get<std::string>()).second)
                return corrupt(kTokenizerConfig, "the added token \"" + key + "\" is there twice");
        }
        Json list = Json::array();
        for (const auto& [id, text] : specials)
            list.push_back({{"id", id}, {"text", text}});
        std::string text = jsonText(list);
        if (m_rankedCount > 0)
            WASTE_TRY_STATUS(SpecialTokens::fromSpecialsFile(text, kTokenizerConfig, m_rankedCount));
        add("specials.json", std::move(text));
        return {};
    }

    Status addVision()
    {
        WASTE_TRY(const Json vision, describeVision(m_files, m_warnings));
        if (vision.is_null())
            return {};
        const auto config = VisionConfig::parse(nlohmann::json(vision), m_options.hiddenSize, m_options.vocabularySize,
            "vision_config of config.json, with preprocessor_config.json");
        if (!config && config.error().code != ErrorCode::Unsupported)
            return config.error();
        if (!config)
            m_warnings.push_back("the model will not see pictures: " + config.error().message);
        add("vision.json", jsonText(vision));
        return {};
    }

    void addChat()
    {
        if (const TemplatePreset* preset = presetForArchitecture(m_options.architecture))
            add(kChatFile, std::string(preset->json));
    }

    Status addGenerationConfig()
    {
        constexpr std::string_view kName = "generation_config.json";
        WASTE_TRY(std::optional<std::string> text, m_files.readSideFile(kName, kSmallFileBytesMax));
        if (!text)
            return {};
        WASTE_TRY_STATUS(parseJsonObject(*text, kName));
        add(kName, std::move(*text));
        return {};
    }

    // A release has its template in a file of its own, in a JSON file, or in the tokenizer's configuration.
    Status addChatTemplate()
    {
        constexpr std::string_view kName = "chat_template.jinja";
        WASTE_TRY(std::optional<std::string> plain, m_files.readSideFile(kName, kSmallFileBytesMax));
        if (plain) {
            if (!isWellFormedText(*plain))
                return corrupt(kName, "is not text in UTF-8");
            add(kName, std::move(*plain));
            return {};
        }
        for (const std::string_view file : {std::string_view("chat_template.json"), kTokenizerConfig}) {
            WASTE_TRY(const nlohmann::json config, readJson(m_files, file));
            const nlohmann::json* text = member(config, "chat_template");
            if (text != nullptr && text->is_string()) {
                add(kName, text->get<std::string>());
                return {};
            }
        }
        return {};
    }

    std::vector<SideFile> take() { return std::move(m_result); }

private:
    void add(std::string_view name, std::string content) { m_result.push_back({name, std::move(content)}); }

    const CheckpointFiles& m_files;
    const SideFileOptions& m_options;
    std::vector<std::string>& m_warnings;
    std::size_t m_rankedCount = 0; // of the tokenizer; 0: there is none
    std::vector<SideFile> m_result;
};

Status addAll(SideFiles& sideFiles)
{
    WASTE_TRY_STATUS(sideFiles.addTokenizer());
    WASTE_TRY_STATUS(sideFiles.addSpecials());
    WASTE_TRY_STATUS(sideFiles.addVision());
    sideFiles.addChat();
    WASTE_TRY_STATUS(sideFiles.addGenerationConfig());
    return sideFiles.addChatTemplate();
}

} // namespace

Result<std::vector<SideFile>> composeSideFiles(
    const CheckpointFiles& files, const SideFileOptions& options, std::vector<std::string>& warnings)
{
    SideFiles sideFiles(files, options, warnings);
    if (Status added = addAll(sideFiles); !added) {
        Error& error = added.error();
        const bool hasRemedy = error.message.find(" again") != std::string::npos; // some readers' messages do
        if (error.code == ErrorCode::Corrupt)
            error.message = textFromPath(files.directory()) + ": " + error.message + (hasRemedy ? "" : kRemedy);
        return std::move(error);
    }
    return sideFiles.take();
}

Status writeSideFile(const SideFile& file, const WorkFolder& folder)
{
    if (file.name == kChatFile) {
        WASTE_TRY(const bool isAPersons, isThere(folder.target() / kChatFile));
        if (isAPersons)
            return {};
    }
    return folder.writeTarget(file.name, std::as_bytes(std::span(file.content)));
}

} // namespace waste
