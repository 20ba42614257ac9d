#pragma once

#include <cstdint>
#include <filesystem>

namespace waste {

std::uint64_t physicalMemoryBytes();

// min(physical, limits of the control group or job this process lives in). Only capacity counts, never
// momentary pressure. `root` is where /proc and /sys are looked up. Spec: streaming 7.2.
std::uint64_t usableMemoryBytes(const std::filesystem::path& root = "/");

// True when programs have stood still for want of memory during the last minute: Linux, at least 2 % of it (pressure
// stall information; false on kernels without); macOS and Windows, when the system itself says that memory is short.
bool machinePages(const std::filesystem::path& root = "/");

// Of this process since it started. 0 where the system does not tell.
struct ProcessMemory {
    std::uint64_t residentBytes = 0; // now
    std::uint64_t residentPeakBytes = 0;
    std::uint64_t majorFaults = 0; // pages that had to come from a disk: the sign of paging
};
ProcessMemory processMemory();

} // namespace waste
