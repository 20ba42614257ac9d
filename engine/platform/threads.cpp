#include "platform/threads.h"

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

#if defined(_WIN32)
#include "platform/windows_api.h"

#include <cstddef>
#else
#include <pthread.h>
#endif
#if defined(__linux__)
#include <fstream>
#include <sched.h>
#include <set>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace waste {
namespace {

#if !defined(__APPLE__)

Error noSuchCpu(std::uint32_t cpu)
{
    return {ErrorCode::InvalidArgument, "cpus", "there is no CPU " + std::to_string(cpu) + " for this program"};
}

// "0-2,6", as a list of CPUs is written. `cpus` ascend.
std::string rangesText(std::span<const std::uint32_t> cpus)
{
    std::string text;
    for (std::size_t begin = 0, end = 0; begin < cpus.size(); begin = end) {
        end = begin + 1;
        while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1)
            ++end;
        text += (text.empty() ? "" : ",") + std::to_string(cpus[begin]);
        if (end - begin > 1)
            text += "-" + std::to_string(cpus[end - 1]);
    }
    return text;
}

std::vector<std::uint32_t> usableCpus(); // ascending; empty: the system does not tell

#endif

} // namespace

#if !defined(__APPLE__)

Status checkCpus(std::span<const std::uint32_t> cpus)
{
    const std::vector<std::uint32_t> usable = usableCpus();
    for (const std::uint32_t cpu : cpus) {
        if (usable.empty() || std::binary_search(usable.begin(), usable.end(), cpu))
            continue;
        Error error = noSuchCpu(cpu);
        error.message += "; it may use " + rangesText(usable);
        return error;
    }
    return {};
}

#endif

std::uint32_t logicalCpuCount()
{
    return std::max(1U, std::thread::hardware_concurrency());
}

#if defined(__linux__)

namespace {

std::vector<std::uint32_t> usableCpus()
{
    std::vector<std::uint32_t> usable;
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return usable;
    for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &allowed))
            usable.push_back(cpu);
    }
    return usable;
}

} // namespace

std::uint32_t physicalCoreCount()
{
    // The kernel lists, for every CPU, the hardware threads that share its core: equal text, equal core.
    const std::vector<std::uint32_t> usable = usableCpus();
    if (usable.empty())
        return logicalCpuCount();
    std::set<std::string> cores;
    for (const std::uint32_t cpu : usable) {
        std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
        std::string siblings;
        if (!std::getline(file, siblings))
            return logicalCpuCount();
        cores.insert(siblings);
    }
    return std::max(1U, static_cast<std::uint32_t>(cores.size()));
}

Status bindCurrentThread(std::span<const std::uint32_t> cpus)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const std::uint32_t cpu : cpus) {
        if (cpu >= CPU_SETSIZE)
            return noSuchCpu(cpu);
        CPU_SET(cpu, &set);
    }
    if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0)
        return noSuchCpu(cpus.empty() ? 0 : cpus.front());
    return {};
}

void nameCurrentThread(std::string_view name)
{
    pthread_setname_np(pthread_self(), std::string(name.substr(0, 15)).c_str());
}

namespace {

// struct sched_attr of sched_setattr(2), which glibc has from 2.41 on.
struct SchedulingAttributes {
    std::uint32_t size = sizeof(SchedulingAttributes);
    std::uint32_t policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtimeNs = 0; // of ordinary threads the length of a time slice, from Linux 6.12 on
    std::uint64_t deadlineNs = 0;
    std::uint64_t periodNs = 0;
};

} // namespace

// A thread whose slices are shorter than those of the one that runs may take its place at once.
void wakeCurrentThreadPromptly()
{
    SchedulingAttributes attributes;
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0)
        return;
    attributes.runtimeNs = 100'000; // the shortest there is
    (void)syscall(SYS_sched_setattr, 0, &attributes, 0); // a refusal costs speed and nothing else
}

void lowerCurrentThreadPriority()
{
    // On Linux a "process" of setpriority is one thread. A refusal costs smoothness and nothing else.
    (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 10);
}

#elif defined(__APPLE__)

std::uint32_t physicalCoreCount()
{
    std::uint32_t count = 0;
    std::size_t size = sizeof(count);
    return sysctlbyname("hw.physicalcpu", &count, &size, nullptr, 0) == 0 && count > 0 ? count : logicalCpuCount();
}

Status bindCurrentThread(std::span<const std::uint32_t>)
{
    return Error{ErrorCode::Unsupported, "cpus", "macOS does not let programs choose their CPUs"};
}

Status checkCpus(std::span<const std::uint32_t> cpus)
{
    return cpus.empty() ? Status() : bindCurrentThread(cpus);
}

void nameCurrentThread(std::string_view name)
{
    pthread_setname_np(std::string(name).c_str());
}

void wakeCurrentThreadPromptly()
{
    pthread_set_qos_class_self_np(QOS_CLASS_USER_INITIATED, 0);
}

void lowerCurrentThreadPriority()
{
    pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0);
}

#elif defined(_WIN32)

namespace {

// Numbers as bindCurrentThread() takes them: 64 a processor group, of which the last ones may be missing.
std::vector<std::uint32_t> usableCpus()
{
    std::vector<std::uint32_t> usable;
    for (WORD group = 0; group < GetActiveProcessorGroupCount(); ++group) {
        const DWORD count = GetActiveProcessorCount(group);
        for (std::uint32_t cpu = 0; cpu < count; ++cpu)
            usable.push_back(group * 64U + cpu);
    }
    return usable;
}

} // namespace

std::uint32_t physicalCoreCount()
{
    DWORD bytes = 0;
    GetLogicalProcessorInformationEx(RelationProcessorCore, nullptr, &bytes);
    std::vector<std::byte> list(bytes);
    auto* first = reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(list.data());
    if (bytes == 0 || !GetLogicalProcessorInformationEx(RelationProcessorCore, first, &bytes))
        return logicalCpuCount();
    std::uint32_t count = 0;
    for (std::size_t at = 0; at < bytes; ++count)
        at += reinterpret_cast<const SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(list.data() + at)->Size;
    return std::max(1U, count);
}

Status bindCurrentThread(std::span<const std::uint32_t> cpus)
{
    // One processor group holds 64 CPUs, and a thread lives in one group.
    GROUP_AFFINITY affinity = {};
    for (const std::uint32_t cpu : cpus) {
        const auto group = static_cast<WORD>(cpu / 64);
        if (affinity.Mask != 0 && group != affinity.Group)
            return Error{ErrorCode::Unsupported, "cpus", "the CPUs of one thread must lie in one processor group"};
        affinity.Group = group;
        affinity.Mask |= KAFFINITY{1} << (cpu % 64);
    }
    if (!SetThreadGroupAffinity(GetCurrentThread(), &affinity, nullptr))
        return noSuchCpu(cpus.empty() ? 0 : cpus.front());
    return {};
}

void nameCurrentThread(std::string_view name)
{
    // Looked up, because it came with Windows 10 1607 and not every toolchain's library has it.
    using Function = HRESULT(WINAPI*)(HANDLE, PCWSTR);
    const HMODULE system = GetModuleHandleW(L"kernel32.dll");
    const auto describe =
        reinterpret_cast<Function>(reinterpret_cast<void*>(GetProcAddress(system, "SetThreadDescription")));
    std::array<wchar_t, 32> text{}; // readers name themselves when nothing may be allocated any more
    std::copy_n(name.begin(), std::min(name.size(), text.size() - 1), text.begin());
    if (describe != nullptr)
        describe(GetCurrentThread(), text.data());
}

void wakeCurrentThreadPromptly()
{
    SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_ABOVE_NORMAL);
}

void lowerCurrentThreadPriority()
{
    SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_BELOW_NORMAL);
}

#endif

} // namespace waste
