#include "support/failing_disk.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

namespace waste::test {
namespace {

FailingDisk::Plan activePlan;
std::atomic<bool> active = false; // publishes activePlan
std::atomic<std::uint32_t> calls = 0;

using FileId = std::pair<std::uint64_t, std::uint64_t>; // device, inode
std::mutex readsMutex; // guards the next
std::map<FileId, FailingDisk::Reads> reads;

// Whether this call fails; sets errno then.
[[maybe_unused]] bool fails(FailingDisk::Call call)
{
    if (!active.load(std::memory_order_acquire) || activePlan.call != call)
        return false;
    const std::uint32_t number = ++calls;
    if (activePlan.error == 0 || number < activePlan.firstFailing
        || number - activePlan.firstFailing >= activePlan.failingCount)
        return false;
    errno = activePlan.error;
    return true;
}

[[maybe_unused]] std::size_t transferBytes(std::size_t wanted)
{
    return active.load(std::memory_order_acquire) ? std::min(wanted, activePlan.transferBytesMax) : wanted;
}

} // namespace

FailingDisk::FailingDisk(const Plan& plan)
{
    activePlan = plan;
    calls = 0;
    {
        const std::lock_guard lock(readsMutex);
        reads.clear();
    }
    active.store(true, std::memory_order_release);
}

FailingDisk::~FailingDisk()
{
    active.store(false, std::memory_order_release);
}

std::uint32_t FailingDisk::callCount() const
{
    return calls;
}

} // namespace waste::test

#if defined(__linux__)

#include <cstdarg>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

bool waste::test::FailingDisk::isSupported()
{
    return true;
}

namespace waste::test {

FailingDisk::Reads FailingDisk::readsOf(const std::filesystem::path& file) const
{
    struct stat facts = {};
    if (stat(file.c_str(), &facts) != 0)
        return {};
    const std::lock_guard lock(readsMutex);
    const auto found = reads.find({facts.st_dev, facts.st_ino});
    return found != reads.end() ? found->second : Reads();
}

namespace {

void countRead(int file, std::uint64_t bytes, std::uint64_t offset)
{
    struct stat facts = {};
    if (!active.load(std::memory_order_acquire) || fstat(file, &facts) != 0)
        return;
    const bool isCached = (fcntl(file, F_GETFL) & O_DIRECT) == 0;
    const std::lock_guard lock(readsMutex);
    FailingDisk::Reads& counted = reads[{facts.st_dev, facts.st_ino}];
    counted.bytes += bytes;
    counted.cachedBytes += isCached ? bytes : 0;
    counted.offsets.insert(offset);
}

} // namespace
} // namespace waste::test

// Visible to the shared libraries as well: std::filesystem renames from inside of one.
#define WASTE_INTERPOSE extern "C" __attribute__((visibility("default")))
using waste::test::FailingDisk;

WASTE_INTERPOSE ssize_t pread(int file, void* target, size_t bytes, off_t offset)
{
    if (waste::test::fails(FailingDisk::Call::Read))
        return -1;
    // Asked for whole, because uncached reads of odd lengths are refused, and reported short.
    const ssize_t moved = syscall(SYS_pread64, file, target, bytes, offset);
    if (moved <= 0)
        return moved;
    const std::size_t told = waste::test::transferBytes(static_cast<std::size_t>(moved));
    waste::test::countRead(file, told, static_cast<std::uint64_t>(offset));
    return static_cast<ssize_t>(told);
}

WASTE_INTERPOSE ssize_t pwrite(int file, const void* source, size_t bytes, off_t offset)
{
    if (waste::test::fails(FailingDisk::Call::Write))
        return -1;
    return syscall(SYS_pwrite64, file, source, waste::test::transferBytes(bytes), offset);
}

WASTE_INTERPOSE int fdatasync(int file)
{
    return waste::test::fails(FailingDisk::Call::Flush) ? -1 : static_cast<int>(syscall(SYS_fdatasync, file));
}

WASTE_INTERPOSE int fsync(int file)
{
    return waste::test::fails(FailingDisk::Call::Flush) ? -1 : static_cast<int>(syscall(SYS_fsync, file));
}

WASTE_INTERPOSE int close(int file)
{
    const int flags = fcntl(file, F_GETFL);
    const bool mayHaveWritten = flags != -1 && (flags & O_ACCMODE) != O_RDONLY;
    const bool fails = mayHaveWritten && waste::test::fails(FailingDisk::Call::Close);
    const int error = errno;
    const auto closed = static_cast<int>(syscall(SYS_close, file));
    if (!fails)
        return closed;
    errno = error;
    return -1;
}

WASTE_INTERPOSE int remove(const char* path) noexcept
{
    if (waste::test::fails(FailingDisk::Call::Remove))
        return -1;
    const auto removed = static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
    return removed == 0 || errno != EISDIR ? removed
                                           : static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}

WASTE_INTERPOSE int unlinkat(int folder, const char* path, int flags) noexcept
{
    return waste::test::fails(FailingDisk::Call::Remove) ? -1
                                                         : static_cast<int>(syscall(SYS_unlinkat, folder, path, flags));
}

WASTE_INTERPOSE int rename(const char* from, const char* to) noexcept
{
    if (waste::test::fails(FailingDisk::Call::Rename))
        return -1;
    return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace {

int openWith(int folder, const char* path, int flags, mode_t mode)
{
    if (waste::test::fails(FailingDisk::Call::Open)
        || ((flags & O_CREAT) != 0 && waste::test::fails(FailingDisk::Call::Create)))
        return -1;
    return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

} // namespace

WASTE_INTERPOSE int open(const char* path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return openWith(AT_FDCWD, path, flags, mode);
}

WASTE_INTERPOSE int mkdir(const char* path, mode_t mode) noexcept
{
    return waste::test::fails(FailingDisk::Call::MakeFolder)
        ? -1
        : static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

WASTE_INTERPOSE int ftruncate(int file, off_t bytes) noexcept
{
    return waste::test::fails(FailingDisk::Call::Resize) ? -1 : static_cast<int>(syscall(SYS_ftruncate, file, bytes));
}

WASTE_INTERPOSE int symlink(const char* target, const char* path) noexcept
{
    return waste::test::fails(FailingDisk::Call::Link)
        ? -1
        : static_cast<int>(syscall(SYS_symlinkat, target, AT_FDCWD, path));
}

#else

bool waste::test::FailingDisk::isSupported()
{
    return false;
}

waste::test::FailingDisk::Reads waste::test::FailingDisk::readsOf(const std::filesystem::path&) const
{
    return {};
}

#endif
