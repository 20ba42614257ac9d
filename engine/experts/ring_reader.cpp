#include "experts/ring_reader.h"

#include "platform/threads.h"

#include <algorithm>
#include <bit>
#include <system_error>
#include <utility>

namespace waste {
namespace {

// Enough to keep a drive busy while one record is checked and the next one asked for, with guesses alone too, which
// have half of the places: three records of Kimi-Linear at a time in place of two make a token 3 % faster (a drive of 5
// GB/s). More would only make the first of them arrive later. Of a K3, whose records are larger, two are under way.
constexpr std::uint64_t kBytesUnderWay = std::uint64_t{16} << 20;

std::uint32_t depthFor(std::uint64_t recordBytes, std::uint32_t depthMax)
{
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(kBytesUnderWay / recordBytes + 1, 2, depthMax));
}

} // namespace

std::unique_ptr<RingReader> RingReader::create(ReadQueue& queue, const RecordStore& store)
{
    const RecordStore::Grid& grid = store.grid();
    if (store.place({grid.firstLayer, 0}).file == nullptr)
        return nullptr;
    const std::uint32_t depth = depthFor(grid.recordBytes, kDepthMax);
    std::unique_ptr<AsyncReads> reads = AsyncReads::create(depth * store.driveCount());
    if (reads == nullptr)
        return nullptr;
    std::unique_ptr<RingReader> reader(new RingReader(queue, store, std::move(reads), depth));
    try {
        reader->m_thread = std::thread(&RingReader::run, reader.get());
    } catch (const std::system_error&) {
        return nullptr; // the system is out of threads
    }
    return reader;
}

RingReader::RingReader(
    ReadQueue& queue, const RecordStore& store, std::unique_ptr<AsyncReads> reads, std::uint32_t depth)
    : m_queue(queue)
    , m_store(store)
    , m_reads(std::move(reads))
    , m_depth(depth)
    , m_freeTags(~std::uint64_t{0} >> (64 - depth * store.driveCount()))
{
}

RingReader::~RingReader()
{
    m_stopping.store(true, std::memory_order_relaxed);
    m_reads->wake();
    if (m_thread.joinable())
        m_thread.join();
}

void RingReader::run()
{
    nameCurrentThread("waste reader");
    wakeCurrentThreadPromptly();
    const std::uint64_t allFree = m_freeTags;
    while (true) {
        if (!m_stopping.load(std::memory_order_relaxed))
            fillQueue();
        else if (m_freeTags == allFree)
            return;
        for (const AsyncReads::Done& done : m_reads->wait())
            finish(done);
    }
}

void RingReader::fillQueue()
{
    while (m_freeTags != 0) {
        const auto job = m_queue.beginRead(room());
        if (!job)
            return;
        const auto tag = static_cast<std::uint32_t>(std::countr_zero(m_freeTags));
        m_freeTags &= ~(std::uint64_t{1} << tag);
        ++m_underWay[m_store.driveOf(job->key)];
        m_jobs[tag] = *job;
        const RecordStore::Place place = m_store.place(job->key);
        m_reads->start(*place.file, place.offsetBytes, job->target, tag);
    }
}

ReadQueue::Room RingReader::room() const
{
    ReadQueue::Room room{};
    for (std::uint32_t drive = 0; drive < m_store.driveCount(); ++drive) {
        // Guesses leave half of the places to what may be announced at any moment.
        if (m_underWay[drive] < m_depth / 2)
            room[drive] = ReadQueue::Wanted::Anything;
        else if (m_underWay[drive] < m_depth)
            room[drive] = ReadQueue::Wanted::AnnouncedOnly;
    }
    return room;
}

void RingReader::finish(const AsyncReads::Done& done)
{
    const ReadQueue::Job job = m_jobs[done.tag];
    m_freeTags |= std::uint64_t{1} << done.tag;
    --m_underWay[m_store.driveOf(job.key)];
    // What did not come whole is read once more in the plain way, which knows when to try again and how to
    // report.
    m_queue.endRead(job, done.isWhole ? m_store.check(job.key, job.target) : m_store.read(job.key, job.target));
}

} // namespace waste
