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

// Pages that this process has waited for since it started because they had to come from a drive. 0 on Windows, which
// does not tell them from those that were in memory.
std::uint64_t majorFaults();

} // namespace waste
