#include "experts/expert_cache.h"

#include "memory/memory_plan.h"
#include "platform/threads.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <system_error>
#include <utility>

namespace waste {

Result<std::unique_ptr<ExpertCache>> ExpertCache::create(
    std::unique_ptr<const RecordStore> store, const Options& options)
{
    Options effective = options;
    effective.slotCount = std::max(1U, options.slotCount);
    effective.readerCount = std::min(options.readerCount, kReadersMax);
    WASTE_TRY(
        Arena slab, Arena::create(effective.slotCount * slotBytes(store->grid().recordBytes), "the expert cache"));
    std::unique_ptr<ExpertCache> cache(new ExpertCache(std::move(store), effective, std::move(slab)));
    cache->startReaders(effective.readerCount);
    return cache;
}

ExpertCache::ExpertCache(std::unique_ptr<const RecordStore> store, const Options& options, Arena slab)
    : m_store(std::move(store))
    , m_grid(m_store->grid())
    , m_policy(options.policy)
    , m_halfAge(std::uint64_t{m_grid.layerCount} * options.expertsPerToken)
    , m_window(std::min(kWindowMax, options.slotCount / 4))
    , m_slab(std::move(slab))
    , m_bytes(m_slab.take<std::byte>(m_slab.capacityBytes(), kSlotAlignment))
    , m_slots(options.slotCount)
    , m_records(std::size_t{m_grid.layerCount} * m_grid.expertCount)
{
    m_announced.reserve(m_grid.expertCount);
    m_freeSlots.reserve(options.slotCount);
    for (std::uint32_t slot = options.slotCount; slot > 0; --slot)
        m_freeSlots.push_back(slot - 1);
}

ExpertCache::~ExpertCache()
{
    {
        const std::lock_guard lock(m_mutex);
        m_stopping = true;
    }
    m_queued.notify_all();
    for (std::thread& reader : m_readers)
        reader.join();
    assert(std::all_of(m_slots.begin(), m_slots.end(), [](const Slot& slot) { return slot.pinCount == 0; }));
}

void ExpertCache::announce(std::uint16_t layer, std::span<const std::uint16_t> experts)
{
    assert(experts.size() <= m_grid.expertCount);
    const std::lock_guard lock(m_mutex);
    forgetAnnouncement();
    for (const std::uint16_t expert : experts)
        m_announced.push_back(recordOf({layer, expert}));
    m_announcedAt = m_clock;
    moveWindow();
}

Result<ExpertSource::Pin> ExpertCache::acquire(ExpertKey key)
{
    const std::uint32_t record = recordOf(key);
    std::uint32_t slotIndex = kNone;
    {
        Lock lock(m_mutex);
        WASTE_TRY(slotIndex, makeResident(record, lock));
        Slot& slot = m_slots[slotIndex];
        CacheCounters::add(slot.counted ? m_counters.hits : m_counters.misses, 1);
        slot.counted = true;
        ++slot.pinCount;
        setWanted(slot, false);
        RecordHistory& history = m_records[record].history;
        history.lastUse = ++m_clock;
        ++history.uses;
        moveWindow();
    }
    const std::span<const std::byte> bytes = bytesOf(slotIndex);
    return Pin(this, slotIndex, m_store->view(key, bytes));
}

Result<ExpertSource::Arrival> ExpertCache::acquireNext()
{
    assert(m_nextAnnounced < m_announced.size());
    const ExpertKey key = keyOf(m_announced[m_nextAnnounced]);
    WASTE_TRY(Pin pin, acquire(key));
    ++m_nextAnnounced;
    return Arrival{key.expert, std::move(pin)};
}

Result<std::optional<ExpertSource::Arrival>> ExpertCache::tryAcquireNext()
{
    {
        const std::lock_guard lock(m_mutex);
        if (m_nextAnnounced == m_announced.size())
            return std::optional<Arrival>();
        const std::uint32_t slot = m_records[m_announced[m_nextAnnounced]].slot;
        if (slot == kNone || m_slots[slot].state != SlotState::Resident)
            return std::optional<Arrival>();
    }
    WASTE_TRY(Arrival arrival, acquireNext());
    return std::optional<Arrival>(std::move(arrival));
}

void ExpertCache::prefetch(std::uint16_t, std::span<const std::uint16_t>) { }

CacheStatistics ExpertCache::statistics() const
{
    return {
        .hits = CacheCounters::get(m_counters.hits),
        .misses = CacheCounters::get(m_counters.misses),
        .readsIssued = CacheCounters::get(m_counters.readsIssued),
        .readsFailed = CacheCounters::get(m_counters.readsFailed),
        .bytesRead = CacheCounters::get(m_counters.bytesRead),
        .evictions = CacheCounters::get(m_counters.evictions),
        .slotsUsed = static_cast<std::uint32_t>(CacheCounters::get(m_counters.slotsUsed)),
        .slotCount = static_cast<std::uint32_t>(m_slots.size()),
        .readWait = std::chrono::nanoseconds(CacheCounters::get(m_counters.readWaitNs)),
        .diskBusy = std::chrono::nanoseconds(CacheCounters::get(m_counters.diskBusyNs)),
    };
}

std::uint64_t ExpertCache::bookkeepingBytes(const RecordStore::Grid& grid, std::uint32_t slotCount)
{
    return std::uint64_t{grid.layerCount} * grid.expertCount * sizeof(Record) + grid.expertCount * sizeof(std::uint32_t)
        + std::uint64_t{slotCount} * (sizeof(Slot) + sizeof(std::uint32_t));
}

std::uint32_t ExpertCache::recordOf(ExpertKey key) const
{
    assert(key.layer >= m_grid.firstLayer && key.layer - m_grid.firstLayer < m_grid.layerCount);
    assert(key.expert < m_grid.expertCount);
    return (std::uint32_t{key.layer} - m_grid.firstLayer) * m_grid.expertCount + key.expert;
}

ExpertKey ExpertCache::keyOf(std::uint32_t record) const
{
    return {static_cast<std::uint16_t>(m_grid.firstLayer + record / m_grid.expertCount),
        static_cast<std::uint16_t>(record % m_grid.expertCount)};
}

std::span<std::byte> ExpertCache::bytesOf(std::uint32_t slot)
{
    return m_bytes.subspan(slot * slotBytes(m_grid.recordBytes), m_grid.recordBytes);
}

void ExpertCache::release(std::uint32_t slot)
{
    const std::lock_guard lock(m_mutex);
    assert(m_slots[slot].pinCount > 0);
    --m_slots[slot].pinCount;
}

void ExpertCache::startReaders(std::uint32_t count)
{
    m_readers.reserve(count);
    try {
        while (m_readers.size() < count)
            m_readers.emplace_back(&ExpertCache::readAhead, this);
    } catch (const std::system_error&) {
        // A system out of threads: whatever no reader reads, the consumer does.
    }
}

void ExpertCache::readAhead()
{
    nameCurrentThread("waste reader");
    Lock lock(m_mutex);
    while (true) {
        std::uint32_t slot = kNone;
        m_queued.wait(lock, [&] { return m_stopping || (slot = takeQueued()) != kNone; });
        if (m_stopping)
            return;
        // A failure leaves the record absent: if it is really needed, acquire() reads again and reports.
        (void)load(slot, lock);
    }
}

// Returns the slot that holds the record. Reads it on this thread unless a reader is at it already.
Result<std::uint32_t> ExpertCache::makeResident(std::uint32_t record, Lock& lock)
{
    const auto isResident = [&] {
        const std::uint32_t slot = m_records[record].slot;
        return slot != kNone && m_slots[slot].state == SlotState::Resident;
    };
    if (isResident())
        return m_records[record].slot;

    const Clock::time_point started = Clock::now();
    Status status;
    while (status && !isResident()) {
        std::uint32_t slot = m_records[record].slot;
        if (slot == kNone)
            slot = takeSlot(record, Purpose::Demand);
        if (slot != kNone && m_slots[slot].state == SlotState::Queued) {
            status = load(slot, lock);
        } else if (m_loadingCount > 0) {
            m_loaded.wait(lock);
        } else {
            const ExpertKey key = keyOf(record);
            status = Error{ErrorCode::Internal, "internal",
                "no slot is free for expert " + std::to_string(key.expert) + " of layer " + std::to_string(key.layer)
                    + ": all " + std::to_string(m_slots.size()) + " are held"};
        }
    }
    const std::chrono::nanoseconds waited = Clock::now() - started;
    CacheCounters::add(m_counters.readWaitNs, static_cast<std::uint64_t>(waited.count()));
    if (!status)
        return std::move(status.error());
    return m_records[record].slot;
}

// Reads the record of a queued slot. Afterwards the slot is resident, or free if that failed.
Status ExpertCache::load(std::uint32_t slot, Lock& lock)
{
    assert(m_slots[slot].state == SlotState::Queued);
    m_slots[slot].state = SlotState::Loading;
    const ExpertKey key = keyOf(m_slots[slot].record);
    if (m_loadingCount++ == 0)
        m_busySince = Clock::now();

    lock.unlock();
    Status status = m_store->read(key, bytesOf(slot));
    lock.lock();

    if (--m_loadingCount == 0) {
        const std::chrono::nanoseconds busy = Clock::now() - m_busySince;
        CacheCounters::add(m_counters.diskBusyNs, static_cast<std::uint64_t>(busy.count()));
    }
    CacheCounters::add(m_counters.readsIssued, 1);
    if (status) {
        CacheCounters::add(m_counters.bytesRead, m_grid.recordBytes);
        m_slots[slot].state = SlotState::Resident;
    } else {
        CacheCounters::add(m_counters.readsFailed, 1);
        vacate(slot);
    }
    m_loaded.notify_all();
    return status;
}

// Gives slots to the next announced records, as far as the window and the cache allow.
void ExpertCache::moveWindow()
{
    bool queued = false;
    for (; m_windowEnd < m_announced.size() && m_wantedCount < m_window; ++m_windowEnd) {
        const std::uint32_t record = m_announced[m_windowEnd];
        if (m_records[record].history.lastUse > m_announcedAt)
            continue; // acquired out of order
        if (m_records[record].slot == kNone) {
            if (takeSlot(record, Purpose::ReadAhead) == kNone)
                break;
            queued = true;
        }
        setWanted(m_slots[m_records[record].slot], true);
    }
    if (queued)
        m_queued.notify_all();
}

// What nobody asked for and no reader has begun is dropped; reads under way end on their own.
void ExpertCache::forgetAnnouncement()
{
    for (std::size_t i = 0; i < m_windowEnd; ++i) {
        const std::uint32_t slot = m_records[m_announced[i]].slot;
        if (slot == kNone)
            continue;
        if (m_slots[slot].state == SlotState::Queued)
            vacate(slot);
        else
            setWanted(m_slots[slot], false);
    }
    assert(m_wantedCount == 0);
    m_announced.clear();
    m_nextAnnounced = 0;
    m_windowEnd = 0;
    m_readEnd = 0;
}

std::uint32_t ExpertCache::takeQueued()
{
    while (m_readEnd < m_windowEnd) {
        const std::uint32_t slot = m_records[m_announced[m_readEnd++]].slot;
        if (slot != kNone && m_slots[slot].state == SlotState::Queued)
            return slot;
    }
    return kNone;
}

// A queued slot for a record that has none; kNone if the purpose does not justify any eviction left.
std::uint32_t ExpertCache::takeSlot(std::uint32_t record, Purpose purpose)
{
    if (m_freeSlots.empty()) {
        const std::uint32_t victim = findVictim(purpose);
        if (victim == kNone)
            return kNone;
        if (m_slots[victim].state == SlotState::Resident)
            CacheCounters::add(m_counters.evictions, 1);
        vacate(victim);
    }
    const std::uint32_t slot = m_freeSlots.back();
    m_freeSlots.pop_back();
    CacheCounters::add(m_counters.slotsUsed, 1);
    m_slots[slot].record = record;
    m_slots[slot].state = SlotState::Queued;
    m_records[record].slot = slot;
    if (m_policy == CachePolicy::Lfru)
        m_records[record].history.uses = 0;
    return slot;
}

// The least valuable of a few slots drawn at random, which costs the same at any cache size. Only if all of
// them are in use every slot is looked at.
std::uint32_t ExpertCache::findVictim(Purpose purpose)
{
    const auto slotCount = static_cast<std::uint32_t>(m_slots.size());
    std::uint32_t victim = kNone;
    const auto consider = [&](std::uint32_t slot, Purpose reach) {
        if (isEvictable(slot, reach) && (victim == kNone || leavesBefore(slot, victim)))
            victim = slot;
    };
    for (std::uint32_t sample = 0; sample < SlotSampler::kSampleCount; ++sample)
        consider(m_sampler.next(slotCount), Purpose::ReadAhead);
    for (std::uint32_t slot = 0; slot < slotCount && victim == kNone; ++slot)
        consider(slot, Purpose::ReadAhead);
    for (std::uint32_t slot = 0; slot < slotCount && victim == kNone && purpose == Purpose::Demand; ++slot)
        consider(slot, Purpose::Demand);
    return victim;
}

bool ExpertCache::isEvictable(std::uint32_t slot, Purpose purpose) const
{
    const Slot& candidate = m_slots[slot];
    if (candidate.pinCount > 0 || candidate.state == SlotState::Loading)
        return false;
    return purpose == Purpose::Demand || !candidate.wanted;
}

bool ExpertCache::leavesBefore(std::uint32_t slot, std::uint32_t other) const
{
    return waste::leavesBefore(m_policy, m_records[m_slots[slot].record].history,
        m_records[m_slots[other].record].history, m_clock, m_halfAge);
}

void ExpertCache::setWanted(Slot& slot, bool wanted)
{
    if (std::exchange(slot.wanted, wanted) != wanted)
        wanted ? ++m_wantedCount : --m_wantedCount;
}

void ExpertCache::vacate(std::uint32_t slot)
{
    setWanted(m_slots[slot], false);
    m_records[m_slots[slot].record].slot = kNone;
    m_slots[slot] = Slot();
    m_freeSlots.push_back(slot);
    m_counters.slotsUsed.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace waste
