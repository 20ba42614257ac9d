#include "platform/system_memory.h"

#include "platform/cgroup.h"

#include <algorithm>

#if defined(_WIN32)
#include "platform/windows_api.h"
#else
#include <sys/resource.h>
#include <unistd.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif
#if defined(__linux__)
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#endif

namespace waste {

#if defined(_WIN32)

std::uint64_t physicalMemoryBytes()
{
    MEMORYSTATUSEX status = {};
    status.dwLength = sizeof(status);
    return GlobalMemoryStatusEx(&status) ? status.ullTotalPhys : 0;
}

std::uint64_t usableMemoryBytes(const std::filesystem::path&)
{
    std::uint64_t usable = physicalMemoryBytes();
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION job = {};
    if (QueryInformationJobObject(nullptr, JobObjectExtendedLimitInformation, &job, sizeof(job), nullptr)) {
        if ((job.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_PROCESS_MEMORY) != 0)
            usable = std::min<std::uint64_t>(usable, job.ProcessMemoryLimit);
        if ((job.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_JOB_MEMORY) != 0)
            usable = std::min<std::uint64_t>(usable, job.JobMemoryLimit);
    }
    return usable;
}

bool machinePages(const std::filesystem::path&)
{
    const HANDLE notification = CreateMemoryResourceNotification(LowMemoryResourceNotification);
    BOOL low = FALSE;
    if (notification != nullptr) {
        QueryMemoryResourceNotification(notification, &low);
        CloseHandle(notification);
    }
    return low != FALSE;
}

std::uint64_t majorFaults()
{
    return 0;
}

#else

std::uint64_t physicalMemoryBytes()
{
#if defined(__APPLE__)
    std::uint64_t bytes = 0;
    std::size_t size = sizeof(bytes);
    return sysctlbyname("hw.memsize", &bytes, &size, nullptr, 0) == 0 ? bytes : 0;
#else
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long pageBytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && pageBytes > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(pageBytes) : 0;
#endif
}

std::uint64_t usableMemoryBytes(const std::filesystem::path& root)
{
    const std::uint64_t physical = physicalMemoryBytes();
    return std::min(physical, cgroupMemoryLimitBytes(root).value_or(physical));
}

#if defined(__APPLE__)
bool machinePages(const std::filesystem::path&)
{
    constexpr int kWarning = 2; // of 1 normal, 2 warning, 4 critical
    int level = 0;
    std::size_t size = sizeof(level);
    return sysctlbyname("kern.memorystatus_vm_pressure_level", &level, &size, nullptr, 0) == 0 && level >= kWarning;
}
#else
bool machinePages(const std::filesystem::path& root)
{
    // "full avg10=0.00 avg60=2.50 avg300=0.61 total=4566729": per cent of the time in which nothing could run.
    constexpr double kPagingPercent = 2;
    std::ifstream pressure(root / "proc/pressure/memory");
    std::string line;
    while (std::getline(pressure, line)) {
        const std::size_t place = line.find("avg60=");
        if (line.starts_with("full ") && place != std::string::npos)
            return std::strtod(line.c_str() + place + std::string_view("avg60=").size(), nullptr) >= kPagingPercent;
    }
    return false;
}
#endif

std::uint64_t majorFaults()
{
    rusage usage = {};
    return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_majflt) : 0;
}

#endif

} // namespace waste
