#include "checkpoint/vision_description.h"

#include "checkpoint/json_file.h"

#include <optional>
#include <string_view>

namespace waste {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kPreprocessorBytesMax = 16U << 20;
constexpr std::string_view kPreprocessorConfig = "preprocessor_config.json";

// Of the vision tower, not of the published files (spec: vision 1 and 3.3).
constexpr double kVisionNormEpsilon = 1.1920928955078125e-07;
constexpr int kVisionPatchesMax = 1024;

const nlohmann::json* member(const nlohmann::json& object, std::string_view key)
{
    if (!object.is_object())
        return nullptr;
    const auto value = object.find(key);
    return value != object.end() && !value->is_null() ? &*value : nullptr;
}

// merge_kernel_size is not among them: the tower has one of its own.
Status addPreprocessor(const CheckpointFiles& files, std::vector<std::string>& warnings, Json& vision)
{
    WASTE_TRY(const std::optional<std::string> text, files.readSideFile(kPreprocessorConfig, kPreprocessorBytesMax));
    nlohmann::json file;
    if (text) {
        WASTE_TRY(file, parseJsonObject(*text, kPreprocessorConfig));
    }
    const nlohmann::json* media = member(file, "media_proc_cfg");
    if (media == nullptr) {
        warnings.emplace_back("the checkpoint does not say how pictures are prepared; mean and deviation 0.5 are used");
        vision["image_mean"] = {0.5, 0.5, 0.5};
        vision["image_std"] = {0.5, 0.5, 0.5};
        return {};
    }
    for (const char* key : {"image_mean", "image_std", "patch_size", "in_patch_limit", "patch_limit_on_one_side",
             "transparent_bg_config", "transparent_bg_fill_stage"}) {
        if (const nlohmann::json* value = member(*media, key))
            vision[key] = *value;
    }
    return {};
}

} // namespace

Result<Json> describeVision(const CheckpointFiles& files, std::vector<std::string>& warnings)
{
    const nlohmann::json* tower = member(files.config(), "vision_config");
    if (tower == nullptr)
        return Json();
    if (!tower->is_object())
        return Error{ErrorCode::Corrupt, "", "config.json: vision_config is not an object"};
    Json vision = Json::object();
    for (const auto& [key, value] : tower->items()) {
        if (!key.starts_with('_'))
            vision[key] = value;
    }
    vision["vt_rms_eps"] = kVisionNormEpsilon;
    if (const nlohmann::json* placeholder = member(files.config(), "media_placeholder_token_id"))
        vision["media_placeholder_token_id"] = *placeholder;
    vision["max_patches"] = kVisionPatchesMax;
    WASTE_TRY_STATUS(addPreprocessor(files, warnings, vision));
    return vision;
}

} // namespace waste
