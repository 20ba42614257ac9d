#include "waste/machine_facts.h"

#include "platform/async_reads.h"
#include "platform/cgroup.h"
#include "platform/direct_file.h"
#include "platform/linux_facts.h"
#include "platform/output_file.h"
#include "platform/path_text.h"
#include "platform/processes.h"
#include "platform/system_memory.h"
#include "platform/threads.h"
#include "platform/volume_space.h"

#include <array>
#include <string>
#include <system_error>

#if defined(__linux__)
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if !defined(_WIN32)
#include <sys/resource.h>
#endif
#include <cerrno>

namespace waste {

namespace {

namespace fs = std::filesystem;

// What readers of records will find, by the same trial.
MachineFacts::IoUring probeIoUring()
{
#if defined(WASTE_HAS_LIBURING)
    if (AsyncReads::create(1) != nullptr)
        return MachineFacts::IoUring::Available;
    // No arguments that anybody could accept: only a system without it says that there is no such call.
    const bool isThere = syscall(__NR_io_uring_setup, 0, nullptr) >= 0 || errno != ENOSYS;
    return isThere ? MachineFacts::IoUring::Refused : MachineFacts::IoUring::Absent;
#else
    return MachineFacts::IoUring::Absent;
#endif
}

#if defined(__linux__)
// Whether the limit on locked memory does not hold, as for CAP_IPC_LOCK, which root has; the "root" of a container may
// have it in name alone. So it is tried, with pages that are never touched.
bool mayLockMoreThan(std::uint64_t limitBytes)
{
    const std::size_t bytes = static_cast<std::size_t>(limitBytes) + kDirectIoAlignment;
    if (bytes < limitBytes)
        return false;
    void* const pages = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        return false;
    const bool isLocked = mlock2(pages, bytes, MLOCK_ONFAULT) == 0;
    munmap(pages, bytes);
    return isLocked;
}
#endif

std::uint64_t lockableBytes()
{
#if defined(_WIN32)
    return UINT64_MAX; // a working set is made as large as what it has to hold
#else
    rlimit limit = {};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return 0;
    bool isLimited = limit.rlim_cur != RLIM_INFINITY;
#if defined(__linux__)
    isLimited = isLimited && !mayLockMoreThan(limit.rlim_cur);
#endif
    return isLimited ? std::uint64_t{limit.rlim_cur} : UINT64_MAX;
#endif
}

std::optional<bool> isDirect(const fs::path& file)
{
    const auto opened = DirectFile::open(file, DirectFile::Access::Direct);
    return opened ? std::optional(opened->isDirect()) : std::nullopt;
}

// Tried with a file that is there, else with one written for the purpose.
std::optional<bool> probeDirectIo(const fs::path& path)
{
    std::error_code error;
    if (!fs::is_directory(path, error))
        return isDirect(path);
    for (fs::directory_iterator entry(path, error), end; entry != end; entry.increment(error))
        if (entry->is_regular_file(error) && entry->file_size(error) >= kDirectIoAlignment)
            return isDirect(entry->path());

    const fs::path file = path / ("waste-doctor-" + std::to_string(currentProcessId()) + ".tmp");
    std::optional<bool> direct;
    if (auto output = OutputFile::open(file, OutputFile::Mode::Replace)) {
        const std::array<std::byte, kDirectIoAlignment> block = {};
        if (output->append(block) && output->close())
            direct = isDirect(file);
        fs::remove(file, error);
    }
    return direct;
}

} // namespace

MachineFacts MachineFacts::detect()
{
    const fs::path root = "/";
    MachineFacts facts;
    facts.memory = {physicalMemoryBytes(), usableMemoryBytes()};
    facts.controlGroupVersion = waste::controlGroupVersion(root);
    facts.availableBytes = meminfoBytes("MemAvailable", root);
    facts.swapBytes = meminfoBytes("SwapTotal", root);
    facts.lockableBytes = waste::lockableBytes();
    facts.hugePages = hugePagesSetting(root);
    facts.ioUring = probeIoUring();
    facts.logicalCpus = logicalCpuCount();
    facts.physicalCores = physicalCoreCount();
    return facts;
}

Result<DriveFacts> DriveFacts::of(const fs::path& path)
{
    std::error_code error;
    const fs::path place = fs::canonical(path, error);
    if (error)
        return Error{ErrorCode::NotFound, "", textFromPath(path) + ": there is no such file or folder"};
    DriveFacts facts;
    WASTE_TRY(facts.freeBytes, freeSpaceBytes(place));
    if (const auto mount = mountOf(place, "/")) {
        facts.fileSystem = mount->fileSystem;
        facts.device = mount->source;
        facts.kind = kindOfFileSystem(mount->fileSystem);
        if (const auto device = blockDeviceOf(*mount, "/")) {
            facts.device = device->name;
            facts.kind = device->kind;
        }
    }
    facts.directIo = probeDirectIo(place);
    return facts;
}

} // namespace waste
