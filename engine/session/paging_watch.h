#pragma once

#include <cstdint>
#include <utility>

namespace waste {

// Notices that the system pages this program out while it writes (spec: streaming 7.4): every token then waits for
// pages that come back from a drive, several times as long as for the experts that a smaller cache would miss.
class PagingWatch {
public:
    // What comes before the next token is none of its business: `majorFaults` of this process since it started.
    void begin(std::uint64_t majorFaults);
    // Once a token. Returns the faults since the token before.
    std::uint64_t add(std::uint64_t majorFaults);
    // From some tokens in a row that waited for many pages to as many that did not.
    [[nodiscard]] bool isPaging() const { return m_isPaging; }
    // True once, when that happens for the first time.
    [[nodiscard]] bool isNews() { return m_isPaging && !std::exchange(m_isTold, true); }

private:
    std::uint64_t m_faults = 0;
    std::uint32_t m_tokensAgainst = 0; // in a row, that say the opposite of m_isPaging
    bool m_isPaging = false;
    bool m_isTold = false;
};

} // namespace waste
