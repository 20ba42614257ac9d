#include "platform/cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace waste {
namespace {

// Version 1 says "no limit" with the largest page-aligned signed number.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;

// A limit file. "max", and whatever cannot be read or understood, limits nothing.
std::uint64_t limitIn(const std::filesystem::path& file)
{
    std::ifstream stream(file);
    std::string word;
    stream >> word;
    std::uint64_t bytes = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), bytes);
    const bool valid = error == std::errc() && end == word.data() + word.size();
    return valid ? std::min(bytes, kNoLimit) : kNoLimit;
}

// Whether the controllers of a /proc/self/cgroup line, "memory" or "cpu,memory", name memory.
bool namesMemory(std::string_view controllers)
{
    while (!controllers.empty()) {
        const std::size_t comma = controllers.find(',');
        if (controllers.substr(0, comma) == "memory")
            return true;
        controllers.remove_prefix(comma == std::string_view::npos ? controllers.size() : comma + 1);
    }
    return false;
}

struct OwnGroups {
    std::filesystem::path unified; // version 2, relative to its mount; empty: the root
    std::optional<std::filesystem::path> memory; // version 1
    std::uint32_t version = 0;
};

// Lines are "hierarchy:controllers:path"; version 2 has "0::path".
OwnGroups readOwnGroups(const std::filesystem::path& file)
{
    OwnGroups groups;
    std::ifstream stream(file);
    std::string line;
    while (std::getline(stream, line)) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos)
            continue;
        const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
        if (namesMemory(controllers))
            groups.version = 1;
        else if (controllers.empty() && groups.version == 0)
            groups.version = 2;
        const std::filesystem::path path = std::filesystem::path(line.substr(second + 1)).relative_path();
        if (std::find(path.begin(), path.end(), "..") != path.end())
            continue; // a group outside of our name space: only the mount's root is known
        if (controllers.empty())
            groups.unified = path;
        else if (namesMemory(controllers))
            groups.memory = path;
    }
    return groups;
}

// The smallest limit of a group and all groups above it, the root of the mount included. A level that is
// not visible here (a container that mounts its own group as the root) limits nothing.
std::uint64_t smallestLimit(
    const std::filesystem::path& mount, std::filesystem::path group, std::initializer_list<std::string_view> limitFiles)
{
    std::uint64_t smallest = kNoLimit;
    while (true) {
        for (const std::string_view file : limitFiles)
            smallest = std::min(smallest, limitIn(mount / group / file));
        if (group.empty())
            return smallest;
        group = group.parent_path();
    }
}

} // namespace

std::optional<std::uint64_t> cgroupMemoryLimitBytes(const std::filesystem::path& root)
{
    const std::filesystem::path mounts = root / "sys/fs/cgroup";
    const OwnGroups groups = readOwnGroups(root / "proc/self/cgroup");
    std::uint64_t smallest = kNoLimit;
    // Where both versions are mounted, version 2 is found under unified/.
    for (const std::filesystem::path& mount : {mounts, mounts / "unified"})
        smallest = std::min(smallest, smallestLimit(mount, groups.unified, {"memory.max", "memory.high"}));
    smallest = std::min(smallest,
        smallestLimit(mounts / "memory", groups.memory.value_or(std::filesystem::path()), {"memory.limit_in_bytes"}));
    return smallest < kNoLimit ? std::optional(smallest) : std::nullopt;
}

std::uint32_t controlGroupVersion(const std::filesystem::path& root)
{
    return readOwnGroups(root / "proc/self/cgroup").version;
}

} // namespace waste
