#pragma once

#include "experts/cache_statistics.h"
#include "experts/expert_source.h"
#include "experts/guess_width.h"
#include "experts/read_queue.h"
#include "experts/record_store.h"
#include "experts/slot_table.h"
#include "experts/usage_list.h"
#include "memory/arena.h"
#include "waste/engine.h"
#include "waste/result.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

namespace waste {

// Fixed number of equally sized slots over expert records on disk.
//
// Announced records that are resident are handed out first; the others get slots, as many at a time as the
// window has room, are read in their order and handed out as they arrive. Accesses are charged and slots
// chosen when records are announced and when the window moves on, always by the consumer; readers only
// carry the reads out. So hits, misses and evictions do not depend on the readers' number or speed, as long
// as an announcement fits the window or its records are acquired in order. Guesses are the exception: a
// reader with nothing else to do gives them slots.
//
// One consumer thread announces, guesses, acquires and releases; statistics() and stopAwaiting() are for any thread.
// Only acquire(), acquireNext() and awaitNext() block; nothing is read under the lock, and nothing is allocated after
// create().
class ExpertCache final : public ExpertSource, private ReadQueue {
public:
    struct Options {
        // At 0 there is still one slot: a record has to be read somewhere. The consumer may hold as many
        // pins as there are slots.
        std::uint32_t slotCount = 0;
        std::uint32_t lendableSlotCount = 0; // of them, see lend()
        std::uint32_t expertsPerToken = 1;
        std::uint32_t readerCount = 2; // per drive, two saturate NVMe; 0: the consumer reads everything itself
        CachePolicy policy = CachePolicy::Age;
        std::optional<std::uint32_t> guesses = {}; // a layer; 0: none; empty: as many as pay (GuessWidth)
        bool asyncReads = true; // where the system has them; else and otherwise reader threads
    };
    static constexpr std::uint32_t kReadersMax = 8;
    // Announced records that hold slots ahead of the consumer. At most a quarter of the cache as well, so
    // that one layer never sweeps out what the next token needs, but one token's experts where half of the
    // cache holds them.
    static constexpr std::uint32_t kWindowMax = 64;

    // Errors: OutOfMemory.
    static Result<std::unique_ptr<ExpertCache>> create(
        std::unique_ptr<const RecordStore> store, const Options& options);
    // Waits for reads under way. All pins have been released.
    ~ExpertCache() override;
    ExpertCache(const ExpertCache&) = delete;
    ExpertCache& operator=(const ExpertCache&) = delete;

    void announce(std::uint16_t layer, std::span<const std::uint16_t> experts) override;
    Result<Arrival> acquireNext() override;
    Result<std::optional<Arrival>> tryAcquireNext() override;
    bool awaitNext() override;
    void stopAwaiting() override;
    [[nodiscard]] std::uint32_t guessesWanted() override;
    [[nodiscard]] std::uint32_t chunkGuessesWanted() override;
    void prefetch(std::uint16_t layer, std::span<const std::uint16_t> experts, GuessFor guessFor) override;

    // A failed read leaves nothing behind: the next call for the same expert reads again. A failed
    // read-ahead is no error, the demand for the record reads once more. Errors: those of the store, Internal
    // when every slot is pinned.
    Result<Pin> acquire(ExpertKey key) override;

    // Gives the memory of the lendable slots to somebody else, with what was in them, and takes it back. On the
    // consumer's thread while nothing is pinned; waits for reads under way. What was announced or guessed and not
    // begun is forgotten.
    void lend();
    void takeBack();

    // What earlier runs used: its counts, halved, so that an old list does not rule for long, and its records,
    // most used first, read in the background while nothing else is and slots are free. Before the first access.
    void recall(const UsageList& list);
    // For the next run: what is in memory first, then the rest of what was used. Allocates.
    [[nodiscard]] UsageList usage() const;

    // Until no read is under way and none is left that a reader would begin.
    void waitUntilIdle();

    [[nodiscard]] const RecordStore& store() const { return *m_store; }
    [[nodiscard]] std::string_view readerName() const { return m_reader->name(); }
    [[nodiscard]] CacheStatistics statistics() const;

    // What the cache takes besides its slots, for the memory plan.
    static std::uint64_t bookkeepingBytes(const RecordStore::Grid& grid, std::uint32_t slotCount);

private:
    using Clock = std::chrono::steady_clock;
    using Lock = std::unique_lock<std::mutex>;
    using State = SlotTable::State;
    using Claim = SlotTable::Claim;
    static constexpr std::uint32_t kNone = SlotTable::kNone;

    ExpertCache(std::unique_ptr<const RecordStore> store, const Options& options, Arena slab);

    [[nodiscard]] std::span<std::byte> bytesOf(std::uint32_t slot);
    void release(std::uint32_t slot) override;
    void wakeReaders();

    void startReaders(const Options& options);
    std::optional<Job> beginRead(const Room& room) override;
    void endRead(const Job& job, Status status) override;

    // All of these hold m_mutex; those that take the lock give it up while they read or wait.
    [[nodiscard]] bool isLeft(std::uint32_t record) const;
    [[nodiscard]] bool hasArrived();
    [[nodiscard]] std::uint32_t nextArrived();
    [[nodiscard]] bool isAnyOnItsWay() const;
    [[nodiscard]] bool takesGuesses() const;
    void judgeGuess(std::uint32_t slot, bool isRight);
    [[nodiscard]] std::uint32_t firstLeft() const;
    Pin handOut(std::uint32_t record);
    Status makeResident(std::uint32_t record, Lock& lock);
    Status readHere(std::uint32_t slot, Lock& lock);
    Job startLoading(std::uint32_t slot);
    void finishLoading(std::uint32_t slot, const Status& status);
    void waitForReads(Lock& lock);
    void countWait(Clock::time_point started);
    void moveWindow();
    void forgetAnnouncement();
    void settleGuesses();
    void dropGuessesNotBegun();
    std::uint32_t nextQueued();
    std::uint32_t nextGuess(const Room& room);
    std::uint32_t nextRecalled(const Room& room);
    [[nodiscard]] Wanted wantedOf(std::uint32_t record, const Room& room) const;
    std::uint32_t takeSlot(std::uint32_t record, SlotTable::Purpose purpose);
    void vacate(std::uint32_t slot);
    void countSlots();

    const std::unique_ptr<const RecordStore> m_store;
    const RecordStore::Grid m_grid;
    const std::uint32_t m_window;
    const std::uint32_t m_chunkGuesses;
    const std::uint32_t m_lendableCount;
    Arena m_slab;
    const std::span<std::byte> m_bytes; // [slot count][slot stride]
    CacheCounters m_counters;
    std::atomic<bool> m_workAdded = false; // for wakeReaders() only, orders nothing

    mutable std::mutex m_mutex; // guards everything below but the reader
    std::condition_variable m_loaded; // for the consumer: a read ended
    SlotTable m_slots;
    std::vector<std::uint32_t> m_announced; // records, in the order of the announcement
    std::uint32_t m_layerBegin = 0; // first record of the announced layer
    std::vector<std::uint8_t> m_left; // [experts] of the announced layer: announced and not handed out
    std::size_t m_leftCount = 0;
    std::vector<std::uint32_t> m_missing; // those announced that had no slot
    std::size_t m_windowEnd = 0; // missing records before this have been given slots
    std::size_t m_readEnd = 0; // those before this need no reader any more
    std::vector<std::uint32_t> m_arrived; // announced records in memory, in order of arrival
    std::size_t m_arrivedEnd = 0; // those before this have been handed out
    bool m_isCalledBack = false; // by stopAwaiting()
    std::vector<std::uint32_t>
        m_guesses; // distinct records of one layer: begun ones, then the rest of the last guess, best first
    bool m_areGuessesOfChunk = false;
    std::size_t m_guessEnd = 0; // those before this have been looked at
    std::vector<std::uint32_t> m_recalled; // records of earlier runs, most used first
    std::size_t m_recalledEnd = 0; // those before this have been looked at
    std::vector<Clock::time_point> m_loadingSince; // [slots]
    std::uint32_t m_loadingCount = 0;
    Clock::time_point m_busySince; // while reads are under way: their time is counted up to here
    GuessWidth m_guessWidth;

    bool m_hasReaders = false; // set once, by create()
    std::unique_ptr<RecordReader> m_reader; // goes first
};

} // namespace waste
