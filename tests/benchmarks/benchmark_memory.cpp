#include "benchmark.h"

#include "platform/pages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

namespace waste::benchmark {
namespace {

constexpr std::size_t kBytes = std::size_t{512} << 20; // larger than any last-level cache here
// Read at a time and measured for itself, as others on the machine seldom pause for longer than this takes.
constexpr std::size_t kPieceBytes = std::size_t{64} << 20;
constexpr int kRounds = 24;

// As fast as the processor can: a loop of single words is slower than one core's memory.
#if defined(__x86_64__) && defined(__linux__)
[[gnu::target_clones("avx2", "default")]]
#endif
std::uint64_t
readAll(std::span<const std::uint64_t> words)
{
    using Lanes [[gnu::vector_size(32)]] = std::uint64_t;
    constexpr std::size_t kSums = 8; // independent, so that the adds never wait for each other
    constexpr std::size_t kLanes = sizeof(Lanes) / sizeof(std::uint64_t);
    Lanes sums[kSums] = {};
    for (std::size_t i = 0; i + kSums * kLanes <= words.size(); i += kSums * kLanes) {
        for (std::size_t k = 0; k < kSums; ++k) {
            Lanes lanes;
            std::memcpy(&lanes, words.data() + i + k * kLanes, sizeof lanes);
            sums[k] += lanes;
        }
    }
    std::uint64_t sum = 0;
    for (const Lanes& lanes : sums) {
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            sum += lanes[lane];
    }
    return sum;
}

// GB/s of the best of all pieces in all rounds, each read by read(piece).
template<typename Read>
double bestRate(std::span<const std::uint64_t> words, std::size_t pieceBytes, const Read& read)
{
    const std::size_t piece = pieceBytes / sizeof(std::uint64_t);
    double best = 0;
    for (std::size_t first = 0; first + piece <= words.size(); first += piece) {
        const double seconds = bestSeconds(kRounds, [&] { read(words.subspan(first, piece)); });
        best = std::max(best, static_cast<double>(pieceBytes) / 1e9 / seconds);
    }
    return best;
}

// In huge pages, as the engine keeps its weights where the system gives them.
class Buffer {
public:
    static Result<Buffer> make()
    {
        Buffer buffer;
        WASTE_TRY(buffer.m_pages, Pages::allocate(kBytes, "the memory benchmark"));
        const std::span<std::byte> bytes = buffer.m_pages.bytes();
        buffer.m_words = {reinterpret_cast<std::uint64_t*>(bytes.data()), kBytes / sizeof(std::uint64_t)};
        std::iota(buffer.m_words.begin(), buffer.m_words.end(), std::uint64_t{0});
        return buffer;
    }
    [[nodiscard]] std::span<const std::uint64_t> words() const { return m_words; }

private:
    Pages m_pages;
    std::span<std::uint64_t> m_words;
};

double readWithAllThreads(std::span<const std::uint64_t> words)
{
    const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::uint64_t> sums(threads); // else nothing would be read
    const double rate = bestRate(words, kBytes, [&](std::span<const std::uint64_t> piece) {
        std::vector<std::thread> readers;
        for (std::size_t t = 0; t < threads; ++t) {
            readers.emplace_back([&, t] {
                const std::size_t part = piece.size() / threads;
                sums[t] = readAll(piece.subspan(t * part, part));
            });
        }
        for (std::thread& reader : readers)
            reader.join();
    });
    return sums[0] != 0 ? rate : 0;
}

} // namespace

MemoryBandwidth measureMemory(Table& table)
{
    MemoryBandwidth bandwidth;
    const auto buffer = Buffer::make();
    if (!buffer) {
        table.note(buffer.error().message);
        return bandwidth;
    }
    volatile std::uint64_t sink = 0;
    bandwidth.oneThread = bestRate(
        buffer->words(), kPieceBytes, [&](std::span<const std::uint64_t> piece) { sink = sink + readAll(piece); });
    bandwidth.allThreads = readWithAllThreads(buffer->words());
    table.add({"memory read, one thread", bandwidth.oneThread, "GB/s"});
    table.add({"memory read, all threads", bandwidth.allThreads, "GB/s"});
    return bandwidth;
}

double memoryRateOfAllThreads()
{
    const auto buffer = Buffer::make();
    return buffer ? readWithAllThreads(buffer->words()) : 0;
}

} // namespace waste::benchmark
