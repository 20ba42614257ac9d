#pragma once

#include "experts/latency_histogram.h"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace waste {

// hits + misses = accesses. A record whose read was announced counts as a miss at its first access, one that
// was guessed and is in memory or on its way when it is announced as a hit.
struct CacheStatistics {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t readsIssued = 0;
    std::uint64_t readsFailed = 0;
    std::uint64_t bytesRead = 0;
    std::uint64_t evictions = 0;
    std::uint64_t guessesIssued = 0; // reads begun for a guess
    std::uint64_t guessesUseful = 0; // those that the next announcement named
    std::uint64_t guessesWasted = 0; // those that it did not
    std::uint32_t slotsUsed = 0;
    std::uint32_t slotCount = 0;
    std::chrono::nanoseconds readWait = {}; // the consumer was blocked by reads
    std::chrono::nanoseconds diskBusy = {}; // at least one read was under way; up to the last that ended
    LatencyHistogram::Summary latency; // of whole records
};

// The same while it is being counted. Written under the cache's lock, read without it: each number is
// right, and together they may be a few accesses apart.
struct CacheCounters {
    using Count = std::atomic<std::uint64_t>;
    Count hits = 0;
    Count misses = 0;
    Count readsIssued = 0;
    Count readsFailed = 0;
    Count bytesRead = 0;
    Count evictions = 0;
    Count guessesIssued = 0;
    Count guessesUseful = 0;
    Count guessesWasted = 0;
    Count slotsUsed = 0;
    Count slotCount = 0;
    Count readWaitNs = 0;
    Count diskBusyNs = 0;
    LatencyHistogram latency;

    static void add(Count& count, std::uint64_t amount) { count.fetch_add(amount, std::memory_order_relaxed); }
    static std::uint64_t get(const Count& count) { return count.load(std::memory_order_relaxed); }
};

} // namespace waste
