// The guessing side of the cache: which guesses it takes, when they are read, and what became of them.

#include "experts/expert_cache.h"

#include <algorithm>
#include <utility>

namespace waste {

std::uint32_t ExpertCache::guessesWanted()
{
    const std::lock_guard lock(m_mutex);
    return takesGuesses() ? m_guessWidth.widthForNextLayer() : 0;
}

std::uint32_t ExpertCache::chunkGuessesWanted()
{
    const std::lock_guard lock(m_mutex);
    return takesGuesses() && !m_guessWidth.isOff() ? m_chunkGuesses : 0;
}

void ExpertCache::prefetch(std::uint16_t layer, std::span<const std::uint16_t> experts, GuessFor guessFor)
{
    {
        const std::lock_guard lock(m_mutex);
        const bool isOfChunk = guessFor == GuessFor::Chunk;
        const bool isSecond = !m_guesses.empty() && m_slots.keyOf(m_guesses.front()).layer == layer;
        if (isSecond && isOfChunk == m_areGuessesOfChunk)
            dropGuessesNotBegun();
        else
            settleGuesses();
        m_areGuessesOfChunk = isOfChunk;
        const std::uint32_t most = m_areGuessesOfChunk ? m_chunkGuesses : m_window;
        for (const std::uint16_t expert : experts.first(std::min<std::size_t>(experts.size(), most))) {
            const std::uint32_t record = m_slots.recordOf({layer, expert});
            if (std::find(m_guesses.begin(), m_guesses.end(), record) == m_guesses.end())
                m_guesses.push_back(record);
            const std::uint32_t slot = m_slots.slotOf(record);
            if (slot != kNone && m_slots[slot].claim == Claim::None)
                m_slots[slot].claim = Claim::Guess; // it stays, which costs nothing
        }
        m_workAdded.store(true, std::memory_order_relaxed);
    }
    wakeReaders();
}

// Where every record has a slot, each is read once anyway.
bool ExpertCache::takesGuesses() const
{
    return m_hasReaders && m_slots.all().size() < std::size_t{m_grid.layerCount} * m_grid.expertCount;
}

// A guess gets its slot only now, so that one that is never read evicts nobody.
std::uint32_t ExpertCache::nextGuess(const Room& room)
{
    while (m_guessEnd < m_guesses.size()) {
        const std::uint32_t record = m_guesses[m_guessEnd];
        if (wantedOf(record, room) != Wanted::Anything) // nor are the others: they are of one layer
            return kNone;
        ++m_guessEnd;
        if (m_slots.slotOf(record) != kNone)
            continue;
        const std::uint32_t slot = takeSlot(record, SlotTable::Purpose::ReadAhead);
        if (slot == kNone)
            continue;
        m_slots[slot].claim = Claim::Guess;
        m_slots[slot].counted = true;
        m_slots[slot].readByGuess = true;
        CacheCounters::add(m_counters.guessesIssued, 1);
        return slot;
    }
    return kNone;
}

// What a chunk is right about says nothing of how well single tokens are guessed.
void ExpertCache::judgeGuess(std::uint32_t slot, bool isRight)
{
    if (!std::exchange(m_slots[slot].readByGuess, false))
        return;
    CacheCounters::add(isRight ? m_counters.guessesUseful : m_counters.guessesWasted, 1);
    if (!m_areGuessesOfChunk)
        m_guessWidth.noteOutcome({.isRight = isRight, .isLate = m_slots[slot].state == State::Loading});
}

// The announcement is known: guesses that it does not name are judged by their history like everybody else,
// and those not begun are dropped.
void ExpertCache::settleGuesses()
{
    for (const std::uint32_t record : m_guesses) {
        const std::uint32_t slot = m_slots.slotOf(record);
        if (slot == kNone || m_slots[slot].claim != Claim::Guess)
            continue;
        m_slots[slot].claim = Claim::None;
        judgeGuess(slot, false);
    }
    m_guesses.clear();
    m_guessEnd = 0;
}

// Before a better guess at the same layer: what has been begun may still turn out right.
void ExpertCache::dropGuessesNotBegun()
{
    const auto isDropped = [this](std::uint32_t record) {
        const std::uint32_t slot = m_slots.slotOf(record);
        if (slot != kNone && m_slots[slot].readByGuess)
            return false;
        if (slot != kNone && m_slots[slot].claim == Claim::Guess)
            m_slots[slot].claim = Claim::None; // it was there before anybody guessed
        return true;
    };
    m_guesses.erase(std::remove_if(m_guesses.begin(), m_guesses.end(), isDropped), m_guesses.end());
    m_guessEnd = m_guesses.size();
}

} // namespace waste
