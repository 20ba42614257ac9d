#include "host/generation_defaults.h"

#include "waste/files.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>

namespace waste::host {

namespace {

constexpr std::size_t kFileBytesMax = 64 << 10;
constexpr double kTemperatureMax = 100;
constexpr double kTopPMin = 1e-9;
constexpr double kTopKMax = 1 << 30;

struct Range {
    double min;
    double max;
};

Result<double> number(
    const nlohmann::json& object, const char* key, double absent, Range range, const std::string& file)
{
    const auto found = object.find(key);
    if (found == object.end() || found->is_null())
        return absent;
    const double value = found->is_number() ? found->get<double>() : std::nan("");
    if (!(value >= range.min && value <= range.max))
        return Error{ErrorCode::Corrupt, "", file + ": " + key + " is not a number in its range"};
    return value;
}

} // namespace

Result<SamplingOptions> recommendedSampling(const std::filesystem::path& model, std::string_view architecture)
{
    const SamplingOptions unstated = usualSampling(architecture);
    const std::filesystem::path path = model / "generation_config.json";
    const auto text = readFile(path, kFileBytesMax);
    if (!text && text.error().code == ErrorCode::NotFound)
        return unstated;
    if (!text)
        return text.error();
    const std::string file = textOfPath(path);
    const auto object = nlohmann::json::parse(*text, nullptr, false);
    if (!object.is_object())
        return Error{ErrorCode::Corrupt, "", file + " is not one JSON object"};

    bool stated = false;
    for (const char* key : {"temperature", "top_p", "top_k", "do_sample"})
        stated = stated || (object.contains(key) && !object[key].is_null());
    if (!stated)
        return unstated;
    if (const auto sample = object.find("do_sample"); sample != object.end() && !sample->is_null()) {
        if (!sample->is_boolean())
            return Error{ErrorCode::Corrupt, "", file + ": do_sample is neither true nor false"};
        if (!sample->get<bool>())
            return SamplingOptions{};
    }
    SamplingOptions sampling;
    WASTE_TRY(sampling.temperature, number(object, "temperature", 1, {0, kTemperatureMax}, file));
    WASTE_TRY(sampling.topP, number(object, "top_p", 1, {kTopPMin, 1}, file));
    WASTE_TRY(const double topK, number(object, "top_k", 0, {0, kTopKMax}, file));
    sampling.topK = static_cast<std::uint32_t>(topK);
    return sampling;
}

SamplingOptions usualSampling(std::string_view architecture)
{
    SamplingOptions sampling;
    if (architecture == "kimi-k3") {
        sampling.temperature = 1.0;
        sampling.topP = 0.95;
    }
    return sampling;
}

} // namespace waste::host
