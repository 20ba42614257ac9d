#pragma once

#include "experts/read_queue.h"
#include "experts/record_store.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace waste {

// Readers that work everywhere: a few threads for each drive, each inside one blocking read of one record.
class ThreadReaders final : public RecordReader {
public:
    // Fewer threads, even none, where the system has no more: then the consumer reads everything itself.
    ThreadReaders(ReadQueue& queue, const RecordStore& store, std::uint32_t countPerDrive);
    ~ThreadReaders() override;
    void wake() override;
    [[nodiscard]] std::string_view name() const override { return "threads"; }

    [[nodiscard]] std::size_t count() const { return m_threads.size(); }

private:
    void run(const ReadQueue::Room& room);
    void stop();

    ReadQueue& m_queue;
    const RecordStore& m_store;

    std::mutex m_mutex; // guards everything below but the threads
    std::condition_variable m_woken;
    std::uint64_t m_wakeCount = 0;
    bool m_stopping = false;

    std::vector<std::thread> m_threads;
};

} // namespace waste
