#pragma once

#include <chrono>
#include <string>

namespace waste::host {

// A time to wait, as exactly as it can be foretold: "2 d 3 h", "3 h 12 min", "5 min", "40 s".
std::string formatDuration(std::chrono::seconds time);

} // namespace waste::host
