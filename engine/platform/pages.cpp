#include "platform/pages.h"

#include <cstring>
#include <limits>
#include <string>
#include <utility>

#if defined(_WIN32)
#include "platform/windows_api.h"
#else
#include <cerrno>
#include <sys/mman.h>
#include <sys/resource.h>
#include <system_error>
#endif

namespace waste {
namespace {

constexpr std::size_t kPageAlignment = 16384;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Zeroed pages of the system, or an empty span.
std::span<std::byte> mapPages(std::size_t bytes)
{
#if defined(_WIN32)
    void* start = VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    const bool failed = start == nullptr;
#else
    void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool failed = start == MAP_FAILED;
#endif
    return failed ? std::span<std::byte>() : std::span(static_cast<std::byte*>(start), bytes);
}

void unmapPages(std::span<std::byte> mapping)
{
    if (mapping.empty())
        return;
#if defined(_WIN32)
    VirtualFree(mapping.data(), 0, MEM_RELEASE);
#else
    munmap(mapping.data(), mapping.size());
#endif
}

void adviseHugePages([[maybe_unused]] std::span<std::byte> bytes)
{
#if defined(MADV_HUGEPAGE)
    (void)madvise(bytes.data(), bytes.size(), MADV_HUGEPAGE); // kernels without them refuse, and work
#endif
}

} // namespace

Result<Pages> Pages::allocate(std::uint64_t bytes, std::string_view purpose)
{
    Pages pages;
    if (bytes == 0)
        return pages;
    const std::size_t alignment = bytes >= kHugePage ? kHugePage : kPageAlignment;
    if (bytes <= std::numeric_limits<std::size_t>::max() - alignment)
        pages.m_mapping = mapPages(static_cast<std::size_t>(bytes) + alignment);
    if (pages.m_mapping.empty()) {
        return Error{ErrorCode::OutOfMemory, "out_of_memory",
            "the system has no " + std::to_string((bytes >> 20) + 1) + " MiB for " + std::string(purpose)
                + "; close other programs or choose a smaller budget"};
    }
    // The pages before and after the aligned part are never touched and so never exist.
    const std::size_t misalignment = reinterpret_cast<std::uintptr_t>(pages.m_mapping.data()) % alignment;
    pages.m_bytes = pages.m_mapping.subspan((alignment - misalignment) % alignment, static_cast<std::size_t>(bytes));
    if (bytes >= kHugePage)
        adviseHugePages(pages.m_bytes);
    return pages;
}

Status Pages::lock()
{
    if (m_bytes.empty())
        return {};
#if defined(_WIN32)
    // Only what the working set has room for can be locked.
    SIZE_T least = 0;
    SIZE_T most = 0;
    GetProcessWorkingSetSize(GetCurrentProcess(), &least, &most);
    SetProcessWorkingSetSize(GetCurrentProcess(), least + m_bytes.size(), most + m_bytes.size());
    if (VirtualLock(m_bytes.data(), m_bytes.size()))
        return {};
    const std::string limit = "this account may not lock that much";
#else
    if (mlock(m_bytes.data(), m_bytes.size()) == 0)
        return {};
    const std::error_code error(errno, std::system_category());
    rlimit allowed = {};
    getrlimit(RLIMIT_MEMLOCK, &allowed);
    const std::string limit = error.message() + "; the limit on locked memory (ulimit -l) is "
        + (allowed.rlim_cur == RLIM_INFINITY ? "off" : std::to_string(allowed.rlim_cur >> 10) + " KiB");
#endif
    return Error{
        ErrorCode::Unsupported, "lock", std::to_string((m_bytes.size() >> 20) + 1) + " MiB cannot be locked: " + limit};
}

void Pages::discard(std::span<std::byte> part)
{
    const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
    const std::uintptr_t first = (begin + kPageAlignment - 1) / kPageAlignment * kPageAlignment;
    const std::uintptr_t last = (begin + part.size()) / kPageAlignment * kPageAlignment;
    if (first >= last)
        return;
    std::byte* const start = part.data() + (first - begin);
#if defined(_WIN32)
    VirtualAlloc(start, last - first, MEM_RESET, PAGE_READWRITE);
    VirtualUnlock(start, last - first); // of what is not locked it ends the residence
#elif defined(__linux__)
    (void)madvise(start, last - first, MADV_DONTNEED);
#else
    // Elsewhere advice alone keeps the pages: mapped anew in place they are gone.
    (void)mmap(start, last - first, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
#endif
}

Pages::Pages(Pages&& other) noexcept
    : m_bytes(std::exchange(other.m_bytes, {}))
    , m_mapping(std::exchange(other.m_mapping, {}))
{
}

Pages& Pages::operator=(Pages&& other) noexcept
{
    std::swap(m_bytes, other.m_bytes);
    std::swap(m_mapping, other.m_mapping);
    return *this;
}

Pages::~Pages()
{
    unmapPages(m_mapping);
}

} // namespace waste
