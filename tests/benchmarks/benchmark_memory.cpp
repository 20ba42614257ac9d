#include "benchmark.h"

#include <cstdint>
#include <thread>

namespace waste::benchmark {
namespace {

constexpr std::size_t kWords = std::size_t{256} << 17; // 256 MiB, larger than any last-level cache here

// Eight independent sums, so that the adds never wait for each other.
std::uint64_t readAll(const std::uint64_t* words, std::size_t count)
{
    std::uint64_t sums[8] = {};
    for (std::size_t i = 0; i + 8 <= count; i += 8) {
        for (std::size_t k = 0; k < 8; ++k)
            sums[k] += words[i + k];
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t part : sums)
        sum += part;
    return sum;
}

} // namespace

MemoryBandwidth measureMemory(Table& table)
{
    std::vector<std::uint64_t> words(kWords);
    for (std::size_t i = 0; i < words.size(); ++i)
        words[i] = i;
    volatile std::uint64_t sink = 0;
    const double gigabytes = static_cast<double>(kWords) * sizeof(std::uint64_t) / 1e9;

    MemoryBandwidth bandwidth;
    bandwidth.oneThread = gigabytes / medianSeconds(5, [&] { sink = sink + readAll(words.data(), kWords); });

    const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
    bandwidth.allThreads = gigabytes / medianSeconds(5, [&] {
        std::vector<std::thread> readers;
        std::vector<std::uint64_t> sums(threads);
        for (std::size_t t = 0; t < threads; ++t) {
            readers.emplace_back([&, t] {
                const std::size_t part = kWords / threads;
                sums[t] = readAll(words.data() + t * part, part);
            });
        }
        for (std::thread& reader : readers)
            reader.join();
        sink = sink + sums[0];
    });
    table.add({"memory read, one thread", bandwidth.oneThread, "GB/s"});
    table.add({"memory read, all threads", bandwidth.allThreads, "GB/s"});
    return bandwidth;
}

} // namespace waste::benchmark
