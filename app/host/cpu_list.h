#pragma once

#include "waste/result.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace waste::host {

inline constexpr std::uint32_t kCpuNumbersMax = 1024;

// "0-5", "0-2,6-8", "3": CPU numbers below kCpuNumbersMax, ascending and each once. Blanks around numbers
// and "-" are fine; reversed ranges and empty items are not.
Result<std::vector<std::uint32_t>> parseCpuList(std::string_view text);

} // namespace waste::host
