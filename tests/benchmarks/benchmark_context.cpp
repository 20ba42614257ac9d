// What a long conversation costs: delta attention should not notice it, latent attention grows with every position.

#include "benchmark_models.h"

#include "bench_engine.h"
#include "session/model_files.h"
#include "support/wide_container/lengthened_state.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace waste::benchmark {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kShortPosition = 64;
constexpr std::uint64_t kMiddlePosition = 8192;
constexpr std::uint64_t kLongPosition = 32768;
constexpr std::uint32_t kTokens = 12;
constexpr std::uint32_t kRounds = 3;
constexpr double kSlowdownMax = 1.3; // of decoding at the middle position
constexpr double kUnchanged = 0.95; // of what should cost the same everywhere
constexpr double kOffLineMax = 10; // per cent

// What a decoded token takes at one position: means over the layers of a kind, their experts included.
struct Cost {
    std::uint64_t position = 0;
    double rate = 0; // tokens a second; 0: not measured
    double deltaLayerSeconds = 0;
    double latentLayerSeconds = 0;
};

Cost costOf(const ModelConfig& config, std::uint64_t position, const std::vector<double>& layers)
{
    Cost cost{.position = position};
    std::uint32_t deltaLayers = 0;
    std::uint32_t latentLayers = 0;
    // The dense first layer is of another size than the others.
    for (std::uint32_t layer = config.denseLayerCount; layer < config.layerCount; ++layer) {
        if (config.isKda(layer)) {
            cost.deltaLayerSeconds += layers[layer];
            ++deltaLayers;
        } else {
            cost.latentLayerSeconds += layers[layer];
            ++latentLayers;
        }
    }
    cost.deltaLayerSeconds /= std::max(deltaLayers, 1U);
    cost.latentLayerSeconds /= std::max(latentLayers, 1U);
    return cost;
}

const ModelConfig& configOf(const BenchEngine& engine)
{
    return engine.engine().container().files().config;
}

Result<Cost> costNow(BenchEngine& engine, std::uint64_t position)
{
    WASTE_TRY(const BenchEngine::Run run, engine.decode(kTokens, kRounds));
    WASTE_TRY(const std::vector<double> layers, engine.layerSeconds(kTokens));
    Cost cost = costOf(configOf(engine), position, layers);
    cost.rate = run.rate();
    return cost;
}

Result<Cost> costAt(BenchEngine& engine, std::uint64_t position, const fs::path& folder)
{
    const fs::path longer = folder / "longer.state";
    WASTE_TRY_STATUS(test::lengthenState(folder / "short.state", position, longer));
    const Status restored = engine.session().restore(longer);
    std::error_code ignored;
    fs::remove(longer, ignored);
    WASTE_TRY_STATUS(restored);
    return costNow(engine, position);
}

// At position 0 and at the three others.
Result<std::vector<Cost>> costs(BenchEngine& engine, const fs::path& folder)
{
    std::vector<Cost> costs;
    WASTE_TRY(const std::vector<double> layers, engine.layerSeconds(kTokens));
    costs.push_back(costOf(configOf(engine), 0, layers));
    WASTE_TRY_STATUS(engine.prefill(kShortPosition));
    WASTE_TRY(const Cost atStart, costNow(engine, kShortPosition));
    costs.push_back(atStart);
    WASTE_TRY_STATUS(engine.session().save(folder / "short.state"));
    for (const std::uint64_t position : {kMiddlePosition, kLongPosition}) {
        auto cost = costAt(engine, position, folder);
        if (!cost) {
            std::error_code ignored;
            fs::remove(folder / "short.state", ignored);
            return std::move(cost.error());
        }
        costs.push_back(*cost);
    }
    std::error_code ignored;
    fs::remove(folder / "short.state", ignored);
    return costs;
}

void tellDeltaLayers(Table& table, std::span<const Cost> costs)
{
    const std::string name = "Kimi-Linear, delta-attention layer at ";
    constexpr double kMillis = 1e3;
    table.add({name + "0", kMillis * costs[0].deltaLayerSeconds, "ms"});
    for (const Cost& cost : costs.subspan(1)) {
        table.add({.name = name + std::to_string(cost.position) + ", against 0",
            .value = kMillis * cost.deltaLayerSeconds,
            .unit = "ms",
            .goalRatio = kUnchanged,
            .lessIsBetter = true,
            .reference = kMillis * costs[0].deltaLayerSeconds});
    }
}

// Three points: how much each half rises, and how far the one in the middle is from the line through the others.
void tellLatentLayers(Table& table, const Cost& first, const Cost& middle, const Cost& last, double limit)
{
    const std::string name = "Kimi-Linear, latent-attention layer, ";
    const auto slope = [](const Cost& from, const Cost& to) { // seconds a position
        return (to.latentLayerSeconds - from.latentLayerSeconds) / static_cast<double>(to.position - from.position);
    };
    constexpr double kMicrosPerThousand = 1e9; // microseconds and a thousand positions
    for (const auto& [from, to] : {std::pair(first, middle), std::pair(middle, last)}) {
        table.add({name + "1000 positions, " + std::to_string(from.position) + " to " + std::to_string(to.position),
            kMicrosPerThousand * slope(from, to), "us", kMicrosPerThousand * limit, 0, true});
    }
    const double onLine =
        first.latentLayerSeconds + slope(first, last) * static_cast<double>(middle.position - first.position);
    table.add({.name = name + "at " + std::to_string(middle.position) + ", off the line",
        .value = 100 * std::abs(middle.latentLayerSeconds - onLine) / onLine,
        .unit = "%",
        .goalRatio = 1,
        .lessIsBetter = true,
        .reference = kOffLineMax});
}

Status measure(Table& table, const MemoryBandwidth& memory, const fs::path& model)
{
    WASTE_TRY(BenchEngine probe, BenchEngine::open(model, {}));
    const std::uint64_t cacheBytes = 2 * (kTokens + 1) * probe.plan().workingSetBytes;
    WASTE_TRY(BenchEngine engine,
        BenchEngine::open(model, {.cacheBytes = cacheBytes, .contextTokens = kLongPosition + 2 * kTokens}));
    WASTE_TRY(const std::vector<Cost> all, costs(engine, model.parent_path()));
    const Cost& atStart = all[1];
    for (const Cost& cost : std::span(all).subspan(2)) {
        table.add({.name = "Kimi-Linear, decode at position " + std::to_string(cost.position) + ", against 64",
            .value = cost.rate,
            .unit = "tok/s",
            .goalRatio = cost.position == kMiddlePosition ? 1 / kSlowdownMax : 0,
            .reference = atStart.rate});
    }
    tellDeltaLayers(table, all);
    const double rowBytes = sizeof(float) * static_cast<double>(configOf(engine).latentRowWidth());
    tellLatentLayers(table, all[1], all[2], all[3], rowBytes / (memory.allThreads * 1e9));
    return {};
}

} // namespace

void measureLongContext(Table& table, const MemoryBandwidth& memory, BenchModels& models)
{
    const auto model = models.kimiLinear();
    if (!model)
        return;
    if (const Status status = measure(table, memory, *model); !status)
        table.note(status.error().message);
}

} // namespace waste::benchmark
