#include "layers/expert_pipeline.h"

#include "kernels/spin.h"

#include <cassert>
#include <utility>

namespace waste {

namespace {

// Some tens of microseconds, the time of a block: longer waits are waits for the disk.
constexpr int kSpinsBeforeSleep = 2000;

Result<std::optional<ExpertSource::Arrival>> acquireNext(ExpertSource& source)
{
    WASTE_TRY(ExpertSource::Arrival arrival, source.acquireNext());
    return std::optional<ExpertSource::Arrival>(std::move(arrival));
}

} // namespace

ExpertPipeline::ExpertPipeline(ThreadPool& pool, ExpertSource& source, Work& work, const Options& options)
    : m_pool(pool)
    , m_source(source)
    , m_work(work)
    , m_options(options)
    , m_leftCount(options.expertCount)
{
    assert(options.placeCount >= 1 && options.placeCount <= kPlacesMax);
}

Status ExpertPipeline::run(std::optional<ExpertSource::Arrival> first)
{
    if (first)
        enter(std::move(*first));
    // As many pieces as threads: none of them ends before the experts do, so each thread draws one, the caller too.
    m_pool.parallelFor(m_pool.threadCount(), 1, [this](std::uint32_t, std::uint32_t, std::uint32_t worker) {
        if (worker == 0)
            lead();
        else
            follow(worker);
    });
    for (Place& place : m_places)
        place.arrival.pin = {};
    return std::move(m_status);
}

// The calling thread: first what has arrived, then what can be computed, then waiting.
void ExpertPipeline::lead()
{
    while (!isOver()) {
        const std::uint32_t seen = m_changes.load(std::memory_order_acquire);
        releaseDone();
        while (hasRoom() && fetch(false)) { }
        if (isOver() || computeOne(0))
            continue;
        if (!hasRoom()) {
            waitUntilChanged(seen);
            continue;
        }
        {
            const std::lock_guard lock(m_mutex);
            // What has changed since nothing was left to compute may have brought something.
            m_isLeaderAway = m_changes.load(std::memory_order_relaxed) == seen;
            if (!m_isLeaderAway)
                continue;
        }
        const bool isNear = m_source.awaitNext();
        {
            const std::lock_guard lock(m_mutex);
            m_isLeaderAway = false;
        }
        if (isNear)
            fetch(true);
    }
}

void ExpertPipeline::follow(std::uint32_t worker)
{
    for (;;) {
        // In this order: the change that ends the run is its last one, and who has seen it must not wait for another.
        const std::uint32_t seen = m_changes.load(std::memory_order_acquire);
        if (isOver())
            return;
        if (!computeOne(worker))
            waitUntilChanged(seen);
    }
}

bool ExpertPipeline::isOver() const
{
    return m_isOver.load(std::memory_order_acquire);
}

bool ExpertPipeline::hasRoom() const
{
    const std::lock_guard lock(m_mutex);
    return m_leftCount > 0 && m_busyCount < m_options.placeCount;
}

// Takes an expert from the source; false if none has arrived, or on an error.
bool ExpertPipeline::fetch(bool blocks)
{
    if (m_options.cancel != nullptr && m_options.cancel->isCancelled()) {
        stop(Error{ErrorCode::Cancelled, "", "stopped while computing"});
        return false;
    }
    auto next = blocks ? acquireNext(m_source) : m_source.tryAcquireNext();
    if (!next)
        stop(std::move(next.error()));
    if (!next || !*next)
        return false;
    enter(std::move(**next));
    return true;
}

void ExpertPipeline::enter(ExpertSource::Arrival arrival)
{
    const std::lock_guard lock(m_mutex);
    std::uint32_t index = 0;
    while (!m_places[index].isFree)
        ++index;
    assert(index < m_options.placeCount);
    Place& place = m_places[index];
    place.arrival = std::move(arrival); // its pin was released before
    place.entered = m_enteredCount++;
    place.isFree = false;
    ++m_busyCount;
    --m_leftCount;
    m_work.enter(index, place.arrival.expert, place.arrival.pin.view());
    beginNextStage(index);
}

void ExpertPipeline::stop(Status status)
{
    const std::lock_guard lock(m_mutex);
    m_status = std::move(status);
    m_isOver.store(true, std::memory_order_release);
    noteChange();
}

void ExpertPipeline::releaseDone()
{
    for (Place& place : m_places) {
        {
            const std::lock_guard lock(m_mutex);
            if (!place.isDone)
                continue;
        }
        place.arrival.pin = {};
        const std::lock_guard lock(m_mutex);
        place.isDone = false;
        place.isFree = true;
        --m_busyCount;
    }
}

bool ExpertPipeline::computeOne(std::uint32_t worker)
{
    const std::optional<Task> task = takeTask();
    if (!task)
        return false;
    m_work.compute(task->place, task->block, worker);
    finishTask(*task);
    return true;
}

// Of the oldest expert that has blocks left, so that places become free soon.
std::optional<ExpertPipeline::Task> ExpertPipeline::takeTask()
{
    const std::lock_guard lock(m_mutex);
    if (m_isOver.load(std::memory_order_relaxed))
        return std::nullopt;
    Place* oldest = nullptr;
    for (std::uint32_t i = 0; i < m_options.placeCount; ++i) {
        Place& place = m_places[i];
        const bool isOpen = !place.isFree && place.blocksTaken < place.blockCount;
        if (isOpen && (oldest == nullptr || place.entered < oldest->entered))
            oldest = &place;
    }
    if (oldest == nullptr)
        return std::nullopt;
    return Task{static_cast<std::uint32_t>(oldest - m_places.data()), oldest->blocksTaken++};
}

void ExpertPipeline::finishTask(const Task& task)
{
    bool callLeader = false;
    {
        const std::lock_guard lock(m_mutex);
        Place& place = m_places[task.place];
        if (++place.blocksDone < place.blockCount)
            return;
        beginNextStage(task.place);
        callLeader = std::exchange(m_isLeaderAway, false);
    }
    if (callLeader)
        m_source.stopAwaiting();
}

// Under the mutex.
void ExpertPipeline::beginNextStage(std::uint32_t index)
{
    Place& place = m_places[index];
    place.blocksTaken = 0;
    place.blocksDone = 0;
    place.blockCount = m_work.nextStage(index);
    place.isDone = place.blockCount == 0;
    if (place.isDone && ++m_doneCount == m_options.expertCount)
        m_isOver.store(true, std::memory_order_release);
    noteChange();
}

// Under the mutex.
void ExpertPipeline::noteChange()
{
    m_changes.fetch_add(1, std::memory_order_release);
    if (m_sleepers > 0)
        m_changed.notify_all();
}

void ExpertPipeline::waitUntilChanged(std::uint32_t seen)
{
    for (int spins = 0; spins < kSpinsBeforeSleep; ++spins) {
        if (m_changes.load(std::memory_order_acquire) != seen)
            return;
        spinPause();
    }
    std::unique_lock lock(m_mutex);
    ++m_sleepers;
    m_changed.wait(lock, [&] { return m_changes.load(std::memory_order_relaxed) != seen; });
    --m_sleepers;
}

} // namespace waste
