#include "session/state_metadata.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <optional>

namespace waste::state {
namespace {

using Json = nlohmann::json;

constexpr int kDepthMax = 16;

Error damaged(std::string_view file, std::string_view what)
{
    return Error{ErrorCode::Corrupt, "damaged",
        std::string(file) + ": the description in the saved state is damaged (" + std::string(what) + ")"};
}

// Numbers of 64 bits are strings: JSON readers elsewhere may hold numbers as doubles.
std::optional<std::uint64_t> unsignedFromText(const Json& object, const char* key)
{
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string())
        return std::nullopt;
    const auto& text = found->get_ref<const std::string&>();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

std::optional<std::uint64_t> unsignedNumber(const Json& object, const char* key)
{
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_unsigned())
        return std::nullopt;
    return found->get<std::uint64_t>();
}

std::optional<double> numberInside(const Json& object, const char* key, double least, double most)
{
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number())
        return std::nullopt;
    const double value = found->get<double>();
    if (!(value >= least && value <= most))
        return std::nullopt;
    return value;
}

std::string textOrEmpty(const Json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<SamplingOptions> parseSampling(const Json& root, std::string_view file)
{
    const auto object = root.find("sampling");
    if (object == root.end() || !object->is_object())
        return damaged(file, "sampling");
    const auto temperature = numberInside(*object, "temperature", 0, HUGE_VAL);
    const auto topP = numberInside(*object, "top_p", 0, 1);
    const auto topK = unsignedNumber(*object, "top_k");
    const auto minP = numberInside(*object, "min_p", 0, 1);
    const auto seed = unsignedFromText(*object, "seed");
    if (!temperature || !topP || *topP == 0 || !topK || *topK > UINT32_MAX || !minP || !seed)
        return damaged(file, "sampling");
    return SamplingOptions{*temperature, *topP, static_cast<std::uint32_t>(*topK), *minP, *seed};
}

Result<std::vector<PictureSpan>> parsePictures(const Json& root, std::uint64_t position, std::string_view file)
{
    std::vector<PictureSpan> pictures;
    const auto list = root.find("images");
    if (list == root.end())
        return pictures;
    if (!list->is_array())
        return damaged(file, "images");
    std::uint64_t end = 0;
    for (const Json& item : *list) {
        if (!item.is_object())
            return damaged(file, "images");
        const auto first = unsignedNumber(item, "position");
        const auto count = unsignedNumber(item, "count");
        if (!first || !count || *count == 0 || *first < end || *first >= position || *count > position - *first)
            return damaged(file, "images");
        pictures.push_back({*first, *count});
        end = *first + *count;
    }
    return pictures;
}

} // namespace

std::string encodeMetadata(const Metadata& metadata)
{
    Json images = Json::array();
    for (const PictureSpan& picture : metadata.pictures)
        images.push_back({{"position", picture.position}, {"count", picture.count}});
    const SamplingOptions& sampling = metadata.sampling;
    const Json root = {
        {"created_utc", metadata.createdUtc},
        {"model", metadata.modelName},
        {"sampling",
            {{"temperature", sampling.temperature}, {"top_p", sampling.topP}, {"top_k", sampling.topK},
                {"min_p", sampling.minP}, {"seed", std::to_string(sampling.seed)}}},
        {"rng", std::to_string(metadata.randomState)},
        {"images", images},
        {"replies", Json::array()},
    };
    // A model's folder may have any bytes for its name.
    return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Metadata> parseMetadata(std::string_view json, std::uint64_t position, std::string_view file)
{
    bool tooDeep = false;
    const Json root = Json::parse(
        json.begin(), json.end(),
        [&tooDeep](int depth, Json::parse_event_t, const Json&) {
            tooDeep = tooDeep || depth > kDepthMax;
            return !tooDeep;
        },
        /*allow_exceptions=*/false);
    if (tooDeep || !root.is_object())
        return damaged(file, "not a JSON object");

    Metadata metadata;
    metadata.createdUtc = textOrEmpty(root, "created_utc");
    metadata.modelName = textOrEmpty(root, "model");
    WASTE_TRY(metadata.sampling, parseSampling(root, file));
    const auto randomState = unsignedFromText(root, "rng");
    if (!randomState)
        return damaged(file, "rng");
    metadata.randomState = *randomState;
    WASTE_TRY(metadata.pictures, parsePictures(root, position, file));
    return metadata;
}

} // namespace waste::state
