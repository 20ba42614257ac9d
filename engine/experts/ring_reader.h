#pragma once

#include "experts/read_queue.h"
#include "experts/record_store.h"
#include "platform/async_reads.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

namespace waste {

// One thread that keeps the queue of every drive filled and checks what arrives. It never waits inside a read, so
// that a few records are always under way and what is announced starts at once. Of a ring that the system refuses later
// this thread remains, and reads one record at a time for the rest of the engine's life: slower, and as right.
class RingReader final : public RecordReader {
public:
    // Null where the system forbids asynchronous reads, or the records are in no file.
    static std::unique_ptr<RingReader> create(ReadQueue& queue, const RecordStore& store);
    ~RingReader() override;
    void wake() override { m_reads->wake(); }
    [[nodiscard]] std::string_view name() const override { return "io_uring"; }

private:
    static constexpr std::uint32_t kDepthMax = 16; // reads under way, per drive
    static constexpr std::uint32_t kTagsMax = kDepthMax * RecordStore::kDrivesMax;
    static_assert(kTagsMax <= 64); // m_freeTags

    RingReader(ReadQueue& queue, const RecordStore& store, std::unique_ptr<AsyncReads> reads, std::uint32_t depth);
    void run();
    void fillQueue();
    [[nodiscard]] ReadQueue::Room room() const;
    void finish(const AsyncReads::Done& done);

    ReadQueue& m_queue;
    const RecordStore& m_store;
    const std::unique_ptr<AsyncReads> m_reads;
    const std::uint32_t m_depth;
    std::array<ReadQueue::Job, kTagsMax> m_jobs; // by tag; of the thread, like what follows
    std::uint64_t m_freeTags = 0; // one bit each
    std::array<std::uint32_t, RecordStore::kDrivesMax> m_underWay{}; // by drive
    std::atomic<bool> m_stopping = false; // seen after wake(), orders nothing
    std::thread m_thread;
};

} // namespace waste
