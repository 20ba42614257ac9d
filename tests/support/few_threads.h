#pragma once

#include <cstdint>
#include <fstream>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace waste::test {

// Until it goes, the system starts a few threads more and then refuses: there is address space for three and a half
// stacks, and those of threads that have ended are used again. As under a limit on the threads of a user or a
// container.
class FewThreads {
public:
    static constexpr std::uint32_t kMax = 32; // so many are never started

    FewThreads()
    {
        std::uint64_t pages = 0; // that this process has
        std::ifstream("/proc/self/statm") >> pages;
        pthread_attr_t attributes = {};
        std::size_t stackBytes = 0;
        pthread_attr_init(&attributes);
        pthread_attr_getstacksize(&attributes, &stackBytes);
        pthread_attr_destroy(&attributes);
        if (pages == 0 || getrlimit(RLIMIT_AS, &m_before) != 0)
            return;
        rlimit tight = m_before;
        tight.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + 3 * stackBytes + stackBytes / 2;
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
    rlimit m_before = {};
    bool m_isLimited = false;
};

} // namespace waste::test
