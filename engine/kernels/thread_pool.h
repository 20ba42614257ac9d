#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace waste {

// Long-lived workers for fork-join loops over rows, heads or tokens.
//
// A loop over `count` items is cut into pieces of `grain` items; caller and workers draw pieces by one
// atomic ticket. Where the pieces are cut depends on count and grain alone, and who computes a piece
// never changes its values, so results do not depend on the number of threads. With one thread, or one
// piece, parallelFor is a plain loop.
//
// A join waits for the pieces that were drawn, not for workers that are still asleep. Idle workers spin
// for some microseconds, because a layer is a chain of short loops, and then sleep.
//
// One thread at a time may call parallelFor, and not from inside a loop body.
class ThreadPool {
public:
    struct Options {
        std::uint32_t threadCount = 1; // the calling thread included; fewer where the system has no more
        std::vector<std::uint32_t> cpus = {}; // workers are pinned to these in turn; empty: anywhere
    };

    explicit ThreadPool(const Options& options);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] std::uint32_t threadCount() const { return static_cast<std::uint32_t>(m_workers.size()) + 1; }

    // Calls body(begin, end, worker) for pieces of [0, count), with 0 ≤ worker < threadCount(); two pieces
    // that run at the same time have different workers (the index of their scratch memory). The body
    // must not throw.
    template<typename Body>
    void parallelFor(std::uint32_t count, std::uint32_t grain, Body&& body)
    {
        using Plain = std::remove_reference_t<Body>;
        const Loop loop = [](void* context, std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
            (*static_cast<Plain*>(context))(begin, end, worker);
        };
        run(count, grain, loop, const_cast<void*>(static_cast<const void*>(&body)));
    }

private:
    using Loop = void (*)(void* context, std::uint32_t begin, std::uint32_t end, std::uint32_t worker);

    void run(std::uint32_t count, std::uint32_t grain, Loop loop, void* context);
    void work(std::uint32_t worker);
    void drawPieces(std::uint32_t worker);
    void sleepUntilChanged(std::uint64_t seenTicket);

    std::vector<std::thread> m_workers;

    // The ticket: number of the loop in the high half, next piece to draw in the low half, kClosed while
    // no loop runs. A piece belongs to whoever moves the ticket from its number to the next; that
    // succeeds only while the loop of the same number is open, so the fields below it were valid.
    alignas(64) std::atomic<std::uint64_t> m_ticket;
    // Written while the ticket is closed, read by workers before they draw; atomic because a late worker
    // may read them while the next loop is being written (its draw then fails).
    std::atomic<Loop> m_loop = nullptr;
    std::atomic<void*> m_context = nullptr;
    std::atomic<std::uint32_t> m_count = 0;
    std::atomic<std::uint32_t> m_grain = 1;
    alignas(64) std::atomic<std::uint32_t> m_piecesDone = 0; // releases what the pieces wrote

    alignas(64) std::atomic<std::uint32_t> m_sleepers = 0;
    std::atomic<bool> m_stopping = false;
    std::mutex m_sleepMutex;
    std::condition_variable m_wake;
};

} // namespace waste
