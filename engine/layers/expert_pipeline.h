#pragma once

#include "experts/expert_source.h"
#include "kernels/thread_pool.h"
#include "waste/result.h"
#include "waste/types.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

namespace waste {

// Takes the announced experts of a layer from their source as they arrive and has all workers compute them, with no
// barrier before the layer's end.
//
// An arrived expert has a place until it is done. It goes through stages, each of which is a number of blocks that any
// workers compute in any order; stages of different experts overlap, so a worker waits only while nothing that has
// arrived is left. The calling thread alone talks to the source; it computes like everybody else and sleeps in the
// source only while there is nothing to compute.
//
// Which worker computes a block, and when, must not change what it computes: that is the Work's part.
class ExpertPipeline {
public:
    static constexpr std::uint32_t kPlacesMax = 32;

    class Work {
    public:
        // An expert has arrived; it stays in memory until its last stage is done.
        virtual void enter(std::uint32_t place, std::uint16_t expert, const ExpertView& view) = 0;
        // Begins the next stage of the expert at that place and says how many blocks it has; 0: the expert is done.
        // Nobody computes a block of that place meanwhile.
        virtual std::uint32_t nextStage(std::uint32_t place) = 0;
        // One block of the current stage, by one worker, while others compute other blocks.
        virtual void compute(std::uint32_t place, std::uint32_t block, std::uint32_t worker) = 0;

    protected:
        ~Work() = default;
    };

    struct Options {
        std::size_t expertCount = 0; // that were announced
        std::uint32_t placeCount = 1; // at most kPlacesMax, and what the source allows to be pinned
        const CancelFlag* cancel = nullptr; // polled before an expert is taken
    };
    ExpertPipeline(ThreadPool& pool, ExpertSource& source, Work& work, const Options& options);

    // Until all experts are done. `first` has been acquired already. Errors: Cancelled; those of the source.
    Status run(std::optional<ExpertSource::Arrival> first);

private:
    struct Place {
        ExpertSource::Arrival arrival; // of the calling thread
        std::uint64_t entered = 0; // experts that arrived before it; the oldest goes on first
        std::uint32_t blockCount = 0; // of the current stage
        std::uint32_t blocksTaken = 0;
        std::uint32_t blocksDone = 0;
        bool isFree = true;
        bool isDone = false; // its pin can be released
    };
    struct Task {
        std::uint32_t place = 0;
        std::uint32_t block = 0;
    };

    void lead();
    void follow(std::uint32_t worker);
    [[nodiscard]] bool isOver() const;
    [[nodiscard]] bool hasRoom() const;
    bool fetch(bool blocks);
    void enter(ExpertSource::Arrival arrival);
    void stop(Status status);
    void releaseDone();
    bool computeOne(std::uint32_t worker);
    std::optional<Task> takeTask();
    void finishTask(const Task& task);
    void beginNextStage(std::uint32_t place);
    void noteChange();
    void waitUntilChanged(std::uint32_t seen);

    ThreadPool& m_pool;
    ExpertSource& m_source;
    Work& m_work;
    const Options m_options;
    std::size_t m_leftCount; // not acquired yet; of the calling thread

    std::atomic<std::uint32_t> m_changes = 0; // counted under the mutex, read without it while spinning
    std::atomic<bool> m_isOver = false; // set under the mutex

    mutable std::mutex m_mutex; // guards everything below but the arrivals
    std::condition_variable m_changed;
    std::uint32_t m_sleepers = 0;
    bool m_isLeaderAway = false; // waits in the source
    std::uint64_t m_enteredCount = 0;
    std::size_t m_doneCount = 0;
    std::uint32_t m_busyCount = 0; // places that are not free
    std::array<Place, kPlacesMax> m_places;
    Status m_status;
};

} // namespace waste
