#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>

#if !defined(_WIN32)
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace waste::test {

// Until it goes, the system starts a few threads more and then refuses: there is address space for three and a half
// stacks of the usual size, and those of threads that have ended are used again. As under a limit on the threads of a
// user or a container.
class FewThreads {
public:
#if defined(_WIN32)
    static std::uint32_t neverStarted() { return 1; }
    [[nodiscard]] bool isLimited() const { return false; }
#else
    // So many are never started: the C library keeps 40 MiB of stacks at most of threads that have ended.
    static std::uint32_t neverStarted()
    {
        return static_cast<std::uint32_t>((roomBytes() + (std::size_t{40} << 20)) / stackBytes() + 8);
    }

    FewThreads()
    {
        std::uint64_t pages = 0; // that this process has
        std::ifstream("/proc/self/statm") >> pages;
        if (pages == 0 || getrlimit(RLIMIT_AS, &m_before) != 0)
            return;
        rlimit tight = m_before;
        tight.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + roomBytes();
        m_isLimited = setrlimit(RLIMIT_AS, &tight) == 0;
    }
    ~FewThreads()
    {
        if (m_isLimited)
            setrlimit(RLIMIT_AS, &m_before);
    }
    FewThreads(const FewThreads&) = delete;
    FewThreads& operator=(const FewThreads&) = delete;

    [[nodiscard]] bool isLimited() const { return m_isLimited; } // else this system does not tell what is taken

private:
    // Never so little that the test itself runs out of memory.
    static std::size_t roomBytes() { return std::max(3 * stackBytes() + stackBytes() / 2, std::size_t{16} << 20); }
    static std::size_t stackBytes()
    {
        pthread_attr_t attributes = {};
        std::size_t bytes = 0;
        pthread_attr_init(&attributes);
        pthread_attr_getstacksize(&attributes, &bytes);
        pthread_attr_destroy(&attributes);
        return bytes;
    }

    rlimit m_before = {};
    bool m_isLimited = false;
#endif
};

} // namespace waste::test
