#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace waste {

// The hard cuts that the release makes in very long inputs before anything else (spec: tokenizer 6.1):
// every 400,000 code points, and inside such a part after every 25,000 of a run that is all blank or all
// not blank. A byte that is no part of a well-formed character counts as a code point.
class OuterCuts {
public:
    explicit OuterCuts(std::string_view text)
        : m_rest(text)
    {
    }
    // The next part, never empty; empty optional at the end.
    std::optional<std::string_view> next();

private:
    std::string_view m_rest;
    std::size_t m_chunkCount = 0; // code points since the last cut of the first kind
};

} // namespace waste
