#include "process_memory.h"

#if defined(_WIN32)
#include "platform/windows_api.h"
// after windows.h
#include <psapi.h>
#elif defined(__APPLE__)
#include <mach/mach.h>
#include <sys/resource.h>
#else
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#endif

namespace waste::test {

#if defined(_WIN32)

ProcessMemory processMemory()
{
    PROCESS_MEMORY_COUNTERS counters = {};
    if (!GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters)))
        return {};
    return {.residentBytes = counters.WorkingSetSize, .residentPeakBytes = counters.PeakWorkingSetSize};
}

#elif defined(__APPLE__)

ProcessMemory processMemory()
{
    ProcessMemory memory;
    rusage usage = {};
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        memory.residentPeakBytes = static_cast<std::uint64_t>(usage.ru_maxrss);
    mach_task_basic_info info = {};
    mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
    if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &count) == KERN_SUCCESS)
        memory.residentBytes = info.resident_size;
    return memory;
}

#else

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

ProcessMemory processMemory()
{
    return {.residentBytes = statusBytes("VmRSS:"), .residentPeakBytes = statusBytes("VmHWM:")};
}

#endif

} // namespace waste::test
