#include "experts/expert_cache.h"

#include "memory/memory_plan.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace waste {
namespace {

std::uint32_t windowOf(const ExpertCache::Options& options)
{
    const std::uint32_t slotCount = options.slotCount - options.lendableSlotCount;
    const std::uint32_t oneToken = std::min(options.expertsPerToken, slotCount / 2);
    return std::min(ExpertCache::kWindowMax, std::max(slotCount / 4, oneToken));
}

// Half of the cache, where that leaves several tokens' experts beside the window.
std::uint32_t chunkGuessesOf(const ExpertCache::Options& options)
{
    const std::uint32_t slotCount = options.slotCount - options.lendableSlotCount;
    return slotCount < 4 * options.expertsPerToken ? 0 : std::min(ExpertCache::kWindowMax, slotCount / 2);
}

} // namespace

Result<std::unique_ptr<ExpertCache>> ExpertCache::create(
    std::unique_ptr<const RecordStore> store, const Options& options)
{
    Options effective = options;
    effective.slotCount = std::max(1U, options.slotCount);
    effective.lendableSlotCount = std::min(options.lendableSlotCount, effective.slotCount - 1);
    effective.readerCount = std::min(options.readerCount, kReadersMax);
    WASTE_TRY(
        Arena slab, Arena::create(effective.slotCount * slotBytes(store->grid().recordBytes), "the expert cache"));
    std::unique_ptr<ExpertCache> cache(new ExpertCache(std::move(store), effective, std::move(slab)));
    cache->startReaders(effective);
    return cache;
}

ExpertCache::ExpertCache(std::unique_ptr<const RecordStore> store, const Options& options, Arena slab)
    : m_store(std::move(store))
    , m_grid(m_store->grid())
    , m_window(windowOf(options))
    , m_chunkGuesses(chunkGuessesOf(options))
    , m_lendableCount(options.lendableSlotCount)
    , m_slab(std::move(slab))
    , m_bytes(m_slab.take<std::byte>(m_slab.capacityBytes(), kSlotAlignment))
    , m_slots(m_grid, options.slotCount, options.policy, std::uint64_t{m_grid.layerCount} * options.expertsPerToken)
    , m_left(m_grid.expertCount)
    , m_loadingSince(options.slotCount)
    , m_guessWidth({.fixed = options.guesses,
          .layerCount = m_grid.layerCount,
          .limit = std::min({GuessWidth::kMax, m_window, options.expertsPerToken})})
{
    for (std::vector<std::uint32_t>* list : {&m_announced, &m_missing, &m_arrived, &m_guesses})
        list->reserve(m_grid.expertCount);
    countSlots();
}

ExpertCache::~ExpertCache()
{
    {
        const std::lock_guard lock(m_mutex);
        forgetAnnouncement();
        settleGuesses();
        m_recalled.clear();
        m_recalledEnd = 0;
    }
    m_reader.reset();
    assert(std::all_of(
        m_slots.all().begin(), m_slots.all().end(), [](const SlotTable::Slot& slot) { return slot.pinCount == 0; }));
}

void ExpertCache::announce(std::uint16_t layer, std::span<const std::uint16_t> experts)
{
    assert(experts.size() <= m_grid.expertCount);
    {
        const std::lock_guard lock(m_mutex);
        forgetAnnouncement();
        m_layerBegin = m_slots.recordOf({layer, 0});
        // What is there is claimed before anything is evicted for what is not.
        for (const std::uint16_t expert : experts) {
            const std::uint32_t record = m_slots.recordOf({layer, expert});
            m_announced.push_back(record);
            m_left[expert] = 1;
            m_slots.use(record);
            const std::uint32_t slot = m_slots.slotOf(record);
            if (slot == kNone) {
                m_missing.push_back(record);
                continue;
            }
            m_slots[slot].claim = Claim::Announced;
            judgeGuess(slot, true);
            if (m_slots[slot].state == State::Resident)
                m_arrived.push_back(record);
        }
        m_leftCount = experts.size();
        settleGuesses();
        moveWindow();
    }
    wakeReaders();
}

Result<ExpertSource::Arrival> ExpertCache::acquireNext()
{
    Arrival arrival;
    {
        Lock lock(m_mutex);
        assert(m_leftCount > 0);
        std::uint32_t record = nextArrived();
        while (record == kNone && isAnyOnItsWay()) {
            waitForReads(lock);
            record = nextArrived();
        }
        // Nobody reads what is left: there are no readers, no slot was free for it, or its read failed.
        if (record == kNone) {
            record = firstLeft();
            WASTE_TRY_STATUS(makeResident(record, lock));
        }
        arrival = {m_slots.keyOf(record).expert, handOut(record)};
    }
    wakeReaders();
    return arrival;
}

Result<std::optional<ExpertSource::Arrival>> ExpertCache::tryAcquireNext()
{
    std::optional<Arrival> arrival;
    {
        const std::lock_guard lock(m_mutex);
        const std::uint32_t record = nextArrived();
        if (record == kNone)
            return arrival;
        arrival = Arrival{m_slots.keyOf(record).expert, handOut(record)};
    }
    wakeReaders();
    return arrival;
}

bool ExpertCache::awaitNext()
{
    Lock lock(m_mutex);
    while (!hasArrived() && isAnyOnItsWay()) {
        if (std::exchange(m_isCalledBack, false))
            return false;
        waitForReads(lock);
    }
    m_isCalledBack = false;
    return true;
}

void ExpertCache::stopAwaiting()
{
    {
        const std::lock_guard lock(m_mutex);
        m_isCalledBack = true;
    }
    m_loaded.notify_all();
}

Result<ExpertSource::Pin> ExpertCache::acquire(ExpertKey key)
{
    Pin pin;
    {
        Lock lock(m_mutex);
        const std::uint32_t record = m_slots.recordOf(key);
        WASTE_TRY_STATUS(makeResident(record, lock));
        if (!isLeft(record))
            m_slots.use(record);
        pin = handOut(record);
    }
    wakeReaders();
    return pin;
}

void ExpertCache::lend()
{
    const auto servingCount = static_cast<std::uint32_t>(m_loadingSince.size()) - m_lendableCount;
    {
        Lock lock(m_mutex);
        forgetAnnouncement();
        settleGuesses();
        m_loaded.wait(lock, [&] { return m_slots.serveWith(servingCount); });
        countSlots();
    }
    m_slab.discard(m_bytes.subspan(servingCount * slotBytes(m_grid.recordBytes)));
}

void ExpertCache::takeBack()
{
    const std::lock_guard lock(m_mutex);
    (void)m_slots.serveWith(static_cast<std::uint32_t>(m_loadingSince.size())); // lent ones are never read into
    countSlots();
}

void ExpertCache::waitUntilIdle()
{
    const auto isIdle = [&] {
        const bool isAnyQueued = m_hasReaders
            && (nextQueued() != kNone || m_guessEnd < m_guesses.size() || m_recalledEnd < m_recalled.size());
        return m_loadingCount == 0 && !isAnyQueued;
    };
    Lock lock(m_mutex);
    m_loaded.wait(lock, isIdle);
}

CacheStatistics ExpertCache::statistics() const
{
    return {
        .hits = CacheCounters::get(m_counters.hits),
        .misses = CacheCounters::get(m_counters.misses),
        .readsIssued = CacheCounters::get(m_counters.readsIssued),
        .readsFailed = CacheCounters::get(m_counters.readsFailed),
        .bytesRead = CacheCounters::get(m_counters.bytesRead),
        .evictions = CacheCounters::get(m_counters.evictions),
        .guessesIssued = CacheCounters::get(m_counters.guessesIssued),
        .guessesUseful = CacheCounters::get(m_counters.guessesUseful),
        .guessesWasted = CacheCounters::get(m_counters.guessesWasted),
        .slotsUsed = static_cast<std::uint32_t>(CacheCounters::get(m_counters.slotsUsed)),
        .slotCount = static_cast<std::uint32_t>(CacheCounters::get(m_counters.slotCount)),
        .readWait = std::chrono::nanoseconds(CacheCounters::get(m_counters.readWaitNs)),
        .diskBusy = std::chrono::nanoseconds(CacheCounters::get(m_counters.diskBusyNs)),
        .latency = m_counters.latency.summary(),
    };
}

std::uint64_t ExpertCache::bookkeepingBytes(const RecordStore::Grid& grid, std::uint32_t slotCount)
{
    constexpr std::uint64_t kListBytes = 4 * sizeof(std::uint32_t) + sizeof(std::uint8_t);
    return SlotTable::bookkeepingBytes(grid, slotCount) + grid.expertCount * kListBytes
        + std::uint64_t{slotCount} * (sizeof(Clock::time_point) + sizeof(std::uint32_t));
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

// Called without the lock, so that whoever wakes up does not run into it.
void ExpertCache::wakeReaders()
{
    if (m_workAdded.exchange(false, std::memory_order_relaxed))
        m_reader->wake();
}

bool ExpertCache::isLeft(std::uint32_t record) const
{
    const std::uint32_t expert = record - m_layerBegin; // of another layer: out of range
    return expert < m_grid.expertCount && m_left[expert] != 0;
}

bool ExpertCache::hasArrived()
{
    for (; m_arrivedEnd < m_arrived.size(); ++m_arrivedEnd) {
        const std::uint32_t record = m_arrived[m_arrivedEnd];
        if (isLeft(record) && m_slots.isResident(record)) // else acquired by name, or evicted by such an access
            return true;
    }
    return false;
}

std::uint32_t ExpertCache::nextArrived()
{
    return hasArrived() ? m_arrived[m_arrivedEnd++] : kNone;
}

// Whether waiting brings one of the announced records.
bool ExpertCache::isAnyOnItsWay() const
{
    return std::any_of(m_announced.begin(), m_announced.end(), [this](std::uint32_t record) {
        const std::uint32_t slot = m_slots.slotOf(record);
        if (slot == kNone || !isLeft(record))
            return false;
        const State state = m_slots[slot].state;
        return state == State::Loading || (state == State::Queued && m_hasReaders);
    });
}

std::uint32_t ExpertCache::firstLeft() const
{
    const auto found =
        std::find_if(m_announced.begin(), m_announced.end(), [this](std::uint32_t record) { return isLeft(record); });
    assert(found != m_announced.end());
    return *found;
}

// Pins a resident record, counts the access and lets the window move on.
ExpertSource::Pin ExpertCache::handOut(std::uint32_t record)
{
    const std::uint32_t slotIndex = m_slots.slotOf(record);
    SlotTable::Slot& slot = m_slots[slotIndex];
    assert(slot.state == State::Resident);
    CacheCounters::add(slot.counted ? m_counters.hits : m_counters.misses, 1);
    slot.counted = true;
    slot.claim = Claim::None;
    ++slot.pinCount;
    m_slots.setInWindow(slotIndex, false);
    if (isLeft(record)) {
        m_left[record - m_layerBegin] = 0;
        --m_leftCount;
    }
    moveWindow();
    return Pin(this, slotIndex, m_store->view(m_slots.keyOf(record), bytesOf(slotIndex)));
}

// Reads the record on this thread unless somebody else is at it already.
Status ExpertCache::makeResident(std::uint32_t record, Lock& lock)
{
    while (!m_slots.isResident(record)) {
        std::uint32_t slot = m_slots.slotOf(record);
        if (slot == kNone)
            slot = takeSlot(record, SlotTable::Purpose::Demand);
        if (slot != kNone && m_slots[slot].state == State::Queued) {
            WASTE_TRY_STATUS(readHere(slot, lock));
        } else if (m_loadingCount > 0) {
            waitForReads(lock);
        } else {
            const ExpertKey key = m_slots.keyOf(record);
            return Error{ErrorCode::Internal, "internal",
                "no slot is free for expert " + std::to_string(key.expert) + " of layer " + std::to_string(key.layer)
                    + ": all " + std::to_string(m_slots.servingCount()) + " are held"};
        }
    }
    return {};
}

Status ExpertCache::readHere(std::uint32_t slot, Lock& lock)
{
    const Job job = startLoading(slot);
    const Clock::time_point started = Clock::now();
    lock.unlock();
    Status status = m_store->read(job.key, job.target);
    lock.lock();
    countWait(started);
    finishLoading(slot, status);
    return status;
}

void ExpertCache::waitForReads(Lock& lock)
{
    const Clock::time_point started = Clock::now();
    m_loaded.wait(lock);
    countWait(started);
}

void ExpertCache::countWait(Clock::time_point started)
{
    const std::chrono::nanoseconds waited = Clock::now() - started;
    CacheCounters::add(m_counters.readWaitNs, static_cast<std::uint64_t>(waited.count()));
}

// Gives slots to the next missing records, as far as the window and the cache allow.
void ExpertCache::moveWindow()
{
    for (; m_windowEnd < m_missing.size() && m_slots.windowCount() < m_window; ++m_windowEnd) {
        const std::uint32_t record = m_missing[m_windowEnd];
        if (!isLeft(record))
            continue; // acquired out of order
        std::uint32_t slot = m_slots.slotOf(record);
        if (slot == kNone) {
            slot = takeSlot(record, SlotTable::Purpose::ReadAhead);
            if (slot == kNone)
                return;
            m_slots.setInWindow(slot, true);
            m_workAdded.store(true, std::memory_order_relaxed);
        } else if (m_slots[slot].state == State::Resident) {
            m_arrived.push_back(record);
        }
        m_slots[slot].claim = Claim::Announced;
    }
}

// What nobody asked for and no reader has begun is dropped; reads under way end on their own.
void ExpertCache::forgetAnnouncement()
{
    for (const std::uint32_t record : m_announced) {
        if (!isLeft(record))
            continue;
        m_left[record - m_layerBegin] = 0;
        const std::uint32_t slot = m_slots.slotOf(record);
        if (slot == kNone || m_slots[slot].claim != Claim::Announced)
            continue;
        m_slots[slot].claim = Claim::None;
        m_slots.setInWindow(slot, false);
        if (m_slots[slot].state == State::Queued)
            vacate(slot);
    }
    assert(m_slots.windowCount() == 0);
    m_leftCount = 0;
    m_announced.clear();
    m_missing.clear();
    m_windowEnd = 0;
    m_readEnd = 0;
    m_arrived.clear();
    m_arrivedEnd = 0;
}

std::uint32_t ExpertCache::takeSlot(std::uint32_t record, SlotTable::Purpose purpose)
{
    const SlotTable::Taken taken = m_slots.take(record, purpose, isLeft(record) ? 1 : 0);
    if (taken.evicted)
        CacheCounters::add(m_counters.evictions, 1);
    countSlots();
    return taken.slot;
}

void ExpertCache::vacate(std::uint32_t slot)
{
    m_slots.vacate(slot);
    countSlots();
}

void ExpertCache::countSlots()
{
    m_counters.slotsUsed.store(m_slots.usedCount(), std::memory_order_relaxed);
    m_counters.slotCount.store(m_slots.servingCount(), std::memory_order_relaxed);
}

} // namespace waste
