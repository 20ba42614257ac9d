#include "prompt/stop_strings.h"

#include <algorithm>
#include <utility>

namespace waste {

StopStrings::StopStrings(std::vector<std::string> strings)
    : m_strings(std::move(strings))
{
    std::erase(m_strings, std::string());
}

std::string StopStrings::push(std::string_view text)
{
    if (m_matched)
        return {};
    m_pending += text;
    std::size_t matchEnd = std::string::npos;
    std::size_t matchBegin = 0;
    for (const std::string& string : m_strings) {
        const std::size_t begin = m_pending.find(string);
        if (begin == std::string::npos)
            continue;
        const std::size_t end = begin + string.size();
        if (end < matchEnd || (end == matchEnd && begin < matchBegin)) {
            matchBegin = begin;
            matchEnd = end;
        }
    }
    if (matchEnd != std::string::npos) {
        m_matched = true;
        m_pending.resize(matchBegin);
        return release();
    }
    const std::size_t releasedBytes = m_pending.size() - heldBytes();
    std::string released = m_pending.substr(0, releasedBytes);
    m_pending.erase(0, releasedBytes);
    return released;
}

std::string StopStrings::release()
{
    return std::exchange(m_pending, {});
}

// The longest end of the pending text that is the beginning of a stop string.
std::size_t StopStrings::heldBytes() const
{
    std::size_t held = 0;
    for (const std::string& string : m_strings) {
        for (std::size_t length = std::min(string.size() - 1, m_pending.size()); length > held; --length) {
            if (std::string_view(m_pending).ends_with(std::string_view(string).substr(0, length)))
                held = length;
        }
    }
    return held;
}

} // namespace waste
