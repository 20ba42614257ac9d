#include "platform/volume_space.h"

#include "platform/file_error.h"
#include "platform/file_facts.h"

#include <algorithm>

#if defined(_WIN32)
#include "platform/windows_api.h"

#include <array>
#endif

namespace waste {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// `path`, or the nearest folder above it that exists.
Result<std::filesystem::path> existingPlace(const std::filesystem::path& path)
{
    std::error_code error;
    std::filesystem::path place = std::filesystem::absolute(path, error);
    while (!error && !std::filesystem::exists(place, error) && place.has_relative_path())
        place = place.parent_path();
    if (error)
        return fileError("find the free space of", path, error);
    return place;
}

Result<std::filesystem::space_info> spaceOf(const std::filesystem::path& place)
{
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(place, error);
    if (error)
        return fileError("find the free space of", place, error);
    return space;
}

std::filesystem::path systemFolder()
{
#if defined(_WIN32)
    std::array<wchar_t, MAX_PATH> text{};
    const UINT length = GetSystemWindowsDirectoryW(text.data(), static_cast<UINT>(text.size()));
    return length < text.size() ? std::filesystem::path(text.data(), text.data() + length) : std::filesystem::path();
#elif defined(__APPLE__)
    return "/System/Volumes/Data"; // "/" itself is a sealed image
#else
    return "/";
#endif
}

} // namespace

Result<std::uint64_t> freeSpaceBytes(const std::filesystem::path& path)
{
    WASTE_TRY(const std::filesystem::path place, existingPlace(path));
    WASTE_TRY(const std::filesystem::space_info space, spaceOf(place));
    return static_cast<std::uint64_t>(space.available);
}

std::uint64_t spaceReserveBytes(std::uint64_t capacityBytes, bool isSystemVolume)
{
    return isSystemVolume ? std::max(20 * kGiB, capacityBytes / 20) : std::max(10 * kGiB, capacityBytes / 50);
}

Result<std::uint64_t> spaceReserveBytes(const std::filesystem::path& path)
{
    WASTE_TRY(const std::filesystem::path place, existingPlace(path));
    WASTE_TRY(const std::filesystem::space_info space, spaceOf(place));
    return spaceReserveBytes(static_cast<std::uint64_t>(space.capacity), isSameVolume(place, systemFolder()));
}

} // namespace waste
