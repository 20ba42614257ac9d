#pragma once

#include <cstdint>

namespace waste {

std::uint64_t currentProcessId();

} // namespace waste
