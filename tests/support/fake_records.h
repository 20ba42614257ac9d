#pragma once

#include "experts/record_store.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace waste::test {

// A disk of made-up expert records that a test can make slow or failing. The test keeps the disk, the cache
// under test owns a store over it.
class FakeRecords {
public:
    // Layers lie on the drives in turn.
    explicit FakeRecords(const RecordStore::Grid& grid, std::uint32_t driveCount = 1);

    [[nodiscard]] std::unique_ptr<const RecordStore> store();
    // Whether a view that the cache gave out holds the record of this expert.
    [[nodiscard]] bool isRecord(const ExpertView& view, ExpertKey key) const;

    // Reads count from 1; the given ones fail with Io.
    void failReads(std::uint64_t first, std::uint64_t count = 1);
    // While closed, reads of this expert wait inside the disk.
    void close(ExpertKey key);
    void open();
    void waitUntilSomebodyWaits(); // at a closed record

    [[nodiscard]] std::uint64_t readCount() const;
    [[nodiscard]] std::uint64_t readCount(ExpertKey key) const;

private:
    class Store;
    Status read(ExpertKey key, std::span<std::byte> target);
    [[nodiscard]] std::size_t indexOf(ExpertKey key) const;

    const RecordStore::Grid m_grid;
    const std::uint32_t m_driveCount;
    mutable std::mutex m_mutex; // guards everything below
    std::condition_variable m_changed;
    std::vector<std::uint64_t> m_readsOfRecord;
    std::uint64_t m_reads = 0;
    std::uint64_t m_failFirst = 0;
    std::uint64_t m_failCount = 0;
    bool m_isClosed = false;
    ExpertKey m_closedKey;
    std::uint32_t m_waiting = 0;
};

} // namespace waste::test
