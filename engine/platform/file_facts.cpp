#include "platform/file_facts.h"

#include "platform/file_error.h"

#include <system_error>

#if defined(_WIN32)
#include "platform/windows_api.h"
#include "platform/windows_path.h"
#else
#include <cerrno>
#include <sys/stat.h>
#endif

namespace waste {

#if defined(_WIN32)
namespace {

// Of a file or a folder, a link followed or not.
Result<BY_HANDLE_FILE_INFORMATION> informationOf(const std::filesystem::path& path, DWORD linkFlag)
{
    BY_HANDLE_FILE_INFORMATION information = {};
    constexpr DWORD kEverybodyElse = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    const HANDLE handle = CreateFileW(systemPath(path).c_str(), FILE_READ_ATTRIBUTES, kEverybodyElse, nullptr,
        OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | linkFlag, nullptr);
    const bool known = handle != INVALID_HANDLE_VALUE && GetFileInformationByHandle(handle, &information) != FALSE;
    const std::error_code error(static_cast<int>(GetLastError()), std::system_category());
    if (handle != INVALID_HANDLE_VALUE)
        CloseHandle(handle);
    if (!known)
        return fileError("look at", path, error);
    return information;
}

std::uint64_t joined(DWORD high, DWORD low)
{
    return (std::uint64_t{high} << 32) | low;
}

} // namespace

Result<FileFacts> fileFacts(const std::filesystem::path& path)
{
    WASTE_TRY(const BY_HANDLE_FILE_INFORMATION facts, informationOf(path, FILE_FLAG_OPEN_REPARSE_POINT));
    constexpr DWORD kOther = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT | FILE_ATTRIBUTE_DEVICE;
    constexpr std::int64_t kUnixEpoch = 116'444'736'000'000'000; // in 100 ns since 1601
    const auto modified =
        static_cast<std::int64_t>(joined(facts.ftLastWriteTime.dwHighDateTime, facts.ftLastWriteTime.dwLowDateTime));
    return FileFacts{(facts.dwFileAttributes & kOther) == 0, joined(facts.nFileSizeHigh, facts.nFileSizeLow),
        (modified - kUnixEpoch) * 100, facts.nNumberOfLinks};
}

bool isSameVolume(const std::filesystem::path& a, const std::filesystem::path& b)
{
    const auto first = informationOf(a, 0);
    const auto second = informationOf(b, 0);
    return first && second && first->dwVolumeSerialNumber == second->dwVolumeSerialNumber;
}

#else

Result<FileFacts> fileFacts(const std::filesystem::path& path)
{
    struct stat facts = {};
    if (::lstat(path.c_str(), &facts) != 0)
        return fileError("look at", path, std::error_code(errno, std::system_category()));
#if defined(__APPLE__)
    const timespec& modified = facts.st_mtimespec;
#else
    const timespec& modified = facts.st_mtim;
#endif
    return FileFacts{S_ISREG(facts.st_mode), static_cast<std::uint64_t>(facts.st_size),
        std::int64_t{modified.tv_sec} * 1'000'000'000 + modified.tv_nsec, static_cast<std::uint64_t>(facts.st_nlink)};
}

bool isSameVolume(const std::filesystem::path& a, const std::filesystem::path& b)
{
    struct stat first = {};
    struct stat second = {};
    return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev;
}

#endif

std::filesystem::path linkTarget(const std::filesystem::path& path)
{
    std::error_code error;
    std::filesystem::path target = std::filesystem::read_symlink(path, error);
    return error || target.is_absolute() ? target : path.parent_path() / target;
}

} // namespace waste
