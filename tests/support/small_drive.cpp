#include "support/small_drive.h"

#include <atomic>

#ifdef __linux__
#include <dlfcn.h>
#include <sys/statvfs.h>
#endif

namespace waste::test {
namespace {

constexpr std::uint64_t kReal = UINT64_MAX;
std::atomic<std::uint64_t> freeBytesNow = kReal;

} // namespace

SmallDrive::SmallDrive(std::uint64_t freeBytes)
{
    freeBytesNow = freeBytes;
}

SmallDrive::~SmallDrive()
{
    freeBytesNow = kReal;
}

void SmallDrive::setFreeBytes(std::uint64_t bytes)
{
    freeBytesNow = bytes;
}

bool SmallDrive::isSupported()
{
#ifdef __linux__
    return true;
#else
    return false;
#endif
}

} // namespace waste::test

#ifdef __linux__
// Stands before the C library's own; std::filesystem asks it.
extern "C" __attribute__((visibility("default"))) int statvfs(const char* path, struct statvfs* result)
{
    using Function = int (*)(const char*, struct statvfs*);
    static const auto original = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "statvfs"));
    const int status = original(path, result);
    const std::uint64_t bytes = waste::test::freeBytesNow;
    if (status == 0 && bytes != waste::test::kReal) {
        result->f_frsize = 1;
        result->f_bavail = bytes;
    }
    return status;
}
#endif
