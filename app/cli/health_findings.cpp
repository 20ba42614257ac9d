#include "cli/health_findings.h"

#include "cli/budget_rule.h"
#include "cli/expected_hits.h"
#include "cli/printf_text.h"
#include "host/size_text.h"

#include <algorithm>
#include <string_view>

namespace waste::cli {

namespace {

using host::formatSize;
using Level = Finding::Level;

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
constexpr std::uint64_t kRamForLargeModels = 62 * kGib; // 64 GiB installed, less what the firmware keeps
constexpr std::uint64_t kRamForSmallModels = 15 * kGib;
constexpr std::uint64_t kLockableMin = kGib;

bool has(const BuildInfo& build, std::string_view feature)
{
    return std::find(build.cpuFeatures.begin(), build.cpuFeatures.end(), feature) != build.cpuFeatures.end();
}

Finding memoryFinding(const MachineFacts& machine)
{
    const std::uint64_t usable = machine.memory.usableBytes;
    const std::string text = formatSize(usable) + " of RAM can be used";
    if (usable >= kRamForLargeModels)
        return {Level::Good, "ram", text + ", enough for Kimi K3."};
    if (usable >= kRamForSmallModels)
        return {Level::Good, "ram", text + ": models of the size of Kimi-Linear run well. Kimi K3 wants 64 GiB."};
    return {Level::Advice, "ram", text + ". That is little: models the size of Kimi-Linear want 16 GiB, Kimi K3 64."};
}

Finding controlGroupFinding(const MachineFacts& machine)
{
    const Machine& memory = machine.memory;
    if (memory.usableBytes >= memory.physicalBytes)
        return {Level::Good, "cgroup", "No control group limits this program's memory."};
    return {Level::Advice, "cgroup",
        "A control group (version " + std::to_string(machine.controlGroupVersion) + ") lets this program use "
            + formatSize(memory.usableBytes) + " of the machine's " + formatSize(memory.physicalBytes)
            + ". Raise the container's or the service's memory limit if models do not fit."};
}

Finding cpuFinding(const MachineFacts& machine, const BuildInfo& build)
{
    const std::string text = printfText("%u cores (%u hardware threads), kernels: %s.", machine.physicalCores,
        machine.logicalCpus, build.backend.c_str());
    if (build.backend == "avx512vbmi")
        return {Level::Good, "cpu", text + " AVX-512 VBMI: experts are looked up in registers."};
    if (has(build, "avx2") || has(build, "neon"))
        return {Level::Good, "cpu", text};
    return {Level::Problem, "cpu",
        text + " Without AVX2 or NEON everything is computed one number at a time, ten times slower."};
}

Finding hugePagesFinding(const MachineFacts& machine)
{
    using HugePages = MachineFacts::HugePages;
    switch (machine.hugePages) {
    case HugePages::Always:
    case HugePages::OnRequest:
        return {Level::Good, "huge_pages", "Huge pages are given to programs that ask, and this one does."};
    case HugePages::Never:
        return {Level::Advice, "huge_pages",
            "Huge pages are switched off. `echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled` makes "
            "expert look-ups faster."};
    case HugePages::Unknown:
        break;
    }
    return {Level::Good, "huge_pages", "This system decides about huge pages by itself."};
}

Finding ioUringFinding(const MachineFacts& machine)
{
    using IoUring = MachineFacts::IoUring;
    switch (machine.ioUring) {
    case IoUring::Available:
        return {Level::Good, "io_uring", "io_uring can be used."};
    case IoUring::Refused:
        return {Level::Advice, "io_uring",
            "io_uring cannot be used by this user or in this container (sysctl kernel.io_uring_disabled, a seccomp "
            "profile, or a kernel before 5.6). Reader threads take its place; they cost some CPU time."};
    case IoUring::Absent:
        break;
    }
    return {Level::Good, "io_uring", "This build or system has no io_uring; reader threads take its place."};
}

// Often kibibytes.
std::string lockableText(const MachineFacts& machine)
{
    return host::formatAmount(static_cast<double>(machine.lockableBytes));
}

Finding lockingFinding(const MachineFacts& machine)
{
    if (machine.lockableBytes >= kLockableMin)
        return {Level::Good, "memory_lock", "Memory may be locked, so --lock-trunk works."};
    return {Level::Good, "memory_lock",
        "No memory needs to be locked. Up to " + lockableText(machine)
            + " may be (ulimit -l), which matters to --lock-trunk alone."};
}

std::string driveName(const DriveFacts& drive)
{
    static constexpr const char* kNames[] = {"A drive of unknown kind", "An NVMe drive", "A solid-state drive",
        "A rotating disk", "A virtual machine's drive", "A network drive", "A file system in RAM"};
    std::string text = kNames[static_cast<std::size_t>(drive.kind)];
    if (!drive.device.empty())
        text += " (" + drive.device + (drive.fileSystem.empty() ? "" : ", " + drive.fileSystem) + ")";
    return text;
}

Finding driveFinding(const DriveFacts& drive)
{
    using Kind = DriveFacts::Kind;
    const std::string name = driveName(drive);
    switch (drive.kind) {
    case Kind::Nvme:
        return {Level::Good, "drive", name + ": the right kind to read experts from."};
    case Kind::Rotating:
        return {Level::Problem, "drive",
            name + ": every expert costs a movement of the head. Models that do not fit in RAM are hopeless here."};
    case Kind::Network:
        return {Level::Problem, "drive",
            name + ": the network decides the speed. Keep models on a drive inside this machine."};
    case Kind::Memory:
        return {Level::Advice, "drive", name + ": what lies here takes RAM from the expert cache."};
    case Kind::SolidState:
    case Kind::Virtual:
    case Kind::Unknown:
        break;
    }
    return {Level::Good, "drive", name + ". `waste diskbench` measures what it delivers."};
}

Finding directIoFinding(const DriveFacts& drive)
{
    if (!drive.directIo)
        return {Level::Advice, "direct_io", "Whether the page cache can be bypassed here was not to be found out."};
    if (*drive.directIo)
        return {Level::Good, "direct_io", "Reads can bypass the page cache."};
    return {Level::Advice, "direct_io",
        "This file system does not let reads bypass the page cache: the system then keeps copies of experts in RAM "
        "beside ours. Another file system (ext4, XFS, Btrfs without compression) would be better."};
}

// What the two large models take in the default format.
constexpr std::uint64_t kKimiLinearGib = 18;
constexpr std::uint64_t kKimiK3Gib = 982;

Finding spaceFinding(const DriveFacts& drive)
{
    return {drive.freeBytes < kKimiLinearGib * kGib ? Level::Advice : Level::Good, "space",
        formatSize(drive.freeBytes) + " are free on it. Converted, Kimi-Linear takes " + std::to_string(kKimiLinearGib)
            + " GiB, Kimi K3 " + std::to_string(kKimiK3Gib) + "."};
}

} // namespace

std::vector<Finding> findingsOf(const MachineFacts& machine, const BuildInfo& build)
{
    return {memoryFinding(machine), controlGroupFinding(machine), cpuFinding(machine, build), hugePagesFinding(machine),
        ioUringFinding(machine), lockingFinding(machine)};
}

std::vector<Finding> findingsOf(const DriveFacts& drive)
{
    return {driveFinding(drive), spaceFinding(drive), directIoFinding(drive)};
}

Finding trunkLockFinding(const MemoryPlan& plan, const MachineFacts& machine)
{
    return {Level::Advice, "lock_trunk",
        "--lock-trunk cannot work: the trunk takes " + formatSize(plan.trunkBytes) + ", and only "
            + lockableText(machine) + " of memory may be locked (`ulimit -l` raises it)."};
}

std::vector<Finding> findingsOf(const Container& container, const MemoryPlan& plan, const MachineFacts& machine)
{
    const std::string name = container.info().name;
    if (const Status fits = plan.check(); !fits)
        return {{Level::Problem, "model", name + ": " + fits.error().message + "."}};
    std::vector<Finding> findings = {{Level::Good, "model",
        name + " will use " + formatSize(plan.budgetBytes) + " (" + std::string(reasonForBudget(plan)) + "), of which "
            + formatSize(plan.expertCacheBytes) + " keep experts (expected hits: " + expectedHitsText(plan) + ")."}};
    if (plan.machine.pages) {
        findings.push_back({Level::Advice, "paging",
            plan.loweredForPaging
                ? "The machine is paging now, so the model gets half of its usual cache: close other programs."
                : "The machine is paging now: close other programs, or give a smaller --budget."});
    }
    if (plan.aboveSafeShare) {
        findings.push_back({Level::Problem, "budget",
            "That is more than 7/8 of the usable RAM: the machine would page, which is far slower than a smaller "
            "cache."});
    } else if (machine.availableBytes > 0 && machine.availableBytes < plan.budgetBytes) {
        findings.push_back({Level::Advice, "budget",
            "Only " + formatSize(machine.availableBytes)
                + " are free at the moment: close other programs, or give a smaller --budget."});
    }
    return findings;
}

} // namespace waste::cli
