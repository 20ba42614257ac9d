#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace waste::host {

// One thread that runs tasks in the order in which they were posted. The destructor runs what is queued,
// then joins. post() from any thread.
class TaskThread {
public:
    TaskThread();
    ~TaskThread();
    TaskThread(const TaskThread&) = delete;
    TaskThread& operator=(const TaskThread&) = delete;

    void post(std::function<void()> task);

private:
    void run();

    std::mutex m_mutex; // guards everything below
    std::condition_variable m_changed;
    std::deque<std::function<void()>> m_tasks;
    bool m_ending = false;
    std::thread m_thread; // last: runs as soon as it is constructed
};

} // namespace waste::host
