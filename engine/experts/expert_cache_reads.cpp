// The readers' side of the cache: what they take up and hand back, and what earlier runs leave them to do.

#include "experts/expert_cache.h"

#include "experts/ring_reader.h"
#include "experts/thread_readers.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace waste {

void ExpertCache::startReaders(const Options& options)
{
    if (options.asyncReads && options.readerCount > 0)
        m_reader = RingReader::create(*this, *m_store);
    m_hasReaders = m_reader != nullptr;
    if (m_hasReaders)
        return;
    ReadQueue& queue = *this;
    auto threads = std::make_unique<ThreadReaders>(queue, *m_store, options.readerCount);
    m_hasReaders = threads->count() > 0;
    m_reader = std::move(threads);
}

std::optional<ReadQueue::Job> ExpertCache::beginRead(const Room& room)
{
    const std::lock_guard lock(m_mutex);
    // All that is announced is of one layer and so on one drive.
    std::uint32_t slot = nextQueued();
    if (slot != kNone && wantedOf(m_slots[slot].record, room) == Wanted::Nothing)
        slot = kNone;
    if (slot == kNone)
        slot = nextGuess(room);
    if (slot == kNone)
        slot = nextRecalled(room);
    if (slot != kNone)
        return startLoading(slot);
    m_loaded.notify_all(); // for waitUntilIdle()
    return std::nullopt;
}

ReadQueue::Wanted ExpertCache::wantedOf(std::uint32_t record, const Room& room) const
{
    return room[m_store->driveOf(m_slots.keyOf(record))];
}

void ExpertCache::endRead(const Job& job, Status status)
{
    const std::lock_guard lock(m_mutex);
    finishLoading(job.slot, status);
    const std::uint32_t record = m_slots[job.slot].record;
    if (status && m_slots[job.slot].claim == Claim::Announced && isLeft(record))
        m_arrived.push_back(record);
    // A failure leaves the record absent: if it is really needed, the consumer reads again and reports.
}

ReadQueue::Job ExpertCache::startLoading(std::uint32_t slot)
{
    assert(m_slots[slot].state == State::Queued);
    m_slots[slot].state = State::Loading;
    m_loadingSince[slot] = Clock::now();
    if (m_loadingCount++ == 0)
        m_busySince = m_loadingSince[slot];
    return {m_slots.keyOf(m_slots[slot].record), slot, bytesOf(slot)};
}

// Afterwards the slot is resident, or free if the read failed.
void ExpertCache::finishLoading(std::uint32_t slot, const Status& status)
{
    const Clock::time_point now = Clock::now();
    --m_loadingCount;
    // At every end, and not when the drive falls idle alone: a busy drive may work for minutes without a pause.
    const std::chrono::nanoseconds busy = now - std::exchange(m_busySince, now);
    CacheCounters::add(m_counters.diskBusyNs, static_cast<std::uint64_t>(busy.count()));
    CacheCounters::add(m_counters.readsIssued, 1);
    if (status) {
        CacheCounters::add(m_counters.bytesRead, m_grid.recordBytes);
        m_counters.latency.add(now - m_loadingSince[slot]);
        m_slots[slot].state = State::Resident;
    } else {
        CacheCounters::add(m_counters.readsFailed, 1);
        vacate(slot);
    }
    m_loaded.notify_all();
}

std::uint32_t ExpertCache::nextQueued()
{
    for (; m_readEnd < m_windowEnd; ++m_readEnd) {
        const std::uint32_t slot = m_slots.slotOf(m_missing[m_readEnd]);
        if (slot != kNone && m_slots[slot].state == State::Queued)
            return slot;
    }
    return kNone;
}

// Nobody leaves for what earlier runs liked; once the cache is full the rest is forgotten.
std::uint32_t ExpertCache::nextRecalled(const Room& room)
{
    while (m_recalledEnd < m_recalled.size()) {
        const auto first = m_recalled.begin() + static_cast<std::ptrdiff_t>(m_recalledEnd);
        const auto found = std::find_if(
            first, m_recalled.end(), [&](std::uint32_t record) { return wantedOf(record, room) == Wanted::Anything; });
        if (found == m_recalled.end())
            return kNone;
        std::rotate(first, found, found + 1);
        const std::uint32_t record = m_recalled[m_recalledEnd++];
        if (!m_slots.hasFree())
            m_recalledEnd = m_recalled.size();
        else if (m_slots.slotOf(record) == kNone) {
            const std::uint32_t slot = takeSlot(record, SlotTable::Purpose::ReadAhead);
            m_slots[slot].counted = true;
            return slot;
        }
    }
    return kNone;
}

void ExpertCache::recall(const UsageList& list)
{
    {
        const std::lock_guard lock(m_mutex);
        m_recalled.clear();
        m_recalledEnd = 0;
        for (const UsageList::Entry& entry : list.entries) {
            const std::uint32_t record = m_slots.recordOf(entry.key);
            m_slots.history(record).uses = entry.uses / 2;
            if (m_recalled.size() < m_slots.all().size())
                m_recalled.push_back(record);
        }
        m_workAdded.store(true, std::memory_order_relaxed);
    }
    wakeReaders();
}

UsageList ExpertCache::usage() const
{
    const std::lock_guard lock(m_mutex);
    UsageList list;
    list.clock = m_slots.clock();
    for (std::uint32_t record = 0; record < m_slots.recordCount(); ++record) {
        const RecordHistory& history = m_slots.history(record);
        if (history.uses > 0)
            list.entries.push_back({m_slots.keyOf(record), history.uses, static_cast<std::uint32_t>(history.lastUse)});
    }
    std::stable_sort(
        list.entries.begin(), list.entries.end(), [this](const UsageList::Entry& a, const UsageList::Entry& b) {
            const bool aInMemory = m_slots.isResident(m_slots.recordOf(a.key));
            const bool bInMemory = m_slots.isResident(m_slots.recordOf(b.key));
            return aInMemory != bInMemory ? aInMemory : a.uses > b.uses;
        });
    return list;
}

} // namespace waste
