#include "platform/async_reads.h"

#if defined(WASTE_HAS_LIBURING)

#include <atomic>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <liburing.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace waste {
namespace {

constexpr std::uint64_t kWakeTag = UINT64_MAX;
// How often one looks for what ends by itself, where the system no longer lets one wait for it.
constexpr std::chrono::milliseconds kLookEvery{1};

// A system that is short of something for so long is not counted upon: readers of our own do the work then. Some
// sandboxes answer like that for ever.
constexpr std::chrono::milliseconds kTrialMax{100};
constexpr auto kNoEnd = std::chrono::nanoseconds::max();

// Interrupted, or the system is short of something.
bool isOverSoon(int error)
{
    return error == EINTR || error == EAGAIN || error == EBUSY;
}

// Refused for good by the system, a ring gives back what the system has not taken, and lets end what it has.
class UringReads final : public AsyncReads {
public:
    static std::unique_ptr<UringReads> create(std::uint32_t depth)
    {
        std::unique_ptr<UringReads> reads(new UringReads(depth));
        reads->m_wakeFile = ::eventfd(0, EFD_CLOEXEC);
        reads->m_isOpen = reads->m_wakeFile >= 0 && io_uring_queue_init(depth + 1, &reads->m_ring, 0) == 0;
        if (!reads->m_isOpen)
            return nullptr;
        reads->listenForWake();
        // A trial: kernels before 5.6 have the ring and not this kind of read, and a sandbox may allow a ring to be
        // made and not to be used.
        reads->wake();
        reads->m_patience = kTrialMax;
        reads->wait();
        reads->m_patience = kNoEnd;
        return reads->m_isRefused ? nullptr : std::move(reads);
    }
    ~UringReads() override
    {
        while (m_underWay > 0)
            wait();
        if (m_isOpen)
            io_uring_queue_exit(&m_ring);
        if (m_wakeFile >= 0)
            ::close(m_wakeFile);
    }
    UringReads(const UringReads&) = delete;
    UringReads& operator=(const UringReads&) = delete;

    void start(
        const DirectFile& file, std::uint64_t offsetBytes, std::span<std::byte> target, std::uint32_t tag) override
    {
        assert(m_underWay < m_wanted.size() && tag < m_wanted.size());
        if (!m_isRefused) {
            io_uring_sqe* const entry = io_uring_get_sqe(&m_ring);
            assert(entry != nullptr); // there is one for every read, and one for waking up
            io_uring_prep_read(entry, static_cast<int>(file.handleForRead()), target.data(),
                static_cast<unsigned>(target.size()), offsetBytes);
            io_uring_sqe_set_data64(entry, tag);
        }
        m_offered.push_back(tag);
        m_wanted[tag] = target.size();
        ++m_underWay;
    }

    std::span<const Done> wait() override
    {
        m_done.clear();
        if (!m_isRefused && submitAndWait())
            collect();
        if (m_isRefused)
            waitRefused();
        return m_done;
    }

    void wake() override
    {
        m_wakeCalls.fetch_add(1, std::memory_order_release); // whoever sees it sees what came before
        const std::uint64_t one = 1;
        // Fails only if nobody has looked for 2^64 calls.
        [[maybe_unused]] const ssize_t written = ::write(m_wakeFile, &one, sizeof(one));
    }

private:
    explicit UringReads(std::uint32_t depth)
        : m_wanted(depth)
    {
        m_done.reserve(depth);
        m_offered.reserve(depth + 1);
    }

    void listenForWake()
    {
        io_uring_sqe* const entry = io_uring_get_sqe(&m_ring);
        io_uring_prep_read(entry, m_wakeFile, &m_wakeCount, sizeof(m_wakeCount), 0);
        io_uring_sqe_set_data64(entry, kWakeTag);
        m_offered.push_back(kWakeTag);
    }

    bool submitAndWait()
    {
        using Clock = std::chrono::steady_clock;
        const auto start = Clock::now();
        int taken = io_uring_submit_and_wait(&m_ring, 1);
        // What was not taken stays in the ring and is offered again.
        while (isOverSoon(-taken) && Clock::now() - start < m_patience) {
            std::this_thread::yield();
            taken = io_uring_submit_and_wait(&m_ring, 1);
        }
        m_isRefused = taken < 0;
        if (!m_isRefused)
            m_offered.erase(m_offered.begin(), m_offered.begin() + taken);
        return !m_isRefused;
    }

    void collect()
    {
        io_uring_cqe* completion = nullptr;
        while (io_uring_peek_cqe(&m_ring, &completion) == 0) {
            const std::uint64_t tag = io_uring_cqe_get_data64(completion);
            const int result = completion->res;
            io_uring_cqe_seen(&m_ring, completion);
            if (tag != kWakeTag)
                end(tag, result >= 0 && static_cast<std::size_t>(result) == m_wanted[static_cast<std::size_t>(tag)]);
            else if (result < 0 && !isOverSoon(-result))
                m_isRefused = true;
            else if (!m_isRefused)
                listenForWake();
        }
    }

    void end(std::uint64_t tag, bool isWhole)
    {
        --m_underWay;
        m_done.push_back({static_cast<std::uint32_t>(tag), isWhole});
    }

    void waitRefused()
    {
        for (const std::uint64_t tag : m_offered) {
            if (tag != kWakeTag)
                end(tag, false);
        }
        m_offered.clear();
        collect();
        while (m_done.empty() && m_wakeCalls.load(std::memory_order_acquire) == m_wakeCallsSeen) {
            std::this_thread::sleep_for(kLookEvery);
            collect();
        }
        m_wakeCallsSeen = m_wakeCalls.load(std::memory_order_acquire);
    }

    io_uring m_ring = {};
    bool m_isOpen = false;
    bool m_isRefused = false;
    std::chrono::nanoseconds m_patience = kNoEnd; // with a system that is short of something
    int m_wakeFile = -1;
    std::uint64_t m_wakeCount = 0; // the system writes it, nobody reads it
    std::atomic<std::uint32_t> m_wakeCalls = 0; // of wake(); looked at once refused
    std::uint32_t m_wakeCallsSeen = 0;
    std::uint32_t m_underWay = 0;
    std::vector<std::uint64_t> m_offered; // tags that the system has not taken yet, in their order
    std::vector<std::size_t> m_wanted; // bytes, by tag
    std::vector<Done> m_done;
};

} // namespace

std::unique_ptr<AsyncReads> AsyncReads::create(std::uint32_t depth)
{
    return UringReads::create(depth);
}

} // namespace waste

#else

std::unique_ptr<waste::AsyncReads> waste::AsyncReads::create(std::uint32_t)
{
    return nullptr;
}

#endif
