#pragma once

#include "waste/machine_facts.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace waste {

// What Linux tells of itself in /proc and /sys. `root` is where the two are looked up, so that other machines
// can be tried.

struct Mount {
    std::string deviceNumber; // "259:2"; of some file systems one of their own, "0:41"
    std::string fileSystem; // "ext4"
    std::string source; // "/dev/nvme0n1p2"
};
// `path` is absolute and without links.
std::optional<Mount> mountOf(const std::filesystem::path& path, const std::filesystem::path& root);

struct BlockDevice {
    std::string name; // "nvme0n1p2"
    DriveFacts::Kind kind = DriveFacts::Kind::Unknown;
};
// Empty where nothing in /sys belongs to the mount.
std::optional<BlockDevice> blockDeviceOf(const Mount& mount, const std::filesystem::path& root);
// Network and memory file systems have no device to look at.
DriveFacts::Kind kindOfFileSystem(std::string_view fileSystem);

std::uint64_t meminfoBytes(std::string_view key, const std::filesystem::path& root); // "MemAvailable"; 0: not there
MachineFacts::HugePages hugePagesSetting(const std::filesystem::path& root);

} // namespace waste
