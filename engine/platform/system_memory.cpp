#include "platform/system_memory.h"

#include "platform/cgroup.h"

#include <algorithm>

#if defined(_WIN32)
#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
// after windows.h
#include <psapi.h>
#else
#include <sys/resource.h>
#include <unistd.h>
#endif
#if defined(__APPLE__)
#include <mach/mach.h>
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

ProcessMemory processMemory()
{
    ProcessMemory memory;
    PROCESS_MEMORY_COUNTERS counters = {};
    if (GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters))) {
        memory.residentBytes = counters.WorkingSetSize;
        memory.residentPeakBytes = counters.PeakWorkingSetSize;
    }
    return memory;
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

#if defined(__linux__)
namespace {

// One figure of /proc/self/status. The peak of getrusage() is no use: a program inherits it from the one
// that forked it.
std::uint64_t statusBytes(std::string_view key)
{
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line)) {
        if (line.starts_with(key))
            return std::strtoull(line.c_str() + key.size(), nullptr, 10) * 1024; // "VmHWM:   123 kB"
    }
    return 0;
}

} // namespace
#endif

std::uint64_t majorFaults()
{
    rusage usage = {};
    return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_majflt) : 0;
}

ProcessMemory processMemory()
{
    ProcessMemory memory;
#if defined(__APPLE__)
    rusage usage = {};
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        memory.residentPeakBytes = static_cast<std::uint64_t>(usage.ru_maxrss);
    mach_task_basic_info info = {};
    mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
    if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &count) == KERN_SUCCESS)
        memory.residentBytes = info.resident_size;
#else
    memory.residentBytes = statusBytes("VmRSS:");
    memory.residentPeakBytes = statusBytes("VmHWM:");
#endif
    return memory;
}

#endif

} // namespace waste
