#pragma once

#include "experts/cache_statistics.h"
#include "experts/eviction.h"
#include "experts/expert_source.h"
#include "experts/record_store.h"
#include "memory/arena.h"
#include "waste/engine.h"
#include "waste/result.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace waste {

// Fixed number of equally sized slots over expert records on disk.
//
// Every slot is in exactly one state: free, queued (chosen for an announced record, its read not begun),
// loading (one thread writes it) or resident. Only resident slots are pinned, and slots that are pinned or
// loading are never evicted. A wanted slot (announced and not acquired yet) goes only to an access that
// finds no other.
//
// Slots for announced records are chosen when they are announced and when the window moves on, always by
// the consumer; reader threads only carry the reads out, and the consumer reads itself what it needs and no
// reader has begun. So while announced records are acquired, hits, misses and evictions do not depend on
// the readers' number or speed.
//
// One consumer thread announces, acquires and releases; statistics() is for any thread. Only acquire()
// blocks; nothing is read under the lock, and nothing is allocated after create().
class ExpertCache final : public ExpertSource {
public:
    struct Options {
        // At 0 there is still one slot: a record has to be read somewhere. The consumer may hold as many
        // pins as there are slots.
        std::uint32_t slotCount = 0;
        std::uint32_t expertsPerToken = 1;
        std::uint32_t readerCount = 2; // two saturate an NVMe drive; 0: the consumer reads everything itself
        CachePolicy policy = CachePolicy::Age;
    };
    static constexpr std::uint32_t kReadersMax = 8;
    // Announced records that hold slots ahead of the consumer; at most a quarter of the cache as well, so
    // that one layer never sweeps out what the next token needs.
    static constexpr std::uint32_t kWindowMax = 64;

    // Errors: OutOfMemory.
    static Result<std::unique_ptr<ExpertCache>> create(
        std::unique_ptr<const RecordStore> store, const Options& options);
    // Waits for reads under way. All pins have been released.
    ~ExpertCache() override;
    ExpertCache(const ExpertCache&) = delete;
    ExpertCache& operator=(const ExpertCache&) = delete;

    // Records are read in this order; acquiring them in it keeps the disk busiest.
    void announce(std::uint16_t layer, std::span<const std::uint16_t> experts) override;

    // A failed read leaves nothing behind: the next call for the same expert reads again. A failed
    // read-ahead is no error, the demand for the record reads once more. Errors: those of the store, Internal
    // when every slot is pinned.
    Result<Pin> acquire(ExpertKey key) override;

    Result<Arrival> acquireNext() override;
    Result<std::optional<Arrival>> tryAcquireNext() override;
    void prefetch(std::uint16_t layer, std::span<const std::uint16_t> experts) override;

    [[nodiscard]] const RecordStore& store() const { return *m_store; }
    [[nodiscard]] CacheStatistics statistics() const;

    // What the cache takes besides its slots, for the memory plan.
    static std::uint64_t bookkeepingBytes(const RecordStore::Grid& grid, std::uint32_t slotCount);

private:
    using Clock = std::chrono::steady_clock;
    using Lock = std::unique_lock<std::mutex>;
    static constexpr std::uint32_t kNone = UINT32_MAX;

    enum class SlotState : std::uint8_t { Free, Queued, Loading, Resident };
    struct Slot {
        std::uint32_t record = kNone;
        std::uint32_t pinCount = 0;
        SlotState state = SlotState::Free;
        bool wanted = false;
        bool counted = false; // its read has been counted as a miss
    };
    struct Record {
        RecordHistory history;
        std::uint32_t slot = kNone;
    };
    enum class Purpose : std::uint8_t { ReadAhead, Demand };

    ExpertCache(std::unique_ptr<const RecordStore> store, const Options& options, Arena slab);

    [[nodiscard]] std::uint32_t recordOf(ExpertKey key) const;
    [[nodiscard]] ExpertKey keyOf(std::uint32_t record) const;
    [[nodiscard]] std::span<std::byte> bytesOf(std::uint32_t slot);

    void release(std::uint32_t slot) override;
    void startReaders(std::uint32_t count);
    void readAhead(); // body of a reader thread

    // All of these hold m_mutex; those that take the lock give it up while they read or wait.
    Result<std::uint32_t> makeResident(std::uint32_t record, Lock& lock);
    Status load(std::uint32_t slot, Lock& lock);
    void moveWindow();
    void forgetAnnouncement();
    std::uint32_t takeQueued();
    std::uint32_t takeSlot(std::uint32_t record, Purpose purpose);
    [[nodiscard]] std::uint32_t findVictim(Purpose purpose);
    [[nodiscard]] bool isEvictable(std::uint32_t slot, Purpose purpose) const;
    [[nodiscard]] bool leavesBefore(std::uint32_t slot, std::uint32_t other) const;
    void setWanted(Slot& slot, bool wanted);
    void vacate(std::uint32_t slot);

    const std::unique_ptr<const RecordStore> m_store;
    const RecordStore::Grid m_grid;
    const CachePolicy m_policy;
    const std::uint64_t m_halfAge; // accesses of one token
    const std::uint32_t m_window;
    Arena m_slab;
    const std::span<std::byte> m_bytes; // [slot count][slot stride]
    CacheCounters m_counters;

    std::mutex m_mutex; // guards everything below but the threads
    std::condition_variable m_queued; // for readers: work, or the end
    std::condition_variable m_loaded; // for the consumer: a read ended
    std::vector<Slot> m_slots;
    std::vector<Record> m_records; // [layers][experts]
    std::vector<std::uint32_t> m_freeSlots;
    std::vector<std::uint32_t> m_announced; // records, in the order of the announcement
    std::size_t m_nextAnnounced = 0; // the consumer's place in them
    std::size_t m_windowEnd = 0; // announced records before this have been given slots or passed over
    std::size_t m_readEnd = 0; // those before this need no reader any more
    std::uint64_t m_announcedAt = 0; // clock of the announcement
    std::uint32_t m_wantedCount = 0;
    std::uint32_t m_loadingCount = 0;
    Clock::time_point m_busySince;
    std::uint64_t m_clock = 0; // accesses so far
    SlotSampler m_sampler;
    bool m_stopping = false;

    std::vector<std::thread> m_readers;
};

} // namespace waste
