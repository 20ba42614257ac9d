// The vision tower in the shape of Kimi K3 with random weights, on a picture of 1,024 patches, beside the
// multiply-adds that the machine's cores can do.

#include "benchmark.h"

#include "base/half.h"
#include "kernels/kernels.h"
#include "kernels/thread_pool.h"
#include "multiply_add_peak.h"
#include "platform/pages.h"
#include "platform/threads.h"
#include "vision/vision_tower.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace waste::benchmark {
namespace {

constexpr std::uint32_t kTextHiddenSize = 7168;
constexpr std::uint32_t kGroup = 128;
constexpr ImagePlan kPicture{448, 448, 32, 32};
constexpr double kGoal = 0.6; // of the multiply-adds in registers
constexpr int kRounds = 1; // several seconds each

// Weights of 8 bits, as a container stores them, and norms of ones.
class RandomTower {
public:
    static Result<RandomTower> make(const VisionConfig& config, const kernels::KernelTable& kernels)
    {
        RandomTower tower;
        std::uint64_t bytes = 0;
        std::uint64_t groups = 0;
        for (const VisionTensor& tensor : visionTensors(config)) {
            bytes += tensor.f32Only ? 0 : tensor.rows * rowBytes(tensor);
            groups += tensor.f32Only ? 0 : tensor.rows * (rowBytes(tensor) / kGroup);
        }
        WASTE_TRY(tower.m_payload, Pages::allocate(bytes, "a vision tower"));
        std::mt19937_64 random(1);
        const std::span<std::byte> payload = tower.m_payload.bytes();
        for (std::size_t i = 0; i + 8 <= payload.size(); i += 8) {
            const std::uint64_t word = random();
            std::memcpy(payload.data() + i, &word, 8);
        }
        tower.m_scales.assign(groups, halfFromFloat(0.0004F));
        tower.m_norm.assign(kTextHiddenSize, 1);
        std::uint64_t byte = 0;
        std::uint64_t group = 0;
        std::unordered_map<std::string, kernels::MatrixView> views;
        for (const VisionTensor& tensor : visionTensors(config)) {
            kernels::MatrixView& view = views[tensor.name];
            view.rows = static_cast<std::uint32_t>(tensor.rows);
            view.columns = tensor.columns;
            if (tensor.f32Only) {
                view.rowBytes = tensor.columns * sizeof(float);
                view.payload = reinterpret_cast<const std::byte*>(tower.m_norm.data());
                continue;
            }
            view.format = kernels::WeightFormat::Q8G;
            view.group = kGroup;
            view.rowBytes = rowBytes(tensor);
            view.payload = payload.data() + byte;
            view.scales = tower.m_scales.data() + group;
            byte += tensor.rows * view.rowBytes;
            group += tensor.rows * (view.rowBytes / kGroup);
        }
        const auto find = [&views](std::string_view name) { return std::optional(views.at(std::string(name))); };
        WASTE_TRY(tower.m_weights, bindVisionWeights(config, find, kernels));
        return tower;
    }
    [[nodiscard]] const VisionWeights& weights() const { return m_weights; }

private:
    static std::uint64_t rowBytes(const VisionTensor& tensor)
    {
        return (tensor.columns + kGroup - 1) / kGroup * kGroup;
    }

    Pages m_payload;
    std::vector<std::uint16_t> m_scales; // keep their addresses when moved
    std::vector<float> m_norm;
    VisionWeights m_weights;
};

Status measure(Table& table, const kernels::KernelTable& kernels, const std::vector<std::uint32_t>& threadCounts)
{
    VisionConfig config;
    config.textHiddenSize = kTextHiddenSize;
    WASTE_TRY(const RandomTower weights, RandomTower::make(config, kernels));
    std::mt19937 random(2);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> patches(std::size_t{kPicture.patchCount()} * VisionConfig::kPatchFloats);
    for (float& value : patches)
        value = uniform(random);
    for (const std::uint32_t threads : threadCounts) {
        ThreadPool pool({.threadCount = threads});
        const VisionTower tower({config, weights.weights(), kernels, pool});
        const std::string cores = threads == 1 ? "one core" : "all cores";
        const double peak = multiplyAddPeak(kernels, pool);
        Status status;
        int calls = 0;
        double elapsed = 0;
        const double cpuSeconds = processorSeconds([&] {
            elapsed = bestSeconds(kRounds, [&] {
                ++calls;
                if (const auto rows = tower.encode(patches, kPicture); !rows)
                    status = rows.error();
            });
        });
        const double seconds = cpuSeconds / calls / threads;
        WASTE_TRY_STATUS(std::move(status));
        const double peakAfter = multiplyAddPeak(kernels, pool);
        const double limit = std::max(peak, peakAfter); // the machine may have been quieter before or afterwards
        table.add({"multiply-adds in registers, " + cores, limit, "GMAC/s"});
        table.add({"vision tower of K3, 1,024 patches, " + cores,
            static_cast<double>(VisionTower::multiplyAdds(config, kPicture.patchCount())) / seconds / 1e9, "GMAC/s",
            limit, kGoal});
        table.add({"vision tower of K3, a picture of 1,024 patches, " + cores + ", processor time", seconds, "s"});
        table.add({"vision tower of K3, a picture of 1,024 patches, " + cores + ", by the clock", elapsed, "s"});
    }
    return {};
}

} // namespace

void measureVision(Table& table)
{
    const auto selected = kernels::selectKernels();
    if (!selected) {
        table.note(selected.error().message);
        return;
    }
    std::vector<std::uint32_t> threadCounts = {1};
    if (physicalCoreCount() > 1)
        threadCounts.push_back(physicalCoreCount());
    if (const Status status = measure(table, **selected, threadCounts); !status)
        table.note(status.error().message);
}

} // namespace waste::benchmark
