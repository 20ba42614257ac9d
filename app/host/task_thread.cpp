#include "host/task_thread.h"

namespace waste::host {

TaskThread::TaskThread()
    : m_thread([this] { run(); })
{
}

TaskThread::~TaskThread()
{
    {
        const std::lock_guard lock(m_mutex);
        m_ending = true;
    }
    m_changed.notify_one();
    m_thread.join();
}

void TaskThread::post(std::function<void()> task, Clock::duration delay)
{
    {
        const std::lock_guard lock(m_mutex);
        // A task that tries again later would otherwise keep the destructor waiting for ever.
        if (m_ending && delay > Clock::duration::zero())
            return;
        m_tasks.emplace(std::pair(Clock::now() + delay, m_postCount++), std::move(task));
    }
    m_changed.notify_one();
}

void TaskThread::run()
{
    std::unique_lock lock(m_mutex);
    while (true) {
        if (m_tasks.empty()) {
            if (m_ending)
                return;
            m_changed.wait(lock);
            continue;
        }
        const auto first = m_tasks.begin();
        if (!m_ending && first->first.first > Clock::now()) {
            m_changed.wait_until(lock, first->first.first);
            continue;
        }
        const std::function<void()> task = std::move(first->second);
        m_tasks.erase(first);
        lock.unlock();
        task();
        lock.lock();
    }
}

} // namespace waste::host
