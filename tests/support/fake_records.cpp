#include "support/fake_records.h"

#include <cstring>
#include <string>

namespace waste::test {
namespace {

std::byte byteOf(ExpertKey key, std::size_t offset)
{
    return static_cast<std::byte>(key.layer * 31 + key.expert * 7 + offset / 512 + 1);
}

} // namespace

class FakeRecords::Store final : public RecordStore {
public:
    explicit Store(FakeRecords* disk)
        : m_disk(disk)
    {
    }
    [[nodiscard]] const Grid& grid() const override { return m_disk->m_grid; }
    [[nodiscard]] bool isDirect() const override { return true; }
    [[nodiscard]] std::uint32_t driveCount() const override { return m_disk->m_driveCount; }
    [[nodiscard]] std::uint32_t driveOf(ExpertKey key) const override { return key.layer % m_disk->m_driveCount; }
    Status read(ExpertKey key, std::span<std::byte> target) const override { return m_disk->read(key, target); }
    [[nodiscard]] Place place(ExpertKey) const override { return {}; }
    [[nodiscard]] Status check(ExpertKey, std::span<const std::byte>) const override { return {}; }
    [[nodiscard]] ExpertView view(ExpertKey, std::span<const std::byte> record) const override
    {
        DenseExpert expert;
        expert[0].payload = record.data();
        return expert;
    }

private:
    FakeRecords* m_disk;
};

FakeRecords::FakeRecords(const RecordStore::Grid& grid, std::uint32_t driveCount)
    : m_grid(grid)
    , m_driveCount(driveCount)
    , m_readsOfRecord(std::size_t{grid.layerCount} * grid.expertCount)
{
}

std::unique_ptr<const RecordStore> FakeRecords::store()
{
    return std::make_unique<Store>(this);
}

bool FakeRecords::isRecord(const ExpertView& view, ExpertKey key) const
{
    const std::byte* bytes = std::get<DenseExpert>(view)[0].payload;
    for (std::size_t offset = 0; offset < m_grid.recordBytes; offset += 512) {
        if (bytes[offset] != byteOf(key, offset) || bytes[offset + 511] != byteOf(key, offset))
            return false;
    }
    return true;
}

void FakeRecords::failReads(std::uint64_t first, std::uint64_t count)
{
    const std::lock_guard lock(m_mutex);
    m_failFirst = first;
    m_failCount = count;
}

void FakeRecords::close(ExpertKey key)
{
    const std::lock_guard lock(m_mutex);
    m_isClosed = true;
    m_closedKey = key;
}

void FakeRecords::open()
{
    const std::lock_guard lock(m_mutex);
    m_isClosed = false;
    m_changed.notify_all();
}

void FakeRecords::waitUntilSomebodyWaits()
{
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [&] { return m_waiting > 0; });
}

std::uint64_t FakeRecords::readCount() const
{
    const std::lock_guard lock(m_mutex);
    return m_reads;
}

std::uint64_t FakeRecords::readCount(ExpertKey key) const
{
    const std::lock_guard lock(m_mutex);
    return m_readsOfRecord[indexOf(key)];
}

Status FakeRecords::read(ExpertKey key, std::span<std::byte> target)
{
    bool fails = false;
    {
        std::unique_lock lock(m_mutex);
        ++m_readsOfRecord[indexOf(key)];
        ++m_reads;
        fails = m_reads >= m_failFirst && m_reads - m_failFirst < m_failCount;
        if (m_isClosed && key == m_closedKey) {
            ++m_waiting;
            m_changed.notify_all();
            m_changed.wait(lock, [&] { return !m_isClosed; });
            --m_waiting;
        }
    }
    // A failed transfer leaves rubbish behind, as a real one does.
    for (std::size_t offset = 0; offset < target.size(); offset += 512)
        std::memset(target.data() + offset, fails ? 0xEE : std::to_integer<int>(byteOf(key, offset)), 512);
    if (!fails)
        return {};
    return Error{ErrorCode::Io, "io",
        "expert " + std::to_string(key.expert) + " of layer " + std::to_string(key.layer) + ": the disk failed"};
}

std::size_t FakeRecords::indexOf(ExpertKey key) const
{
    return (std::size_t{key.layer} - m_grid.firstLayer) * m_grid.expertCount + key.expert;
}

} // namespace waste::test
