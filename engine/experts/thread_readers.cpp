#include "experts/thread_readers.h"

#include "platform/threads.h"

#include <system_error>

namespace waste {

ThreadReaders::ThreadReaders(ReadQueue& queue, const RecordStore& store, std::uint32_t countPerDrive)
    : m_queue(queue)
    , m_store(store)
{
    const std::uint32_t drives = store.driveCount();
    m_threads.reserve(std::size_t{drives} * countPerDrive);
    try {
        for (std::uint32_t i = 0; i < countPerDrive; ++i) {
            for (std::uint32_t drive = 0; drive < drives; ++drive) {
                // Guesses take one half of them, and the other one stays free for what is announced meanwhile.
                ReadQueue::Room room{};
                room[drive] = i % 2 == 0 ? ReadQueue::Wanted::Anything : ReadQueue::Wanted::AnnouncedOnly;
                m_threads.emplace_back(&ThreadReaders::run, this, room);
            }
        }
    } catch (const std::system_error&) {
        // The system is out of threads. A drive that nobody reads would be waited for.
        if (m_threads.size() < drives)
            stop();
    }
}

ThreadReaders::~ThreadReaders()
{
    stop();
}

void ThreadReaders::stop()
{
    {
        const std::lock_guard lock(m_mutex);
        m_stopping = true;
    }
    m_woken.notify_all();
    for (std::thread& thread : m_threads)
        thread.join();
    m_threads.clear();
}

void ThreadReaders::wake()
{
    {
        const std::lock_guard lock(m_mutex);
        ++m_wakeCount;
    }
    m_woken.notify_all();
}

void ThreadReaders::run(const ReadQueue::Room& room)
{
    nameCurrentThread("waste reader");
    wakeCurrentThreadPromptly();
    std::uint64_t seen = 0; // calls of wake() before the queue was looked at
    while (true) {
        {
            const std::lock_guard lock(m_mutex);
            if (m_stopping)
                return;
            seen = m_wakeCount;
        }
        if (const auto job = m_queue.beginRead(room)) {
            m_queue.endRead(*job, m_store.read(job->key, job->target));
            continue;
        }
        std::unique_lock lock(m_mutex);
        m_woken.wait(lock, [&] { return m_stopping || m_wakeCount != seen; });
    }
}

} // namespace waste
