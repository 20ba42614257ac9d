#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace waste {

// The smallest memory limit that Linux control groups, version 1 or 2, put on this process; empty if
// there is none. Looks below `root`/proc/self and `root`/sys/fs/cgroup. Spec: streaming 7.2.
std::optional<std::uint64_t> cgroupMemoryLimitBytes(const std::filesystem::path& root);

// The version that could limit memory: 1 or 2; 0: none. Where both are mounted, memory is version 1's.
std::uint32_t controlGroupVersion(const std::filesystem::path& root);

} // namespace waste
