// The cache over a disk that is slow, fails or is dead, and one whose slots are all taken.

#include "engine/experts/cache_fixture.h"

#include <QTest>

#include <random>
#include <thread>

using namespace waste;
using namespace waste::test;

class TestExpertCacheFailures : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aCacheThatIsHeldCompletelyIsAnErrorAndNoSilence()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 4, 2);
        std::vector<Pin> pins;
        for (std::uint16_t expert = 0; expert < 4; ++expert) {
            auto pin = cache->acquire({1, expert});
            QVERIFY(pin);
            pins.push_back(std::move(*pin));
        }
        const std::uint16_t next[] = {9};
        cache->announce(2, next);
        const auto refused = cache->acquire({2, 9});
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::Internal);
        QVERIFY(refused.error().message.find("expert 9 of layer 2") != std::string::npos);

        const auto again = cache->acquire({1, 2}); // a second pin on what is there needs no slot
        QVERIFY(again);
        pins.pop_back();
        const auto pin = cache->acquire({2, 9});
        QVERIFY(pin);
        QVERIFY(disk.isRecord(pin->view(), {2, 9}));
    }

    // One slot is announced and unread, the others pinned: the demand for something else comes first.
    void aDemandTakesTheSlotOfAnAnnouncementRatherThanFail()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 4, 0);
        std::vector<Pin> pins;
        for (std::uint16_t expert = 0; expert < 3; ++expert) {
            auto pin = cache->acquire({1, expert});
            QVERIFY(pin);
            pins.push_back(std::move(*pin));
        }
        const std::uint16_t announced[] = {5};
        cache->announce(2, announced);
        {
            const auto other = cache->acquire({3, 8});
            QVERIFY(other);
            QVERIFY(disk.isRecord(other->view(), {3, 8}));
        }
        const auto pin = cache->acquire({2, 5});
        QVERIFY(pin);
        QVERIFY(disk.isRecord(pin->view(), {2, 5}));
        QCOMPARE(disk.readCount(), 5U);
    }

    void aFailedDemandIsAnErrorAndTheNextTryReadsAgain()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 8, 0);
        disk.failReads(1);
        const auto failed = cache->acquire({4, 17});
        QVERIFY(!failed);
        QCOMPARE(failed.error().code, ErrorCode::Io);
        QCOMPARE(failed.error().message, std::string("expert 17 of layer 4: the disk failed"));
        QCOMPARE(cache->statistics().slotsUsed, 0U);
        QCOMPARE(cache->statistics().readsFailed, 1U);
        QCOMPARE(cache->statistics().misses, 0U);

        const auto pin = cache->acquire({4, 17});
        QVERIFY(pin);
        QVERIFY(disk.isRecord(pin->view(), {4, 17}));
        QCOMPARE(disk.readCount({4, 17}), 2U);
        QCOMPARE(cache->statistics().misses, 1U);
    }

    void aFailedReadAheadIsRepeatedByTheDemand()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 8, 1);
        disk.failReads(1);
        disk.close({2, 6});
        const std::uint16_t experts[] = {6};
        cache->announce(2, experts);
        disk.waitUntilSomebodyWaits(); // the reader has begun; the consumer will wait for it
        std::thread opener([&] { disk.open(); });
        const auto pin = cache->acquire({2, 6});
        opener.join();
        QVERIFY(pin);
        QVERIFY(disk.isRecord(pin->view(), {2, 6}));
        QCOMPARE(disk.readCount({2, 6}), 2U);
        QCOMPARE(cache->statistics().readsFailed, 1U);
    }

    void aFailureAtAnyReadLeavesTheCacheRight_data() { addReaderRows(); }
    void aFailureAtAnyReadLeavesTheCacheRight()
    {
        QFETCH(uint, readers);
        const Route route = makeRoute(5, 6);
        std::uint64_t reads = 0;
        {
            FakeRecords disk(kGrid);
            const auto cache = makeCache(disk, 12, readers);
            (void)run(*cache, disk, route);
            reads = disk.readCount();
        }
        QVERIFY(reads > 50);
        for (std::uint64_t failing = 1; failing <= reads; ++failing) {
            FakeRecords disk(kGrid);
            disk.failReads(failing);
            const auto cache = makeCache(disk, 12, readers);
            const RunResult result = failing % 2 == 0 ? run(*cache, disk, route) : runByArrival(*cache, disk, route);
            QCOMPARE(result.wrong, 0U);
            QCOMPARE(cache->statistics().readsFailed, 1U);
            if (readers == 0)
                QCOMPARE(result.errors, 1U); // nobody else reads, so the consumer met it
            QVERIFY(result.errors <= 1);
        }
    }

    void aDeadDiskFailsEveryTokenAndNothingHangs()
    {
        FakeRecords disk(kGrid);
        disk.failReads(1, UINT64_MAX / 2);
        const auto cache = makeCache(disk, 8, 2);
        for (const auto& [layer, experts] : makeRoute(6, 20)) {
            cache->announce(layer, experts);
            for (const std::uint16_t expert : experts)
                QVERIFY(!cache->acquire({layer, expert}));
        }
        QCOMPARE(cache->statistics().bytesRead, 0U);
        disk.failReads(0, 0);
        QCOMPARE(run(*cache, disk, makeRoute(6, 2)).errors, 0U);
    }

    void aDemandIsReadAtOnceWhileAReaderIsStuck()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 16, 1);
        disk.close({1, 0});
        const std::uint16_t experts[] = {0, 1, 2};
        cache->announce(1, experts);
        disk.waitUntilSomebodyWaits();
        for (const std::uint16_t expert :
            std::initializer_list<std::uint16_t>{2, 1, 20}) { // announced, announced, and a surprise
            const auto pin = cache->acquire({1, expert});
            QVERIFY(pin);
            QVERIFY(disk.isRecord(pin->view(), {1, expert}));
        }
        disk.open();
        QVERIFY(cache->acquire({1, 0}));
        QCOMPARE(disk.readCount(), 4U);
    }

    // A reader is stuck in a record whose announcement was dropped: nobody else gets its slot.
    void aReadUnderWayKeepsItsSlot()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 4, 1);
        disk.close({1, 0});
        const std::uint16_t experts[] = {0};
        cache->announce(1, experts);
        disk.waitUntilSomebodyWaits();
        cache->announce(1, {});
        for (std::uint16_t expert = 1; expert < 20; ++expert) {
            const auto pin = cache->acquire({2, expert});
            QVERIFY(pin);
            QVERIFY(disk.isRecord(pin->view(), {2, expert}));
        }
        std::thread opener([&] { disk.open(); });
        const auto pin = cache->acquire({1, 0});
        opener.join();
        QVERIFY(pin);
        QVERIFY(disk.isRecord(pin->view(), {1, 0}));
        QCOMPARE(disk.readCount({1, 0}), 1U);
        QCOMPARE(cache->statistics().misses, 20U);
    }

    void aDemandWaitsForTheLastSlotInsteadOfGivingUp()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 4, 1);
        disk.close({1, 0});
        const std::uint16_t experts[] = {0};
        cache->announce(1, experts);
        disk.waitUntilSomebodyWaits();
        cache->announce(1, {});
        std::vector<Pin> pins;
        for (std::uint16_t expert = 1; expert < 4; ++expert) {
            auto pin = cache->acquire({2, expert});
            QVERIFY(pin);
            pins.push_back(std::move(*pin));
        }
        std::thread opener([&] { disk.open(); });
        const auto pin = cache->acquire({3, 3});
        opener.join();
        QVERIFY(pin);
        QVERIFY(disk.isRecord(pin->view(), {3, 3}));
        for (std::uint16_t expert = 1; expert < 4; ++expert)
            QVERIFY(disk.isRecord(pins[expert - 1U].view(), {2, expert}));
    }

    void theCacheCanGoWhileReadsAreUnderWay()
    {
        for (int round = 0; round < 20; ++round) {
            FakeRecords disk(kGrid);
            auto cache = makeCache(disk, 64, 2);
            disk.close({1, 0});
            const std::uint16_t experts[] = {0, 1, 2, 3, 4, 5, 6, 7};
            cache->announce(1, experts);
            disk.waitUntilSomebodyWaits();
            std::thread opener([&] { disk.open(); });
            cache.reset();
            opener.join();
            QVERIFY(disk.readCount() >= 1);
        }
    }

    void theCacheCanGoAtAnyMoment()
    {
        std::mt19937 random(11);
        const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random()) % limit; };
        for (int round = 0; round < 200; ++round) {
            FakeRecords disk(kGrid);
            const auto cache = makeCache(disk, 1 + below(40), below(4));
            const std::vector<std::uint16_t> experts = someExperts(random, 12);
            cache->announce(2, experts);
            for (std::size_t i = below(12); i > 0; --i)
                QVERIFY(cache->acquire({2, experts[i]}));
        }
    }
};

QTEST_APPLESS_MAIN(TestExpertCacheFailures)
#include "tst_expert_cache_failures.moc"
