#include "experts/slot_table.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace waste {

SlotTable::SlotTable(const RecordStore::Grid& grid, std::uint32_t slotCount, CachePolicy policy, std::uint64_t halfAge)
    : m_grid(grid)
    , m_rule{policy, halfAge, grid.layerCount}
    , m_slots(slotCount)
    , m_records(std::size_t{grid.layerCount} * grid.expertCount)
    , m_servingCount(slotCount)
{
    m_free.reserve(slotCount);
    for (std::uint32_t slot = slotCount; slot > 0; --slot)
        m_free.push_back(slot - 1);
}

std::uint32_t SlotTable::recordOf(ExpertKey key) const
{
    assert(key.layer >= m_grid.firstLayer && key.layer - m_grid.firstLayer < m_grid.layerCount);
    assert(key.expert < m_grid.expertCount);
    return (std::uint32_t{key.layer} - m_grid.firstLayer) * m_grid.expertCount + key.expert;
}

ExpertKey SlotTable::keyOf(std::uint32_t record) const
{
    return {static_cast<std::uint16_t>(m_grid.firstLayer + record / m_grid.expertCount),
        static_cast<std::uint16_t>(record % m_grid.expertCount)};
}

bool SlotTable::isResident(std::uint32_t record) const
{
    const std::uint32_t slot = m_records[record].slot;
    return slot != kNone && m_slots[slot].state == State::Resident;
}

void SlotTable::use(std::uint32_t record)
{
    RecordHistory& history = m_records[record].history;
    history.lastUse = ++m_clock;
    ++history.uses;
    m_layer = record / m_grid.expertCount;
}

SlotTable::Taken SlotTable::take(std::uint32_t record, Purpose purpose, std::uint32_t usesSoFar)
{
    assert(m_records[record].slot == kNone);
    Taken taken;
    if (m_free.empty()) {
        const std::uint32_t victim = findVictim(purpose);
        if (victim == kNone)
            return taken;
        taken.evicted = m_slots[victim].state == State::Resident;
        vacate(victim);
    }
    taken.slot = m_free.back();
    m_free.pop_back();
    m_slots[taken.slot].record = record;
    m_slots[taken.slot].state = State::Queued;
    m_records[record].slot = taken.slot;
    if (m_rule.policy == CachePolicy::Lfru)
        m_records[record].history.uses = usesSoFar;
    return taken;
}

void SlotTable::vacate(std::uint32_t slot)
{
    assert(m_slots[slot].pinCount == 0);
    setInWindow(slot, false);
    m_records[m_slots[slot].record].slot = kNone;
    m_slots[slot] = Slot();
    if (slot < m_servingCount)
        m_free.push_back(slot);
    else
        m_slots[slot].state = State::Lent;
}

bool SlotTable::serveWith(std::uint32_t servingCount)
{
    assert(servingCount > 0 && servingCount <= m_slots.size());
    m_servingCount = servingCount;
    m_free.erase(std::remove_if(m_free.begin(), m_free.end(), [=](std::uint32_t slot) { return slot >= servingCount; }),
        m_free.end());
    bool isDone = true;
    for (std::uint32_t slot = static_cast<std::uint32_t>(m_slots.size()); slot > 0; --slot) {
        Slot& place = m_slots[slot - 1];
        if (slot - 1 < servingCount) {
            if (place.state == State::Lent) {
                place.state = State::Free;
                m_free.push_back(slot - 1);
            }
        } else if (place.state == State::Free) {
            place.state = State::Lent;
        } else if (place.state == State::Loading) {
            isDone = false;
        } else if (place.state != State::Lent) {
            assert(place.state == State::Resident);
            vacate(slot - 1);
        }
    }
    return isDone;
}

void SlotTable::setInWindow(std::uint32_t slot, bool inWindow)
{
    if (std::exchange(m_slots[slot].inWindow, inWindow) != inWindow)
        inWindow ? ++m_windowCount : --m_windowCount;
}

std::uint64_t SlotTable::bookkeepingBytes(const RecordStore::Grid& grid, std::uint32_t slotCount)
{
    return std::uint64_t{grid.layerCount} * grid.expertCount * sizeof(Record)
        + std::uint64_t{slotCount} * (sizeof(Slot) + sizeof(std::uint32_t));
}

// The least valuable of a few slots drawn at random, which costs the same at any cache size. Only if all of
// them are in use every slot is looked at.
std::uint32_t SlotTable::findVictim(Purpose purpose)
{
    const std::uint32_t slotCount = m_servingCount;
    std::uint32_t victim = kNone;
    const auto consider = [&](std::uint32_t slot, Purpose reach) {
        if (isEvictable(slot, reach)
            && (victim == kNone || m_rule.leavesBefore(candidate(slot), candidate(victim), m_clock)))
            victim = slot;
    };
    for (std::uint32_t sample = 0; sample < m_rule.sampleCount(); ++sample)
        consider(m_sampler.next(slotCount), Purpose::ReadAhead);
    for (std::uint32_t slot = 0; slot < slotCount && victim == kNone; ++slot)
        consider(slot, Purpose::ReadAhead);
    for (std::uint32_t slot = 0; slot < slotCount && victim == kNone && purpose == Purpose::Demand; ++slot)
        consider(slot, Purpose::Demand);
    return victim;
}

bool SlotTable::isEvictable(std::uint32_t slot, Purpose purpose) const
{
    const Slot& candidate = m_slots[slot];
    if (candidate.pinCount > 0 || candidate.state == State::Loading)
        return false;
    return purpose == Purpose::Demand || candidate.claim == Claim::None;
}

EvictionCandidate SlotTable::candidate(std::uint32_t slot) const
{
    const std::uint32_t record = m_slots[slot].record;
    const std::uint32_t layer = record / m_grid.expertCount;
    return {m_records[record].history, layer > m_layer ? layer - m_layer : layer + m_grid.layerCount - m_layer};
}

} // namespace waste
