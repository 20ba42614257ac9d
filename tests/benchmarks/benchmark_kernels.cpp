#include "benchmark.h"

#include "base/half.h"
#include "kernels/kernels.h"

#include <cstdio>
#include <random>

namespace waste::benchmark {
namespace {

using kernels::KernelTable;
using kernels::VqMatrixView;

std::vector<float> randomVector(std::size_t count)
{
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> values(count);
    for (float& value : values)
        value = uniform(random);
    return values;
}

std::vector<std::byte> randomBytes(std::size_t count)
{
    std::mt19937_64 random(2);
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random());
    return bytes;
}

// The gate matrix of a K3 expert.
void measureExpert(
    Table& table, const KernelTable& kernels, std::uint8_t indexBits, const char* name, double limit, double goal)
{
    constexpr std::uint32_t kRows = 3072;
    constexpr std::uint32_t kColumns = 3584;
    constexpr std::size_t kExperts = 32; // 132 MB of indices, so that none is cached
    const std::uint8_t stages = indexBits == 8 ? 3 : 4;
    const std::size_t indexBytes = std::size_t{kRows} * (kColumns / 8) * 3;
    const auto indices = randomBytes(indexBytes * kExperts);
    const std::vector<std::uint16_t> scales(kRows, halfFromFloat(0.5F));
    const auto codebooks = randomVector(std::size_t{stages} * 256 * 8);
    const auto x = randomVector(kColumns);
    std::vector<float> y(kRows);
    std::size_t expert = 0;
    const double seconds = bestSeconds(static_cast<int>(kExperts), [&] {
        VqMatrixView view{kRows, kColumns, 8, stages, indexBits, 64};
        view.indices = reinterpret_cast<const std::uint8_t*>(indices.data()) + expert * indexBytes;
        view.scales = scales.data();
        view.codebooks = codebooks.data();
        kernels.multiplyVqRows(view, {x.data(), 0, 1, y.data(), 0}, 0, kRows);
        expert = (expert + 1) % kExperts;
    });
    table.add({std::string("expert ") + name + " 3072x3584, one vector",
        static_cast<double>(indexBytes) / seconds / 1e9, "GB/s", limit, goal});
}

} // namespace

void measureKernels(Table& table, const MemoryBandwidth& memory)
{
    const auto selected = kernels::selectKernels();
    if (!selected) {
        std::fprintf(stderr, "%s\n", selected.error().message.c_str());
        return;
    }
    const KernelTable& kernels = **selected;
    measureExpert(table, kernels, 8, "VQ3R", memory.oneThread, 0.3);
    measureExpert(table, kernels, 6, "VQ4P", memory.oneThread, 0.15);
}

} // namespace waste::benchmark
