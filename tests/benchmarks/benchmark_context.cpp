// What a long conversation costs: delta attention should not notice it, latent attention grows with every position.

#include "benchmark_models.h"

#include "bench_engine.h"
#include "lengthened_state.h"
#include "session/model_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace waste::benchmark {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kShortPosition = 64;
constexpr std::uint64_t kMiddlePosition = 8192;
constexpr std::uint64_t kLongPosition = 32768;
constexpr std::uint32_t kTokens = 12;
constexpr std::uint32_t kRounds = 3;

// What a decoded token takes at one position.
struct Cost {
    double rate = 0; // tokens a second
    double deltaLayerSeconds = 0; // mean over the layers of a kind, their experts included
    double latentLayerSeconds = 0;
};

Result<Cost> costNow(BenchEngine& engine)
{
    WASTE_TRY(const BenchEngine::Run run, engine.decode(kTokens, kRounds));
    WASTE_TRY(const std::vector<double> layers, engine.layerSeconds(kTokens));
    const ModelConfig& config = engine.engine().container().files().config;
    Cost cost;
    cost.rate = run.rate();
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

Result<Cost> costAt(BenchEngine& engine, std::uint64_t position, const fs::path& folder)
{
    const fs::path longer = folder / "longer.state";
    WASTE_TRY_STATUS(lengthenState(folder / "short.state", position, longer));
    const Status restored = engine.session().restore(longer);
    std::error_code ignored;
    fs::remove(longer, ignored);
    WASTE_TRY_STATUS(restored);
    return costNow(engine);
}

Status measure(Table& table, const MemoryBandwidth& memory, const fs::path& model)
{
    WASTE_TRY(BenchEngine probe, BenchEngine::open(model, {}));
    const std::uint64_t cacheBytes = 2 * (kTokens + 1) * probe.plan().workingSetBytes;
    WASTE_TRY(BenchEngine engine,
        BenchEngine::open(model, {.cacheBytes = cacheBytes, .contextTokens = kLongPosition + 2 * kTokens}));
    WASTE_TRY_STATUS(engine.prefill(kShortPosition));
    WASTE_TRY(const Cost atStart, costNow(engine));
    const fs::path folder = model.parent_path();
    WASTE_TRY_STATUS(engine.session().save(folder / "short.state"));
    auto middle = costAt(engine, kMiddlePosition, folder);
    auto late = costAt(engine, kLongPosition, folder);
    std::error_code ignored;
    fs::remove(folder / "short.state", ignored);
    if (!middle || !late)
        return middle ? late.error() : middle.error();

    table.add({"Kimi-Linear, decode at position 8192, against 64", middle->rate, "tok/s", atStart.rate, 1 / 1.3});
    table.add({"Kimi-Linear, decode at position 32768, against 64", late->rate, "tok/s", atStart.rate});
    table.add({"Kimi-Linear, delta-attention layer at 32768, against 64", 1e3 * late->deltaLayerSeconds, "ms",
        1e3 * atStart.deltaLayerSeconds, 0.95, true});
    const double positions = kLongPosition - kShortPosition;
    const double slope = (late->latentLayerSeconds - atStart.latentLayerSeconds) / positions; // seconds a position
    const double rowBytes = 4.0 * engine.engine().container().files().config.latentRowWidth();
    table.add({"Kimi-Linear, latent-attention layer, per 1000 positions", 1e6 * slope * 1000, "us",
        1e6 * 1000 * rowBytes / (memory.allThreads * 1e9), 0, true});
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
