#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace waste::host {

// "1 layer", "7 layers": a number and what is counted, in the singular.
inline std::string countText(std::uint64_t count, std::string_view noun)
{
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

} // namespace waste::host
