#pragma once

#include <string>

namespace waste {

// In UTC: 2026-01-31T23:59:59Z
std::string currentTime();

} // namespace waste
