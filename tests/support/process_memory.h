#pragma once

#include <cstdint>

namespace waste::test {

// Of this process. 0 where the system does not tell.
struct ProcessMemory {
    std::uint64_t residentBytes = 0; // now
    std::uint64_t residentPeakBytes = 0; // since it started
};
ProcessMemory processMemory();

} // namespace waste::test
