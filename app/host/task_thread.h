#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace waste::host {

// One thread that runs tasks one by one: those that are due, in the order in which they became due. The
// destructor runs whatever is queued, due or not, then joins; delayed tasks posted meanwhile are dropped.
// post() from any thread.
class TaskThread {
public:
    using Clock = std::chrono::steady_clock;

    TaskThread();
    ~TaskThread();
    TaskThread(const TaskThread&) = delete;
    TaskThread& operator=(const TaskThread&) = delete;

    void post(std::function<void()> task, Clock::duration delay = {});

private:
    void run();

    std::mutex m_mutex; // guards everything below
    std::condition_variable m_changed;
    std::map<std::pair<Clock::time_point, std::uint64_t>, std::function<void()>> m_tasks; // by due time and order
    std::uint64_t m_postCount = 0;
    bool m_ending = false;
    std::thread m_thread; // last: runs as soon as it is constructed
};

} // namespace waste::host
