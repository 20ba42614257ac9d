#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace waste {

// Finds stop strings in text that arrives in pieces. A suffix that may still become one is held back. Of
// several strings the one that is complete first wins, so the result does not depend on the pieces.
class StopStrings {
public:
    explicit StopStrings(std::vector<std::string> strings); // empty ones are ignored

    // What is certainly no part of a stop string. After a match: nothing, ever.
    std::string push(std::string_view text);
    std::string release(); // what was held back: the text ends here

    [[nodiscard]] bool matched() const { return m_matched; }

private:
    [[nodiscard]] std::size_t heldBytes() const;

    std::vector<std::string> m_strings;
    std::string m_pending; // shorter than the longest string
    bool m_matched = false;
};

} // namespace waste
