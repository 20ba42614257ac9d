#pragma once

#include "waste/engine.h"

#include <cstdint>

namespace waste {

// What is remembered of the use of one record.
struct RecordHistory {
    std::uint64_t lastUse = 0; // clock of its last access
    std::uint32_t uses = 0; // accesses; Lfru: since it was last read
};

struct EvictionCandidate {
    RecordHistory history;
    std::uint32_t layersAway = 0; // until its layer is visited again, 1 to layerCount
};

// Which record leaves the cache.
//
// Age keeps the largest uses / (age + halfAge) / (layersAway + layerCount / 4), where age is the number of
// accesses since its own last and halfAge one token's accesses; uses are remembered after eviction. Layers are
// visited in turn, so nothing of the layer just left is needed before all others have been: over the recorded
// routes that factor is worth 2.4, 1.5, 0.4 and 0 points of hits at 1, 2, 4 and 8 tokens' slots, and 64 samples
// in place of 16 another 1.3, 0.8, 0.4 and 0.4 (spec: streaming 3.4 has the figures without them). Lfru is uses
// since read, then recency; Lru is recency.
struct EvictionRule {
    CachePolicy policy = CachePolicy::Age;
    std::uint64_t halfAge = 0;
    std::uint32_t layerCount = 0;

    // Slots drawn and compared. Lfru and Lru keep the number that their published figures belong to.
    [[nodiscard]] constexpr std::uint32_t sampleCount() const { return policy == CachePolicy::Age ? 64 : 16; }

    // Whether `a` goes rather than `b`.
    [[nodiscard]] constexpr bool leavesBefore(
        const EvictionCandidate& a, const EvictionCandidate& b, std::uint64_t clock) const
    {
        if (policy == CachePolicy::Age)
            return static_cast<double>(a.history.uses) * distance(b, clock)
                < static_cast<double>(b.history.uses) * distance(a, clock);
        if (policy == CachePolicy::Lfru && a.history.uses != b.history.uses)
            return a.history.uses < b.history.uses;
        return a.history.lastUse < b.history.lastUse;
    }

private:
    [[nodiscard]] constexpr double distance(const EvictionCandidate& candidate, std::uint64_t clock) const
    {
        return static_cast<double>(clock - candidate.history.lastUse + halfAge)
            * static_cast<double>(std::uint64_t{4} * candidate.layersAway + layerCount);
    }
};

// Draws the slots that are compared. A fixed sequence, so that a run can be repeated.
class SlotSampler {
public:
    std::uint32_t next(std::uint32_t slotCount)
    {
        m_state = m_state * 1664525U + 1013904223U;
        return m_state % slotCount;
    }

private:
    std::uint32_t m_state = 0x9e3779b9U;
};

} // namespace waste
