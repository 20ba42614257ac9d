#include "platform/linux_facts.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

namespace waste {

namespace {

namespace fs = std::filesystem;
using Kind = DriveFacts::Kind;

std::string firstLine(const fs::path& file)
{
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

// Blanks and backslashes of paths come as three octal digits.
std::string unescaped(std::string_view text)
{
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size()) {
            plain += static_cast<char>(std::strtol(std::string(text.substr(i + 1, 3)).c_str(), nullptr, 8));
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

bool contains(const fs::path& folder, const fs::path& path)
{
    const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    return end == folder.end() || (std::next(end) == folder.end() && end->empty());
}

// A partition's queue is that of the disk around it; a mapped device stands for those below it.
Kind kindOfDevice(const fs::path& device)
{
    const std::string name = device.filename().string();
    if (name.starts_with("nvme"))
        return Kind::Nvme;
    // A virtual machine's drives call themselves rotating, whatever is behind them.
    if (name.starts_with("vd") || name.starts_with("xvd"))
        return Kind::Virtual;
    std::error_code error; // a device without one has no such folder
    for (fs::directory_iterator below(device / "slaves", error), end; below != end; below.increment(error))
        if (below->path().filename().string().starts_with("nvme"))
            return Kind::Nvme;
    for (const fs::path& queue : {device / "queue", device.parent_path() / "queue"}) {
        const std::string rotational = firstLine(queue / "rotational");
        if (!rotational.empty())
            return rotational == "0" ? Kind::SolidState : Kind::Rotating;
    }
    return Kind::Unknown;
}

} // namespace

std::optional<Mount> mountOf(const fs::path& path, const fs::path& root)
{
    // "36 35 98:0 /of/the/device /mount/point rw,noatime master:1 - ext3 /dev/root rw"
    std::ifstream stream(root / "proc/self/mountinfo");
    std::optional<Mount> found;
    std::size_t longest = 0;
    std::string line;
    while (std::getline(stream, line)) {
        std::istringstream words(line);
        std::string ignored;
        std::string point;
        Mount mount;
        words >> ignored >> ignored >> mount.deviceNumber >> ignored >> point;
        while (words >> ignored && ignored != "-")
            continue;
        words >> mount.fileSystem >> mount.source;
        if (!words)
            continue;
        point = unescaped(point);
        // Of two mounts at one place the later one is seen.
        if (contains(point, path) && point.size() >= longest) {
            longest = point.size();
            found = std::move(mount);
        }
    }
    return found;
}

std::optional<BlockDevice> blockDeviceOf(const Mount& mount, const fs::path& root)
{
    std::vector<fs::path> places = {root / "sys/dev/block" / mount.deviceNumber};
    if (mount.source.starts_with("/dev/"))
        places.push_back(root / "sys/class/block" / fs::path(mount.source).filename());
    for (const fs::path& place : places) {
        std::error_code error;
        const fs::path device = fs::canonical(place, error);
        if (!error)
            return BlockDevice{device.filename().string(), kindOfDevice(device)};
    }
    return std::nullopt;
}

Kind kindOfFileSystem(std::string_view fileSystem)
{
    static constexpr std::array kNetwork = {"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse.sshfs", "ceph"};
    static constexpr std::array kMemory = {"tmpfs", "ramfs"};
    if (std::find(kNetwork.begin(), kNetwork.end(), fileSystem) != kNetwork.end())
        return Kind::Network;
    if (std::find(kMemory.begin(), kMemory.end(), fileSystem) != kMemory.end())
        return Kind::Memory;
    return Kind::Unknown;
}

std::uint64_t meminfoBytes(std::string_view key, const fs::path& root)
{
    std::ifstream stream(root / "proc/meminfo");
    std::string line;
    while (std::getline(stream, line))
        if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ':')
            return std::strtoull(line.c_str() + key.size() + 1, nullptr, 10) * 1024; // "MemAvailable:   123 kB"
    return 0;
}

MachineFacts::HugePages hugePagesSetting(const fs::path& root)
{
    using HugePages = MachineFacts::HugePages;
    const std::string line = firstLine(root / "sys/kernel/mm/transparent_hugepage/enabled");
    if (line.find("[always]") != std::string::npos)
        return HugePages::Always;
    if (line.find("[madvise]") != std::string::npos)
        return HugePages::OnRequest;
    return line.find("[never]") != std::string::npos ? HugePages::Never : HugePages::Unknown;
}

} // namespace waste
