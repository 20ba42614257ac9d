// Arenas, their sizes, and the count of a budget.

#include "memory/arena.h"
#include "memory/reservation.h"

#include <QTest>

#include <new>
#include <optional>
#include <thread>
#include <vector>

using namespace waste;

namespace {

struct Buffers {
    std::span<std::byte> odd;
    std::span<float> activations;
    std::span<std::uint16_t> scales;
    std::span<std::byte> slab;
};

// As a layer would write it: once for the plan, once for the memory.
template<typename A>
Buffers carve(A& arena)
{
    Buffers buffers;
    buffers.odd = arena.template take<std::byte>(3);
    buffers.activations = arena.template take<float>(1000);
    buffers.scales = arena.template take<std::uint16_t>(5, 2);
    buffers.slab = arena.template take<std::byte>(4096, 16384);
    return buffers;
}

std::uintptr_t addressOf(const void* pointer)
{
    return reinterpret_cast<std::uintptr_t>(pointer);
}

} // namespace

class TestArena : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void planAndMemoryAgreeToTheByte()
    {
        ArenaSize size;
        (void)carve(size);
        QCOMPARE(size.bytes(), 16384U + 4096U);

        auto arena = Arena::create(size.bytes(), "a test");
        QVERIFY(arena);
        const Buffers buffers = carve(*arena);
        QCOMPARE(arena->usedBytes(), size.bytes());
        QCOMPARE(arena->usedBytes(), arena->capacityBytes());
        QCOMPARE(buffers.activations.size(), std::size_t{1000});
        QCOMPARE(addressOf(buffers.activations.data()) % kArenaAlignment, std::uintptr_t{0});
        QCOMPARE(addressOf(buffers.slab.data()) % 16384, std::uintptr_t{0});
        // One after another, without overlap.
        QVERIFY(addressOf(buffers.odd.data() + 3) <= addressOf(buffers.activations.data()));
        QCOMPARE(addressOf(buffers.activations.data() + 1000), addressOf(buffers.scales.data()));
        QVERIFY(addressOf(buffers.scales.data() + 5) <= addressOf(buffers.slab.data()));
        for (const float value : buffers.activations)
            QCOMPARE(value, 0.0F);
    }

    void moreThanThePlanProvidesIsRefused()
    {
        auto arena = Arena::create(1000, "a test");
        QVERIFY(arena);
        QCOMPARE(arena->take<std::byte>(900).size(), std::size_t{900});
        QVERIFY_EXCEPTION_THROWN(arena->take<std::byte>(100), std::bad_alloc); // begins at 960
        QVERIFY_EXCEPTION_THROWN(arena->take<double>(SIZE_MAX), std::bad_alloc);
        QCOMPARE(arena->take<std::byte>(40).size(), std::size_t{40});
        QVERIFY_EXCEPTION_THROWN(arena->take<std::byte>(1, 1), std::bad_alloc);
        QCOMPARE(arena->take<std::byte>(0, 1).size(), std::size_t{0});
    }

    void anArenaOfNothingIsAllowed()
    {
        auto arena = Arena::create(0, "a test");
        QVERIFY(arena);
        QCOMPARE(arena->take<float>(0).size(), std::size_t{0});
        QVERIFY_EXCEPTION_THROWN(arena->take<float>(1), std::bad_alloc);
    }

    void tooLargeAnArenaIsOutOfMemory()
    {
        const auto arena = Arena::create(std::uint64_t{1} << 60, "resident weights");
        QVERIFY(!arena);
        QCOMPARE(arena.error().code, ErrorCode::OutOfMemory);
        QVERIFY(arena.error().message.find("resident weights") != std::string::npos);
    }

    void reservationsGiveBackWhatTheyTook()
    {
        Budget budget(100);
        std::optional<Reservation> kept;
        {
            auto first = budget.reserve(60, "trunk");
            QVERIFY(first);
            const auto refused = budget.reserve(41, "scratch");
            QVERIFY(!refused);
            QCOMPARE(refused.error().code, ErrorCode::RamBudget);
            QCOMPARE(
                refused.error().message, std::string("scratch needs 41 bytes, but only 40 of the budget are left"));
            QCOMPARE(budget.reservedBytes(), 60U);
            kept = std::move(*first);
        }
        QCOMPARE(budget.reservedBytes(), 60U);
        {
            auto second = budget.reserve(40, "scratch");
            QVERIFY(second);
            QCOMPARE(budget.reservedBytes(), 100U);
            Reservation moved = std::move(*second);
            QCOMPARE(moved.bytes(), 40U);
            QCOMPARE(budget.reservedBytes(), 100U);
        }
        kept.reset();
        QCOMPARE(budget.reservedBytes(), 0U);
        QVERIFY(!budget.reserve(UINT64_MAX, "nonsense"));
    }

    void threadsNeverReserveMoreThanThereIs()
    {
        Budget budget(1000);
        std::atomic<bool> exceeded = false;
        std::vector<std::thread> threads;
        for (int thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&] {
                for (int i = 0; i < 2000; ++i) {
                    const auto reservation = budget.reserve(400, "a test");
                    if (budget.reservedBytes() > 1000)
                        exceeded = true;
                }
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        QVERIFY(!exceeded);
        QCOMPARE(budget.reservedBytes(), 0U);
    }
};

QTEST_APPLESS_MAIN(TestArena)
#include "tst_arena.moc"
