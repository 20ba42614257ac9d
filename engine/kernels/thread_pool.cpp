#include "kernels/thread_pool.h"

#include "base/checked.h"
#include "kernels/spin.h"
#include "platform/threads.h"

#include <cassert>
#include <exception>

namespace waste {

namespace {

constexpr std::uint32_t kClosed = 0xFFFFFFFFU; // no piece has this number

// How long an idle worker looks for the next loop before it sleeps: 20 to 100 µs, depending on what the
// CPU makes of a pause. Waking a sleeper costs tens of microseconds, the gap between two loops of a
// layer is one or two.
constexpr int kSpinsBeforeSleep = 2000;
// The caller cannot sleep while pieces are under way, but may let a descheduled worker run.
constexpr int kSpinsBeforeYield = 2000;

std::uint32_t loopNumber(std::uint64_t ticket)
{
    return static_cast<std::uint32_t>(ticket >> 32);
}
std::uint32_t nextPiece(std::uint64_t ticket)
{
    return static_cast<std::uint32_t>(ticket);
}
std::uint64_t makeTicket(std::uint32_t loop, std::uint32_t piece)
{
    return std::uint64_t{loop} << 32 | piece;
}

} // namespace

ThreadPool::ThreadPool(const Options& options)
    : m_ticket(makeTicket(0, kClosed))
{
    assert(options.threadCount >= 1);
    m_workers.reserve(options.threadCount - 1);
    try {
        for (std::uint32_t worker = 1; worker < options.threadCount; ++worker) {
            std::vector<std::uint32_t> cpu;
            if (!options.cpus.empty())
                cpu.push_back(options.cpus[worker % options.cpus.size()]);
            m_workers.emplace_back([this, worker, cpu] {
                nameCurrentThread("waste-compute");
                // A CPU list was checked when it was parsed; a CPU that has gone since then costs speed only.
                if (!cpu.empty())
                    static_cast<void>(bindCurrentThread(cpu));
                work(worker);
            });
        }
    } catch (const std::exception&) {
        // The system is out of threads, or of memory for them. Those that run do the work of all.
    }
}

ThreadPool::~ThreadPool()
{
    {
        const std::lock_guard lock(m_sleepMutex);
        m_stopping.store(true);
    }
    m_wake.notify_all();
    for (std::thread& worker : m_workers)
        worker.join();
}

void ThreadPool::run(std::uint32_t count, std::uint32_t grain, Loop loop, void* context)
{
    assert(grain > 0);
    if (count == 0)
        return;
    if (m_workers.empty() || count <= grain) {
        loop(context, 0, count, 0);
        return;
    }
    const std::uint32_t pieces = ceilDivide(count, grain);
    const std::uint32_t number = loopNumber(m_ticket.load(std::memory_order_relaxed)) + 1;
    // Released one by one: whoever reads one of them also sees that the loop before is closed.
    m_loop.store(loop, std::memory_order_release);
    m_context.store(context, std::memory_order_release);
    m_count.store(count, std::memory_order_release);
    m_grain.store(grain, std::memory_order_release);
    m_piecesDone.store(0, std::memory_order_relaxed);
    // Publishes the fields above. Sequentially consistent together with m_sleepers: either a worker that
    // is about to sleep sees the new ticket, or we see that it sleeps.
    m_ticket.store(makeTicket(number, 0), std::memory_order_seq_cst);
    if (m_sleepers.load(std::memory_order_seq_cst) > 0) {
        // Taking the mutex once makes sure that a worker between its check and its sleep is asleep by now.
        m_sleepMutex.lock();
        m_sleepMutex.unlock();
        m_wake.notify_all();
    }
    drawPieces(0);
    for (int spins = 0; m_piecesDone.load(std::memory_order_acquire) != pieces; ++spins) {
        if (spins < kSpinsBeforeYield)
            spinPause();
        else
            std::this_thread::yield();
    }
    m_ticket.store(makeTicket(number, kClosed), std::memory_order_release);
}

void ThreadPool::drawPieces(std::uint32_t worker)
{
    std::uint64_t ticket = m_ticket.load(std::memory_order_acquire);
    while (true) {
        const std::uint32_t piece = nextPiece(ticket);
        const std::uint32_t count = m_count.load(std::memory_order_acquire);
        const std::uint32_t grain = m_grain.load(std::memory_order_acquire);
        const Loop loop = m_loop.load(std::memory_order_acquire);
        void* const context = m_context.load(std::memory_order_acquire);
        if (piece == kClosed || piece >= ceilDivide(count, grain))
            return;
        if (!m_ticket.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acquire, std::memory_order_acquire))
            continue; // someone else drew it, or the loop ended and the fields above may be of another one
        const std::uint32_t begin = piece * grain;
        loop(context, begin, count - begin < grain ? count : begin + grain, worker);
        m_piecesDone.fetch_add(1, std::memory_order_release);
        ticket = m_ticket.load(std::memory_order_acquire);
    }
}

void ThreadPool::work(std::uint32_t worker)
{
    std::uint64_t seenTicket = makeTicket(0, kClosed);
    int spins = 0;
    while (!m_stopping.load(std::memory_order_relaxed)) {
        const std::uint64_t ticket = m_ticket.load(std::memory_order_acquire);
        if (loopNumber(ticket) != loopNumber(seenTicket)) {
            drawPieces(worker);
            seenTicket = ticket;
            spins = 0;
        } else if (++spins < kSpinsBeforeSleep) {
            spinPause();
        } else {
            sleepUntilChanged(seenTicket);
            spins = 0;
        }
    }
}

void ThreadPool::sleepUntilChanged(std::uint64_t seenTicket)
{
    std::unique_lock lock(m_sleepMutex);
    m_sleepers.fetch_add(1, std::memory_order_seq_cst);
    m_wake.wait(lock, [&] {
        return m_stopping.load(std::memory_order_relaxed)
            || loopNumber(m_ticket.load(std::memory_order_seq_cst)) != loopNumber(seenTicket);
    });
    m_sleepers.fetch_sub(1, std::memory_order_relaxed);
}

} // namespace waste
