// Guesses at the next layer: when they are read, what they may evict, and what becomes of right and wrong ones.

#include "engine/experts/cache_fixture.h"

#include <QTest>

#include <thread>

using namespace waste;
using namespace waste::test;

class TestExpertGuesses : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aGuessThatIsNamedIsAHit()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, 2);
        const std::uint16_t guess[] = {5, 6};
        cache->prefetch(2, guess, ExpertSource::GuessFor::Token);
        cache->waitUntilIdle();
        const std::uint16_t experts[] = {5, 7};
        cache->announce(2, experts);
        QCOMPARE(cache->acquireNext()->expert, 5);
        QCOMPARE(cache->acquireNext()->expert, 7);
        const CacheStatistics statistics = cache->statistics();
        QCOMPARE(statistics.hits, 1U);
        QCOMPARE(statistics.misses, 1U);
        QCOMPARE(statistics.readsIssued, 3U);
        QCOMPARE(statistics.guessesIssued, 2U);
        QCOMPARE(statistics.guessesUseful, 1U);
        QCOMPARE(statistics.guessesWasted, 1U);
        QCOMPARE(disk.readCount({2, 5}), 1U);
    }

    void aGuessThatIsBeingReadIsWaitedForAndNotReadTwice()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, 2);
        disk.close({2, 5});
        const std::uint16_t guess[] = {5};
        cache->prefetch(2, guess, ExpertSource::GuessFor::Token);
        disk.waitUntilSomebodyWaits();
        cache->announce(2, guess);
        std::thread opener([&] { disk.open(); });
        const auto arrival = cache->acquireNext();
        opener.join();
        QVERIFY(arrival && disk.isRecord(arrival->pin.view(), {2, 5}));
        QCOMPARE(disk.readCount(), 1U);
        QCOMPARE(cache->statistics().hits, 1U);
        QCOMPARE(cache->statistics().guessesUseful, 1U);
    }

    void guessesGoOnWhileTheySaveReads_data()
    {
        QTest::addColumn<int>("right"); // of 64
        QTest::addColumn<bool>("isLate");
        QTest::addColumn<bool>("goesOn");
        QTest::newRow("half of them, in time") << 32 << false << true;
        QTest::newRow("half of them, late") << 32 << true << false;
        QTest::newRow("most of them, late") << 40 << true << true;
        QTest::newRow("few of them, in time") << 10 << false << false;
    }

    void guessesGoOnWhileTheySaveReads()
    {
        QFETCH(const int, right);
        QFETCH(const bool, isLate);
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, 1);
        for (std::uint16_t i = 0; i < 64; ++i) {
            const auto layer = static_cast<std::uint16_t>(2 + i % 4);
            const std::uint16_t guess[] = {static_cast<std::uint16_t>(i / 4)};
            const std::uint16_t other[] = {static_cast<std::uint16_t>(16 + guess[0] % 8)};
            if (isLate)
                disk.close({layer, guess[0]});
            cache->prefetch(layer, guess, ExpertSource::GuessFor::Token);
            if (isLate)
                disk.waitUntilSomebodyWaits();
            else
                cache->waitUntilIdle();
            cache->announce(layer, i < right ? guess : other);
            disk.open();
            QVERIFY(cache->acquireNext());
            cache->waitUntilIdle();
        }
        QTEST(cache->guessesWanted() > 0, "goesOn");
    }

    // One reader, stuck: behind it wait an announced record and guesses, and then another announcement.
    void announcedRecordsAreReadBeforeGuessesAndGuessesNotBegunAreDropped()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, 1);
        disk.close({1, 0});
        const std::uint16_t first[] = {0, 1};
        cache->announce(1, first);
        disk.waitUntilSomebodyWaits();
        const std::uint16_t guess[] = {8, 9};
        cache->prefetch(2, guess, ExpertSource::GuessFor::Token);
        QCOMPARE(cache->statistics().guessesIssued, 0U);
        const std::uint16_t second[] = {3, 4};
        cache->announce(2, second);
        disk.open();
        QVERIFY(cache->acquireNext());
        QVERIFY(cache->acquireNext());
        cache->waitUntilIdle();
        for (const std::uint16_t dropped : guess)
            QCOMPARE(disk.readCount({2, dropped}), 0U);
        QCOMPARE(cache->statistics().slotsUsed, 3U);
        QCOMPARE(cache->statistics().evictions, 0U);
    }

    // One reader, stuck with the first of two guesses: the other one has not been begun.
    void aSecondGuessReplacesWhatHasNotBeenBegun()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, 1);
        disk.close({2, 8});
        const std::uint16_t guess[] = {8, 9};
        cache->prefetch(2, guess, ExpertSource::GuessFor::Token);
        disk.waitUntilSomebodyWaits();
        const std::uint16_t better[] = {5, 8};
        cache->prefetch(2, better, ExpertSource::GuessFor::Token);
        disk.open();
        cache->waitUntilIdle();
        QCOMPARE(cache->statistics().guessesIssued, 2U);
        QCOMPARE(cache->statistics().guessesWasted, 0U); // not judged before the announcement
        QCOMPARE(disk.readCount({2, 9}), 0U);
        cache->announce(2, better);
        QVERIFY(cache->acquireNext());
        QVERIFY(cache->acquireNext());
        QCOMPARE(disk.readCount(), 2U);
        QCOMPARE(cache->statistics().hits, 2U);
        QCOMPARE(cache->statistics().guessesUseful, 2U);
    }

    void aGuessThatCannotBeReadIsNoError()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, 1);
        disk.failReads(1);
        const std::uint16_t guess[] = {5};
        cache->prefetch(2, guess, ExpertSource::GuessFor::Token);
        cache->waitUntilIdle();
        QCOMPARE(cache->statistics().readsFailed, 1U);
        cache->announce(2, guess);
        const auto arrival = cache->acquireNext();
        QVERIFY(arrival && disk.isRecord(arrival->pin.view(), {2, 5}));
        QCOMPARE(cache->statistics().misses, 1U);
    }

    void guessesEvictNothingThatIsWanted()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 8, 2);
        const std::uint16_t experts[] = {0, 1, 2, 3};
        cache->announce(1, experts);
        std::vector<ExpertSource::Arrival> held;
        for (int i = 0; i < 4; ++i)
            held.push_back(std::move(*cache->acquireNext()));
        for (std::uint16_t layer = 2; layer <= 5; ++layer) {
            cache->prefetch(layer, experts, ExpertSource::GuessFor::Token);
            cache->waitUntilIdle();
        }
        for (const ExpertSource::Arrival& arrival : held)
            QVERIFY(disk.isRecord(arrival.pin.view(), {1, arrival.expert}));
        cache->announce(5, experts);
        held.clear();
        for (int i = 0; i < 4; ++i)
            QVERIFY(cache->acquireNext());
        QCOMPARE(cache->statistics().hits, 4U);
    }

    void aChunkGuessesForHalfOfTheSlotsUnlessThatHelpsNobody_data()
    {
        QTest::addColumn<std::uint32_t>("slotCount");
        QTest::addColumn<std::uint32_t>("readerCount");
        QTest::addColumn<std::optional<std::uint32_t>>("guesses");
        QTest::addColumn<std::uint32_t>("wanted");
        using Guesses = std::optional<std::uint32_t>;
        QTest::newRow("half") << 40U << 2U << Guesses() << 20U;
        QTest::newRow("too few slots for a chunk and its guesses") << 15U << 2U << Guesses() << 0U;
        QTest::newRow("no reader") << 40U << 0U << Guesses() << 0U;
        QTest::newRow("switched off") << 40U << 2U << Guesses(0) << 0U;
        QTest::newRow("a slot for every record") << 120U << 2U << Guesses() << 0U;
    }

    void aChunkGuessesForHalfOfTheSlotsUnlessThatHelpsNobody()
    {
        QFETCH(const std::uint32_t, slotCount);
        QFETCH(const std::uint32_t, readerCount);
        QFETCH(const std::optional<std::uint32_t>, guesses);
        FakeRecords disk(kGrid);
        const auto cache = ExpertCache::create(disk.store(),
            {.slotCount = slotCount,
                .expertsPerToken = kExpertsPerToken,
                .readerCount = readerCount,
                .guesses = guesses});
        QVERIFY(cache);
        QTEST((*cache)->chunkGuessesWanted(), "wanted");
    }

    void aChunksGuessesAreReadAheadAndTeachNothingAboutSingleTokens()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 40, 2);
        const std::uint32_t width = cache->guessesWanted();
        std::vector<std::uint16_t> guess(cache->chunkGuessesWanted());
        std::iota(guess.begin(), guess.end(), std::uint16_t{0});
        const std::vector<std::uint16_t> otherwise = {20, 21, 22, 23};
        for (std::uint16_t layer = 2; layer <= 5; ++layer) {
            cache->prefetch(layer, guess, ExpertSource::GuessFor::Chunk);
            cache->waitUntilIdle();
            cache->announce(layer, otherwise);
            for (std::size_t i = 0; i < otherwise.size(); ++i)
                QVERIFY(cache->acquireNext());
        }
        QCOMPARE(cache->statistics().guessesWasted, 4U * guess.size());
        QCOMPARE(cache->guessesWanted(), width);
    }
};

QTEST_APPLESS_MAIN(TestExpertGuesses)
#include "tst_expert_guesses.moc"
