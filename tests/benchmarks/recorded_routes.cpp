#include "recorded_routes.h"

#include "platform/path_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <string>

namespace waste::benchmark {
namespace {

using Experts = RecordedRoutes::Experts;

constexpr std::size_t kExpertsMax = 65535; // of a layer
constexpr std::size_t kLayersMax = 1024;
constexpr std::uint64_t kRecordBytes = 4096; // nothing is read

// Empty: it is none.
Experts expertsFrom(const nlohmann::json& layer)
{
    Experts experts;
    for (const auto& id : layer) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kExpertsMax)
            return {};
        experts.push_back(id.get<std::uint16_t>());
    }
    Experts sorted = experts;
    std::ranges::sort(sorted);
    return std::ranges::adjacent_find(sorted) == sorted.end() ? experts : Experts();
}

// The layers of one token; empty: the line has none.
std::vector<Experts> layersFrom(const std::string& line)
{
    const auto token = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!token.is_object() || !token.contains("layers"))
        return {};
    std::vector<Experts> layers;
    for (const auto& layer : token["layers"])
        layers.push_back(expertsFrom(layer));
    return layers;
}

} // namespace

Result<RecordedRoutes> RecordedRoutes::load(const std::filesystem::path& file)
{
    RecordedRoutes routes;
    std::size_t layerCount = 0;
    std::size_t number = 0;
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        ++number;
        std::vector<Experts> layers = layersFrom(line);
        if (routes.choices.empty())
            layerCount = layers.size();
        const std::size_t count = !routes.choices.empty() ? routes.choices.front().size()
            : layers.empty()                              ? 0
                                                          : layers.front().size();
        const auto isAnother = [count](const Experts& experts) { return experts.size() != count; };
        if (count == 0 || layerCount > kLayersMax || layers.size() != layerCount
            || std::ranges::any_of(layers, isAnother)) {
            return Error{ErrorCode::Corrupt, "",
                textFromPath(file) + ", line " + std::to_string(number)
                    + " is no token with the layers and experts of the first; record the routes again"};
        }
        for (Experts& experts : layers) {
            routes.grid.expertCount = std::max(routes.grid.expertCount, std::uint32_t{std::ranges::max(experts)} + 1);
            routes.choices.push_back(std::move(experts));
        }
    }
    if (routes.choices.empty())
        return Error{ErrorCode::NotFound, "", textFromPath(file) + ": there are no routes in it"};
    routes.grid.layerCount = static_cast<std::uint16_t>(layerCount);
    routes.grid.recordBytes = kRecordBytes;
    return routes;
}

std::size_t RecordedRoutes::mostHits(std::size_t slotCount) const
{
    const std::size_t recordCount = std::size_t{grid.layerCount} * grid.expertCount;
    std::vector<std::vector<std::size_t>> uses(recordCount); // places in the route, latest first
    const auto recordOf = [this](std::size_t place, std::uint16_t expert) {
        return place % grid.layerCount * grid.expertCount + expert;
    };
    for (std::size_t i = choices.size(); i-- > 0;) {
        for (const std::uint16_t expert : choices[i])
            uses[recordOf(i, expert)].push_back(i);
    }
    std::vector<std::size_t> slots;
    std::vector<bool> isCached(recordCount);
    const auto isNeededEarlier = [&](std::size_t a, std::size_t b) {
        return !uses[a].empty() && (uses[b].empty() || uses[a].back() < uses[b].back());
    };
    std::size_t hits = 0;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        for (const std::uint16_t expert : choices[i]) {
            const std::size_t record = recordOf(i, expert);
            uses[record].pop_back();
            hits += isCached[record] ? 1 : 0;
            if (isCached[record])
                continue;
            isCached[record] = true;
            if (slots.size() < slotCount) {
                slots.push_back(record);
                continue;
            }
            const auto last = std::max_element(slots.begin(), slots.end(), isNeededEarlier);
            isCached[*last] = false;
            *last = record;
        }
    }
    return hits;
}

} // namespace waste::benchmark
