#pragma once

#include "kernels/kernel_table.h"
#include "kernels/thread_pool.h"
#include "layers/decoder.h"
#include "memory/arena.h"
#include "memory/reservation.h"
#include "sampling/sampler.h"
#include "session/loaded_model.h"
#include "session/paging_watch.h"
#include "session/state_format.h"
#include "session/vision_model.h"
#include "waste/container.h"
#include "waste/engine.h"
#include "waste/memory_plan.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace waste {

// Everything that one opened model shares between its sessions. Its parts are put together by
// Engine::open() and, but for the vision tower, do not change afterwards; whoever holds a GenerationLock may use
// decoder, sampler and tower.
struct Engine::Internals {
    using Count = std::atomic<std::uint64_t>; // statistics only: relaxed, orders nothing

    Internals(std::shared_ptr<const Container> openContainer, const EngineOptions& openOptions,
        const MemoryPlan& acceptedPlan, const kernels::KernelTable& table, std::uint32_t threadCount)
        : pool({.threadCount = threadCount, .cpus = openOptions.cpus})
        , container(std::move(openContainer))
        , options(openOptions)
        , plan(acceptedPlan)
        , budget(acceptedPlan.budgetBytes)
        , kernels(table)
    {
    }

    [[nodiscard]] const ModelConfig& config() const { return container->files().config; }

    ThreadPool pool; // the first, because its parts begin at lines of the processor's cache
    const std::shared_ptr<const Container> container;
    const EngineOptions options;
    const MemoryPlan plan;
    Budget budget; // all of it is spoken for but the states of sessions not open yet
    std::vector<Reservation> reservations;
    const kernels::KernelTable& kernels;
    std::unique_ptr<LoadedModel> model;
    std::unique_ptr<VisionModel> vision; // null while it is not in memory; changes under a GenerationLock
    std::atomic<bool> visionLoaded = false; // the same for other threads, orders nothing
    state::Identity identity;
    std::unique_ptr<Arena> scratch;
    std::unique_ptr<Decoder> decoder;
    std::unique_ptr<Sampler> sampler;
    std::uint64_t firstRandomState = 0; // of the stream with the built-in seed
    PagingWatch pagingWatch; // whoever holds a GenerationLock

    std::atomic<bool> generating = false; // see GenerationLock
    Count tokensPrefilled = 0;
    Count tokensDecoded = 0;
    Count prefillNs = 0;
    Count decodeNs = 0;
    double openBytesPerSecond = 0; // set once, by Engine::open()
};

// The right to run the decoder: one call of append() or generate() at a time over all sessions. Nobody
// waits for it; who comes second hears that the engine is busy.
class GenerationLock {
public:
    explicit GenerationLock(Engine::Internals& engine)
        : m_engine(engine)
        , m_held(!engine.generating.exchange(true, std::memory_order_acquire)) // sees what the holder before wrote
    {
    }
    ~GenerationLock()
    {
        if (m_held)
            m_engine.generating.store(false, std::memory_order_release);
    }
    GenerationLock(const GenerationLock&) = delete;
    GenerationLock& operator=(const GenerationLock&) = delete;

    [[nodiscard]] Status status() const
    {
        if (m_held)
            return {};
        return Error{ErrorCode::Busy, "busy", "the model is generating for another conversation"};
    }

private:
    Engine::Internals& m_engine;
    const bool m_held;
};

// Adds the time of a scope to a count of nanoseconds.
class ScopedTime {
public:
    using Clock = std::chrono::steady_clock;

    explicit ScopedTime(Engine::Internals::Count& nanoseconds)
        : m_nanoseconds(nanoseconds)
    {
    }
    ~ScopedTime()
    {
        const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - m_start);
        m_nanoseconds.fetch_add(static_cast<std::uint64_t>(elapsed.count()), std::memory_order_relaxed);
    }
    ScopedTime(const ScopedTime&) = delete;
    ScopedTime& operator=(const ScopedTime&) = delete;

private:
    Engine::Internals::Count& m_nanoseconds;
    const Clock::time_point m_start = Clock::now();
};

} // namespace waste
