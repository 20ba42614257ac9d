#include "benchmark.h"

#include "platform/pages.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

namespace waste::benchmark {
namespace {

constexpr std::size_t kBytes = std::size_t{512} << 20; // larger than any last-level cache here
constexpr int kRounds = 24; // a second each: others on the machine pause that long

// Eight independent sums, so that the adds never wait for each other.
std::uint64_t readAll(std::span<const std::uint64_t> words)
{
    std::uint64_t sums[8] = {};
    for (std::size_t i = 0; i + 8 <= words.size(); i += 8) {
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
    MemoryBandwidth bandwidth;
    // In huge pages, as the engine keeps its weights where the system gives them.
    const auto pages = Pages::allocate(kBytes, "the memory benchmark");
    if (!pages) {
        table.note(pages.error().message);
        return bandwidth;
    }
    const std::span words(reinterpret_cast<std::uint64_t*>(pages->bytes().data()), kBytes / sizeof(std::uint64_t));
    for (std::size_t i = 0; i < words.size(); ++i)
        words[i] = i;
    volatile std::uint64_t sink = 0;
    const double gigabytes = static_cast<double>(kBytes) / 1e9;
    bandwidth.oneThread = gigabytes / bestSeconds(kRounds, [&] { sink = sink + readAll(words); });

    const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
    bandwidth.allThreads = gigabytes / bestSeconds(kRounds, [&] {
        std::vector<std::thread> readers;
        std::vector<std::uint64_t> sums(threads);
        for (std::size_t t = 0; t < threads; ++t) {
            readers.emplace_back([&, t] {
                const std::size_t part = words.size() / threads;
                sums[t] = readAll(words.subspan(t * part, part));
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
