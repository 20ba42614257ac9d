#include "platform/file_facts.h"

#include "platform/file_error.h"

#include <system_error>

#if !defined(_WIN32)
#include <cerrno>
#include <sys/stat.h>
#endif

namespace waste {

#if defined(_WIN32)

Result<FileFacts> fileFacts(const std::filesystem::path& path)
{
    std::error_code error;
    FileFacts facts;
    facts.isRegular = std::filesystem::symlink_status(path, error).type() == std::filesystem::file_type::regular;
    if (!error)
        facts.bytes = std::filesystem::file_size(path, error);
    if (!error)
        facts.linkCount = std::filesystem::hard_link_count(path, error);
    if (error)
        return fileError("look at", path, error);
    // 100 ns since 1601.
    constexpr std::int64_t kUnixEpoch = 116'444'736'000'000'000;
    facts.modifiedNs = (std::filesystem::last_write_time(path, error).time_since_epoch().count() - kUnixEpoch) * 100;
    if (error)
        return fileError("look at", path, error);
    return facts;
}

bool isSameVolume(const std::filesystem::path& a, const std::filesystem::path& b)
{
    std::error_code error;
    return std::filesystem::absolute(a, error).root_name() == std::filesystem::absolute(b, error).root_name();
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
