#include "container/trunk_loader.h"

#include "base/checked.h"
#include "container/part_file.h"
#include "container/tensor_check.h"
#include "container/trunk.h"
#include "platform/pages.h"
#include "platform/threads.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace waste {

namespace {

using Advance = std::function<Status(std::uint64_t bytes)>;

// What one block holds of a tensor's payload or scales.
struct Slice {
    std::uint64_t offset = 0; // in the file
    std::span<std::byte> target;
    std::size_t tensor = 0;

    [[nodiscard]] std::uint64_t block() const { return offset / TrunkLoader::kBlockBytes; }
    [[nodiscard]] std::uint64_t end() const { return offset + target.size(); }
};

// Cuts a range of the file where blocks end.
void addSlices(std::vector<Slice>& slices, std::uint64_t offset, std::span<std::byte> target, std::size_t tensor)
{
    while (!target.empty()) {
        const std::uint64_t left = TrunkLoader::kBlockBytes - offset % TrunkLoader::kBlockBytes;
        const auto part = target.first(std::min<std::uint64_t>(left, target.size()));
        slices.push_back({offset, part, tensor});
        offset += part.size();
        target = target.subspan(part.size());
    }
}

// One run. Each thread takes the next block that nobody has taken, and ends what it took: so whoever finds damage
// knows that everything before it in the file is looked at as well.
class Loading {
public:
    Loading(const DirectFile& file, bool keepsCache, std::span<TrunkLoader::Tensor> tensors)
        : m_file(file)
        , m_keepsCache(keepsCache)
        , m_tensors(tensors)
        , m_slicesLeft(tensors.size())
    {
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            const auto& [entry, target, crc32] = tensors[i];
            addSlices(m_slices, entry->offset, Trunk::payloadOf(*entry, target), i);
            addSlices(m_slices, entry->scaleOffset, Trunk::scalesOf(*entry, target), i);
        }
        std::ranges::sort(m_slices, {}, &Slice::offset);
        for (std::size_t i = 0; i < m_slices.size(); ++i) {
            if (i == 0 || m_slices[i].block() != m_slices[i - 1].block())
                m_blocks.push_back(i);
            m_slicesLeft[m_slices[i].tensor].fetch_add(1, std::memory_order_relaxed);
        }
    }
    Loading(const Loading&) = delete;
    Loading& operator=(const Loading&) = delete;
    ~Loading() { stopHelpers(); }

    Status run(const Advance& advance)
    {
        const std::size_t count = std::min<std::size_t>(TrunkLoader::kReadsInFlight, m_blocks.size());
        WASTE_TRY(m_buffers, Pages::allocate(count * TrunkLoader::kBlockBytes, "opening the trunk"));
        startHelpers(count);
        if (count > 0)
            work(0, &advance);
        for (std::thread& helper : std::exchange(m_helpers, {}))
            helper.join();
        return std::move(m_failure);
    }

private:
    // All but the caller, which is the first.
    void startHelpers(std::size_t count)
    {
        m_helpers.reserve(count);
        try {
            for (std::size_t i = 1; i < count; ++i) {
                m_helpers.emplace_back([this, i] {
                    nameCurrentThread("waste opening");
                    work(i, nullptr);
                });
            }
        } catch (const std::system_error&) {
            // The system is out of threads: fewer are slower, and enough.
        }
    }

    void stopHelpers()
    {
        m_stopping.store(true, std::memory_order_relaxed);
        for (std::thread& helper : m_helpers)
            helper.join();
    }

    void work(std::size_t worker, const Advance* advance)
    {
        const auto buffer = m_buffers.bytes().subspan(worker * TrunkLoader::kBlockBytes, TrunkLoader::kBlockBytes);
        while (!m_stopping.load(std::memory_order_relaxed)) {
            if (advance != nullptr) {
                if (Status status = (*advance)(m_bytesDone.load(std::memory_order_relaxed)); !status) {
                    fail(0, std::move(status));
                    return;
                }
            }
            const std::size_t block = m_nextBlock.fetch_add(1, std::memory_order_relaxed);
            if (block >= m_blocks.size())
                return;
            if (Status status = loadBlock(block, buffer); !status)
                fail(block, std::move(status));
        }
    }

    Status loadBlock(std::size_t index, std::span<std::byte> buffer)
    {
        const std::size_t first = m_blocks[index];
        const std::size_t last = index + 1 < m_blocks.size() ? m_blocks[index + 1] : m_slices.size();
        const auto slices = std::span(m_slices).subspan(first, last - first);
        const std::uint64_t begin = slices.front().offset / kDirectIoAlignment * kDirectIoAlignment;
        const std::uint64_t end = std::ranges::max(slices, {}, &Slice::end).end(); // tensors may share bytes
        const auto target = buffer.first(roundUp(end - begin, std::uint64_t{kDirectIoAlignment}));
        WASTE_TRY_STATUS(readPart(m_file, begin, target, end - begin));
        if (!m_keepsCache)
            m_file.forget(begin, target.size());
        for (const Slice& slice : slices) {
            std::memcpy(slice.target.data(), target.data() + (slice.offset - begin), slice.target.size());
            m_bytesDone.fetch_add(slice.target.size(), std::memory_order_relaxed);
            // Whoever brings the last part of a tensor sees what the others have brought.
            if (m_slicesLeft[slice.tensor].fetch_sub(1, std::memory_order_acq_rel) == 1)
                WASTE_TRY_STATUS(check(m_tensors[slice.tensor]));
        }
        return {};
    }

    static Status check(TrunkLoader::Tensor& tensor)
    {
        TensorCheck check(*tensor.entry);
        check.addPayload(Trunk::payloadOf(*tensor.entry, tensor.target));
        check.addScales(Trunk::scalesOf(*tensor.entry, tensor.target));
        tensor.crc32 = check.crc32();
        return check.result();
    }

    void fail(std::size_t block, Status status)
    {
        m_stopping.store(true, std::memory_order_relaxed);
        const std::lock_guard lock(m_mutex);
        if (!m_failure && m_failedBlock <= block)
            return;
        m_failedBlock = block;
        m_failure = std::move(status);
    }

    const DirectFile& m_file;
    const bool m_keepsCache;
    const std::span<TrunkLoader::Tensor> m_tensors;
    std::vector<Slice> m_slices; // in the order of the file
    std::vector<std::size_t> m_blocks; // the first slice of each
    Pages m_buffers;
    std::vector<std::thread> m_helpers;

    std::vector<std::atomic<std::uint32_t>> m_slicesLeft; // of each tensor; the last publishes its bytes
    std::atomic<std::size_t> m_nextBlock = 0; // hands out blocks, orders nothing
    std::atomic<std::uint64_t> m_bytesDone = 0; // a count for people, orders nothing
    std::atomic<bool> m_stopping = false; // a hint to begin no more, orders nothing

    std::mutex m_mutex; // guards everything below
    std::size_t m_failedBlock = 0;
    Status m_failure;
};

} // namespace

Result<TrunkLoader> TrunkLoader::open(const std::filesystem::path& directory, DirectFile::Access access)
{
    WASTE_TRY(DirectFile file, openPart(directory, kTrunkFile, access));
    return TrunkLoader(std::move(file), access == DirectFile::Access::Buffered);
}

TrunkLoader::TrunkLoader(DirectFile file, bool keepsCache)
    : m_file(std::move(file))
    , m_keepsCache(keepsCache)
{
}

kernels::MatrixView TrunkLoader::add(const TrunkEntry& entry, std::span<std::byte> target)
{
    assert(entry.format);
    assert(target.size() == Trunk::residentBytes(entry));
    m_tensors.push_back({.entry = &entry, .target = target});
    return Trunk::view(entry, target);
}

Status TrunkLoader::run(const std::function<Status(std::uint64_t bytes)>& advance)
{
    return Loading(m_file, m_keepsCache, m_tensors).run(advance);
}

} // namespace waste
