#pragma once

#include "experts/eviction.h"
#include "experts/expert_source.h"
#include "experts/record_store.h"
#include "waste/engine.h"

#include <cstdint>
#include <vector>

namespace waste {

// The slots of the cache and what is remembered of every record: who is where, and who leaves next. Knows
// nothing of threads and disks; records are numbered layer by layer.
//
// Every slot is in exactly one state: free, queued (chosen for a record, its read not begun), loading (one
// thread writes it), resident, or lent (its memory serves somebody else). Only resident slots are pinned, and
// slots that are pinned or loading are never evicted. A claimed slot goes only to an access that finds no other.
class SlotTable {
public:
    static constexpr std::uint32_t kNone = UINT32_MAX;

    enum class State : std::uint8_t { Free, Queued, Loading, Resident, Lent };
    enum class Claim : std::uint8_t { None, Guess, Announced };
    struct Slot {
        std::uint32_t record = kNone;
        std::uint32_t pinCount = 0;
        State state = State::Free;
        Claim claim = Claim::None;
        bool inWindow = false; // announced, given this slot to be read into, not handed out yet
        bool counted = false; // its read has been counted: as a miss, or as a guess
        bool readByGuess = false;
    };
    enum class Purpose : std::uint8_t { ReadAhead, Demand }; // Demand may take a claimed slot

    SlotTable(const RecordStore::Grid& grid, std::uint32_t slotCount, CachePolicy policy, std::uint64_t halfAge);

    [[nodiscard]] std::uint32_t recordOf(ExpertKey key) const;
    [[nodiscard]] ExpertKey keyOf(std::uint32_t record) const;
    [[nodiscard]] std::uint32_t slotOf(std::uint32_t record) const { return m_records[record].slot; }
    [[nodiscard]] Slot& operator[](std::uint32_t slot) { return m_slots[slot]; }
    [[nodiscard]] const Slot& operator[](std::uint32_t slot) const { return m_slots[slot]; }
    [[nodiscard]] const std::vector<Slot>& all() const { return m_slots; }
    [[nodiscard]] std::uint32_t windowCount() const { return m_windowCount; }
    [[nodiscard]] bool isResident(std::uint32_t record) const;
    [[nodiscard]] std::uint32_t usedCount() const { return m_servingCount - static_cast<std::uint32_t>(m_free.size()); }
    // The first of all(); those behind them are lent, or will be once nobody reads into them.
    [[nodiscard]] std::uint32_t servingCount() const { return m_servingCount; }

    [[nodiscard]] bool hasFree() const { return !m_free.empty(); }
    [[nodiscard]] std::uint64_t clock() const { return m_clock; } // accesses so far
    [[nodiscard]] std::uint32_t recordCount() const { return static_cast<std::uint32_t>(m_records.size()); }

    // Counts one access to a record, wherever it is.
    void use(std::uint32_t record);
    [[nodiscard]] RecordHistory& history(std::uint32_t record) { return m_records[record].history; }
    [[nodiscard]] const RecordHistory& history(std::uint32_t record) const { return m_records[record].history; }

    struct Taken {
        std::uint32_t slot = kNone; // queued for the record; kNone: the purpose justifies no eviction that is left
        bool evicted = false; // another record had to go for it
    };
    // For a record without a slot. `usesSoFar` starts its count under Lfru, which forgets at eviction.
    Taken take(std::uint32_t record, Purpose purpose, std::uint32_t usesSoFar);
    void vacate(std::uint32_t slot);
    void setInWindow(std::uint32_t slot, bool inWindow);

    // Lends the last slots, or takes them back: `servingCount` of them remain, at least one. What is resident in a
    // lent one is forgotten. False: one of them is being read into and becomes lent at a later call. None is pinned,
    // queued or in the window.
    [[nodiscard]] bool serveWith(std::uint32_t servingCount);

    static std::uint64_t bookkeepingBytes(const RecordStore::Grid& grid, std::uint32_t slotCount);

private:
    struct Record {
        RecordHistory history;
        std::uint32_t slot = kNone;
    };

    [[nodiscard]] std::uint32_t findVictim(Purpose purpose);
    [[nodiscard]] bool isEvictable(std::uint32_t slot, Purpose purpose) const;
    [[nodiscard]] EvictionCandidate candidate(std::uint32_t slot) const;

    const RecordStore::Grid m_grid;
    const EvictionRule m_rule;
    std::vector<Slot> m_slots;
    std::vector<Record> m_records; // [layers][experts]
    std::vector<std::uint32_t> m_free; // serving ones
    std::uint32_t m_servingCount;
    std::uint32_t m_windowCount = 0;
    std::uint64_t m_clock = 0; // accesses so far
    std::uint32_t m_layer = 0; // of the last of them
    SlotSampler m_sampler;
};

} // namespace waste
