#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>

namespace waste {

// How long something took, in buckets an eighth of an octave wide: a percentile is right within 9 %. Any
// thread may add and read; the counts are relaxed and order nothing.
class LatencyHistogram {
public:
    struct Summary {
        std::chrono::microseconds median{};
        std::chrono::microseconds p95{};
        std::chrono::microseconds longest{};
    };

    void add(std::chrono::nanoseconds duration)
    {
        const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count() / 1000));
        m_counts[bucketOf(us)].fetch_add(1, std::memory_order_relaxed);
        std::uint64_t longest = m_longestUs.load(std::memory_order_relaxed);
        while (us > longest && !m_longestUs.compare_exchange_weak(longest, us, std::memory_order_relaxed)) { }
    }

    [[nodiscard]] Summary summary() const
    {
        std::array<std::uint64_t, kBucketCount> counts;
        std::uint64_t total = 0;
        for (std::size_t bucket = 0; bucket < kBucketCount; ++bucket)
            total += counts[bucket] = m_counts[bucket].load(std::memory_order_relaxed);
        const std::uint64_t longest = m_longestUs.load(std::memory_order_relaxed);
        const auto quantile = [&](std::uint64_t percent) {
            // The smallest bucket below whose end that share of all durations lies.
            const std::uint64_t wanted = (total * percent + 99) / 100;
            std::uint64_t below = 0;
            for (std::size_t bucket = 0; bucket < kBucketCount && total > 0; ++bucket) {
                below += counts[bucket];
                if (below >= wanted)
                    return std::chrono::microseconds(std::min(endOf(bucket), longest));
            }
            return std::chrono::microseconds(0);
        };
        return {quantile(50), quantile(95), std::chrono::microseconds(longest)};
    }

private:
    // Durations below 8 us have buckets of their own; then eight buckets to each doubling, up to 2^32 us.
    static constexpr std::size_t kPerOctave = 8;
    static constexpr std::size_t kBucketCount = (32 - 2) * kPerOctave;

    static constexpr std::size_t bucketOf(std::uint64_t us)
    {
        us = std::min(us, (std::uint64_t{1} << 32) - 1);
        if (us < kPerOctave)
            return static_cast<std::size_t>(us);
        const auto octave = static_cast<std::size_t>(std::bit_width(us)) - 4; // 8..15 is octave 0
        return (octave + 1) * kPerOctave + static_cast<std::size_t>((us >> octave) & (kPerOctave - 1));
    }
    static constexpr std::uint64_t endOf(std::size_t bucket) // the last microsecond that falls into it
    {
        if (bucket < kPerOctave)
            return bucket;
        const std::size_t octave = bucket / kPerOctave - 1;
        return ((kPerOctave + bucket % kPerOctave + 1) << octave) - 1;
    }

    std::array<std::atomic<std::uint64_t>, kBucketCount> m_counts = {};
    std::atomic<std::uint64_t> m_longestUs = 0;
};

} // namespace waste
