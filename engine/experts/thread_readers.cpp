#include "experts/thread_readers.h"

#include "platform/threads.h"

#include <system_error>

namespace waste {

ThreadReaders::ThreadReaders(ReadQueue& queue, const RecordStore& store, std::uint32_t count)
    : m_queue(queue)
    , m_store(store)
{
    m_threads.reserve(count);
    try {
        // Guesses take one half of them, and the other one stays free for what is announced meanwhile.
        while (m_threads.size() < count) {
            m_threads.emplace_back(&ThreadReaders::run, this,
                m_threads.size() % 2 == 0 ? ReadQueue::Wanted::Anything : ReadQueue::Wanted::AnnouncedOnly);
        }
    } catch (const std::system_error&) {
        // The system is out of threads.
    }
}

ThreadReaders::~ThreadReaders()
{
    {
        const std::lock_guard lock(m_mutex);
        m_stopping = true;
    }
    m_woken.notify_all();
    for (std::thread& thread : m_threads)
        thread.join();
}

void ThreadReaders::wake()
{
    {
        const std::lock_guard lock(m_mutex);
        ++m_wakeCount;
    }
    m_woken.notify_all();
}

void ThreadReaders::run(ReadQueue::Wanted wanted)
{
    nameCurrentThread("waste reader");
    std::uint64_t seen = 0; // calls of wake() before the queue was looked at
    while (true) {
        {
            const std::lock_guard lock(m_mutex);
            if (m_stopping)
                return;
            seen = m_wakeCount;
        }
        if (const auto job = m_queue.beginRead(wanted)) {
            m_queue.endRead(*job, m_store.read(job->key, job->target));
            continue;
        }
        std::unique_lock lock(m_mutex);
        m_woken.wait(lock, [&] { return m_stopping || m_wakeCount != seen; });
    }
}

} // namespace waste
