// The cache over a disk that works: what is read, how often, by whom, and what stays.

#include "engine/experts/cache_fixture.h"

#include <QTest>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

using namespace waste;
using namespace waste::test;

namespace {

std::atomic<std::uint64_t> allocations = 0;

} // namespace

// Counts every allocation of the program, whatever thread makes it. Sanitizers bring their own.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kAllocationsAreCounted = false;
#else
constexpr bool kAllocationsAreCounted = true;

void* operator new(std::size_t bytes)
{
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* memory = std::malloc(bytes))
        return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept
{
    std::free(memory);
}
#endif

class TestExpertCache : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aMissIsOneReadAndAHitIsNone()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 8, 0);
        for (int round = 0; round < 3; ++round) {
            for (const std::uint16_t expert : std::initializer_list<std::uint16_t>{3, 7, 11}) {
                const auto pin = cache->acquire({2, expert});
                QVERIFY(pin);
                QVERIFY(disk.isRecord(pin->view(), {2, expert}));
            }
        }
        const CacheStatistics statistics = cache->statistics();
        QCOMPARE(statistics.misses, 3U);
        QCOMPARE(statistics.hits, 6U);
        QCOMPARE(statistics.readsIssued, 3U);
        QCOMPARE(statistics.bytesRead, 3U * kGrid.recordBytes);
        QCOMPARE(statistics.evictions, 0U);
        QCOMPARE(statistics.slotsUsed, 3U);
        QCOMPARE(statistics.slotCount, 8U);
        QCOMPARE(disk.readCount(), 3U);
    }

    void everyAnnouncedRecordIsReadExactlyOnce_data() { addReaderRows(); }
    void everyAnnouncedRecordIsReadExactlyOnce()
    {
        QFETCH(uint, readers);
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, readers);
        const RunResult result = run(*cache, disk, makeRoute(1, 200));
        QCOMPARE(result.wrong, 0U);
        QCOMPARE(result.errors, 0U);
        const CacheStatistics statistics = cache->statistics();
        QCOMPARE(statistics.hits + statistics.misses, result.accesses);
        QCOMPARE(statistics.readsIssued, statistics.misses);
        QCOMPARE(statistics.bytesRead, statistics.misses * kGrid.recordBytes);
        QCOMPARE(disk.readCount(), statistics.misses);
        QVERIFY(statistics.evictions > 0);
        QVERIFY(statistics.diskBusy.count() > 0); // whether anybody had to wait is up to the machine
    }

    void countsDoNotDependOnTheReaders_data()
    {
        QTest::addColumn<uint>("slotCount");
        QTest::addColumn<uint>("expertsPerLayer");
        QTest::addColumn<int>("policy");
        for (const CachePolicy policy : {CachePolicy::Age, CachePolicy::Lfru, CachePolicy::Lru}) {
            for (const uint slotCount : {1U, 3U, 4U, 9U, 20U, 60U, 120U}) {
                for (const uint experts : {4U, 23U})
                    QTest::addRow("policy %d, %u slots, %u experts", int(policy), slotCount, experts)
                        << slotCount << experts << int(policy);
            }
        }
    }

    void countsDoNotDependOnTheReaders()
    {
        QFETCH(uint, slotCount);
        QFETCH(uint, expertsPerLayer);
        QFETCH(int, policy);
        const Route route = makeRoute(7, 20, expertsPerLayer);
        std::optional<CacheStatistics> synchronous;
        // Order of arrival depends on the readers, and nothing else does while the window holds a layer.
        const bool byArrival = expertsPerLayer <= kExpertsPerToken && slotCount >= 2 * kExpertsPerToken;
        for (const std::uint32_t readers : {0U, 1U, 2U, 8U}) {
            FakeRecords disk(kGrid);
            const auto cache = makeCache(disk, slotCount, readers, static_cast<CachePolicy>(policy));
            QCOMPARE((byArrival ? runByArrival(*cache, disk, route) : run(*cache, disk, route)).wrong, 0U);
            const CacheStatistics statistics = cache->statistics();
            if (!synchronous)
                synchronous = statistics;
            QCOMPARE(statistics.hits, synchronous->hits);
            QCOMPARE(statistics.misses, synchronous->misses);
            QCOMPARE(statistics.evictions, synchronous->evictions);
            QCOMPARE(statistics.slotsUsed, synchronous->slotsUsed);
        }
    }

    void whatIsInMemoryComesFirstAndTheRestAsItArrives()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, 2);
        QVERIFY(cache->acquire({1, 3}));
        disk.close({1, 0});
        const std::uint16_t experts[] = {0, 1, 2, 3};
        cache->announce(1, experts);
        for (const std::uint16_t expected : std::initializer_list<std::uint16_t>{3, 1, 2}) {
            const auto arrival = cache->acquireNext();
            QVERIFY(arrival);
            QCOMPARE(arrival->expert, expected);
            QVERIFY(disk.isRecord(arrival->pin.view(), {1, expected}));
        }
        const auto nothing = cache->tryAcquireNext();
        QVERIFY(nothing && !*nothing);
        std::thread opener([&] { disk.open(); });
        const auto last = cache->acquireNext();
        opener.join();
        QVERIFY(last);
        QCOMPARE(last->expert, 0);
        QVERIFY(!*cache->tryAcquireNext());
        QCOMPARE(cache->statistics().hits, 1U);
        QCOMPARE(cache->statistics().misses, 4U);
    }

    void whoAwaitsAnArrivalCanBeCalledBack()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, 2);
        disk.close({1, 0});
        const std::uint16_t experts[] = {0};
        cache->announce(1, experts);
        std::thread caller([&] { cache->stopAwaiting(); });
        QVERIFY(!cache->awaitNext()); // else it would wait for ever
        caller.join();
        QVERIFY(!*cache->tryAcquireNext());
        std::thread opener([&] { disk.open(); });
        QVERIFY(cache->awaitNext());
        opener.join();
        const auto arrival = cache->tryAcquireNext();
        QVERIFY(arrival && *arrival);
        QCOMPARE((*arrival)->expert, 0);
    }

    void nobodyAwaitsWhatNoReaderBrings()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, 0);
        const std::uint16_t experts[] = {4};
        cache->announce(1, experts);
        QVERIFY(cache->awaitNext());
        QCOMPARE(cache->acquireNext()->expert, 4);
    }

    void everyAnnouncedRecordArrivesOnceHoweverFewSlotsThereAre_data() { addReaderRows(); }
    void everyAnnouncedRecordArrivesOnceHoweverFewSlotsThereAre()
    {
        QFETCH(uint, readers);
        for (const std::uint32_t slotCount : {1U, 2U, 3U, 5U, 8U, 30U, 120U}) {
            FakeRecords disk(kGrid);
            const auto cache = makeCache(disk, slotCount, readers);
            for (const std::size_t experts : {1U, 4U, 23U}) {
                const Route route = makeRoute(4, 10, experts);
                const RunResult result = runByArrival(*cache, disk, route, experts / 2);
                QCOMPARE(result.wrong, 0U);
                QCOMPARE(result.errors, 0U);
                QCOMPARE(result.accesses, route.size() * experts);
            }
        }
    }

    void lendsItsLastSlotsAndTakesThemBack_data() { addReaderRows(); }
    void lendsItsLastSlotsAndTakesThemBack()
    {
        QFETCH(uint, readers);
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, readers, CachePolicy::Age, 25);
        const auto isRight = [&](unsigned seed) {
            const Route route = makeRoute(seed, 40);
            const RunResult result = runByArrival(*cache, disk, route, 3);
            return result.wrong == 0 && result.errors == 0 && result.accesses == route.size() * kExpertsPerToken;
        };
        QVERIFY(isRight(1));
        QCOMPARE(cache->statistics().slotsUsed, 40U);
        for (unsigned round = 0; round < 3; ++round) {
            cache->lend();
            QCOMPARE(cache->statistics().slotCount, 15U);
            QVERIFY(cache->statistics().slotsUsed <= 15);
            QVERIFY(isRight(2 + round));
            QVERIFY(cache->statistics().slotsUsed <= 15);
            cache->lend(); // once more changes nothing
            QCOMPARE(cache->statistics().slotCount, 15U);
            cache->takeBack();
            QCOMPARE(cache->statistics().slotCount, 40U);
            QVERIFY(isRight(5 + round));
            QCOMPARE(cache->statistics().slotsUsed, 40U);
        }
        const CacheStatistics statistics = cache->statistics();
        QCOMPARE(statistics.readsIssued, disk.readCount());
    }

    void lendsOnlyWhenNobodyReadsIntoItsSlots()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 16, 1, CachePolicy::Age, 8);
        for (std::uint16_t expert = 0; expert < 8; ++expert)
            QVERIFY(cache->acquire({1, expert})); // the slots that stay
        const std::uint16_t guesses[] = {6};
        disk.close({2, 6});
        cache->prefetch(2, guesses, ExpertSource::GuessFor::Token);
        disk.waitUntilSomebodyWaits();
        std::atomic<bool> isLent = false;
        std::thread lender([&] {
            cache->lend();
            isLent = true;
        });
        QTest::qWait(20);
        QVERIFY(!isLent);
        disk.open();
        lender.join();
        QCOMPARE(cache->statistics().slotsUsed, 8U);
        QCOMPARE(cache->statistics().slotCount, 8U);
        QVERIFY(disk.isRecord(cache->acquire({2, 6})->view(), {2, 6})); // it was forgotten: read again
        QCOMPARE(disk.readCount({2, 6}), 2U);
    }

    void latenciesAreThoseOfTheReads()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, 1);
        disk.close({1, 0});
        const std::uint16_t experts[] = {0};
        cache->announce(1, experts);
        disk.waitUntilSomebodyWaits();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        disk.open();
        QVERIFY(cache->acquireNext());
        const CacheStatistics statistics = cache->statistics();
        QVERIFY(statistics.latency.longest >= std::chrono::milliseconds(20));
        QVERIFY(statistics.latency.median <= statistics.latency.p95);
        QVERIFY(statistics.latency.p95 <= statistics.latency.longest);
        QVERIFY(statistics.diskBusy >= std::chrono::milliseconds(20));
    }

    // Like the bytes: up to the read that ended last, also while the drive has not been idle since.
    void aDriveIsBusyAlsoWhileAnotherReadIsUnderWay()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, 2);
        disk.close({1, 0});
        const std::uint16_t experts[] = {0, 1};
        cache->announce(1, experts);
        disk.waitUntilSomebodyWaits();
        QCOMPARE(cache->acquireNext()->expert, 1);
        const auto busy = cache->statistics().diskBusy;
        disk.open();
        QVERIFY(busy.count() > 0);
        QVERIFY(cache->acquireNext());
        QVERIFY(cache->statistics().diskBusy > busy);
    }

    void withoutACacheEveryAccessReadsIntoOneBuffer_data() { addReaderRows(); }
    void withoutACacheEveryAccessReadsIntoOneBuffer()
    {
        QFETCH(uint, readers);
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 0, readers);
        QCOMPARE(cache->statistics().slotCount, 1U);
        const RunResult result = run(*cache, disk, makeRoute(2, 20));
        QCOMPARE(result.wrong, 0U);
        QCOMPARE(result.errors, 0U);
        QCOMPARE(cache->statistics().misses, result.accesses);
    }

    void pinnedRecordsStayWhateverIsReadBeside()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 6, 2);
        std::vector<Pin> pins;
        for (std::uint16_t expert = 0; expert < 5; ++expert) {
            auto pin = cache->acquire({1, expert});
            QVERIFY(pin);
            pins.push_back(std::move(*pin));
        }
        QCOMPARE(run(*cache, disk, makeRoute(3, 30)).wrong, 0U);
        for (std::uint16_t expert = 0; expert < 5; ++expert) {
            QVERIFY(disk.isRecord(pins[expert].view(), {1, expert}));
            QCOMPARE(disk.readCount({1, expert}), 1U);
        }
    }

    void anAnnouncementThatIsReplacedIsNotReadAnyMore()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, 0);
        for (int i = 0; i < 10; ++i) {
            for (std::uint16_t layer = 1; layer <= 5; ++layer) {
                const std::uint16_t experts[] = {1, 2, 3, 4};
                cache->announce(layer, experts);
            }
        }
        QCOMPARE(disk.readCount(), 0U);
        QCOMPARE(cache->statistics().slotsUsed, 4U); // of the last announcement
        cache->announce(1, {});
        QCOMPARE(cache->statistics().slotsUsed, 0U);
        QCOMPARE(cache->statistics().evictions, 0U);
    }

    void longAnnouncementsDoNotSweepOutTheCache()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 16, 0);
        QCOMPARE(run(*cache, disk, makeRoute(8, 10)).wrong, 0U);
        const std::uint64_t evictions = cache->statistics().evictions;
        std::vector<std::uint16_t> all(kGrid.expertCount);
        std::iota(all.begin(), all.end(), std::uint16_t{0});
        cache->announce(3, all);
        QVERIFY(cache->statistics().evictions - evictions <= 16 / 4);
    }

    void statisticsAreReadWhileTheCacheWorks()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 30, 2);
        std::atomic<bool> done = false;
        std::uint64_t snapshots = 0;
        std::thread observer([&] {
            CacheStatistics previous;
            while (!done || snapshots == 0) {
                const CacheStatistics statistics = cache->statistics();
                if (statistics.hits < previous.hits || statistics.bytesRead < previous.bytesRead)
                    std::abort();
                previous = statistics;
                ++snapshots;
            }
        });
        QCOMPARE(runByArrival(*cache, disk, makeRoute(9, 100), 2).wrong, 0U);
        done = true;
        observer.join();
        QVERIFY(snapshots > 0);
    }

    void nothingIsAllocatedOnceTheCacheExists_data() { addReaderRows(); }
    void nothingIsAllocatedOnceTheCacheExists()
    {
        if (!kAllocationsAreCounted)
            QSKIP("allocations are not counted under a sanitizer");
        QFETCH(uint, readers);
        const Route route = makeRoute(10, 100);
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 30, readers);
        QVERIFY(cache->acquire({1, 1})); // readers have named themselves by the time a read was waited for
        run(*cache, disk, makeRoute(10, 2));
        const std::uint64_t before = allocations;
        RunResult result = run(*cache, disk, route);
        for (const auto& [layer, experts] : route) {
            cache->announce(layer, experts);
            for (std::size_t i = 0; i < experts.size(); ++i)
                result.errors += cache->acquireNext() ? 0 : 1;
            cache->prefetch(layer % kGrid.layerCount + 1, experts, ExpertSource::GuessFor::Token);
        }
        QCOMPARE(allocations - before, 0U);
        QCOMPARE(result.errors, 0U);
        QVERIFY(result.accesses > 0);
        QVERIFY(before > 0);
    }
};

QTEST_APPLESS_MAIN(TestExpertCache)
#include "tst_expert_cache.moc"
