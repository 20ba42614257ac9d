#include "multiply_add_peak.h"

#include "multiply_add_loop.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace waste::benchmark {

double multiplyAddPeak(const kernels::KernelTable& kernels, ThreadPool& pool)
{
    constexpr std::uint64_t kRoundsEach = 4'000'000;
    constexpr int kTries = 5;
    const bool isWide = std::string_view(kernels.name).starts_with("avx512");
    const auto work = isWide ? multiplyAdd512 : multiplyAdd256;
    const std::uint64_t lanes = isWide ? 16 : 8;
    std::vector<float> sinks(pool.threadCount() * std::size_t{16});
    const auto once = [&] {
        pool.parallelFor(pool.threadCount(), 1, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
            for (std::uint32_t i = begin; i < end; ++i)
                work(kRoundsEach, sinks[i * std::size_t{16}]);
        });
    };
    double seconds = processorSeconds(once); // of all threads together
    for (int i = 1; i < kTries; ++i)
        seconds = std::min(seconds, processorSeconds(once));
    const double secondsEach = seconds / pool.threadCount();
    return static_cast<double>(kRoundsEach * kMultiplyAddChains * lanes) * pool.threadCount() / secondsEach / 1e9;
}

} // namespace waste::benchmark
