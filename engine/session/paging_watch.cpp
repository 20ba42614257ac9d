#include "session/paging_watch.h"

namespace waste {
namespace {

// Nothing that a token needs is read by page faults, so at rest there are none; a program that is paged out has
// thousands.
constexpr std::uint64_t kManyFaults = 64;
constexpr std::uint32_t kTokensInRow = 4;

} // namespace

void PagingWatch::begin(std::uint64_t majorFaults)
{
    m_faults = majorFaults;
}

std::uint64_t PagingWatch::add(std::uint64_t majorFaults)
{
    const std::uint64_t count = majorFaults - m_faults;
    m_faults = majorFaults;
    const bool speaksAgainst = (count >= kManyFaults) != m_isPaging;
    m_tokensAgainst = speaksAgainst ? m_tokensAgainst + 1 : 0;
    if (m_tokensAgainst == kTokensInRow) {
        m_isPaging = !m_isPaging;
        m_tokensAgainst = 0;
    }
    return count;
}

} // namespace waste
