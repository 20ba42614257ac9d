// The cache over a disk that can be slow or fail: what is read, how often, by whom, and what happens when
// it cannot be read.

#include "experts/expert_cache.h"
#include "support/fake_records.h"

#include <QTest>

#include <atomic>
#include <cstdlib>
#include <new>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <thread>

using namespace waste;
using test::FakeRecords;
using Pin = ExpertSource::Pin;

namespace {

std::atomic<std::uint64_t> allocations = 0;

constexpr RecordStore::Grid kGrid{.firstLayer = 1, .layerCount = 5, .expertCount = 24, .recordBytes = 4096};
constexpr std::uint32_t kExpertsPerToken = 4;

std::unique_ptr<ExpertCache> makeCache(FakeRecords& disk, std::uint32_t slotCount, std::uint32_t readerCount,
    CachePolicy policy = CachePolicy::Age, std::uint32_t lendableSlotCount = 0)
{
    auto cache = ExpertCache::create(disk.store(),
        {.slotCount = slotCount,
            .lendableSlotCount = lendableSlotCount,
            .expertsPerToken = kExpertsPerToken,
            .readerCount = readerCount,
            .policy = policy});
    if (!cache)
        qFatal("%s", cache.error().message.c_str());
    return std::move(*cache);
}

std::vector<std::uint16_t> someExperts(std::mt19937& random, std::size_t count)
{
    std::vector<std::uint16_t> experts(kGrid.expertCount);
    std::iota(experts.begin(), experts.end(), std::uint16_t{0});
    std::shuffle(experts.begin(), experts.end(), random);
    experts.resize(count);
    std::sort(experts.begin(), experts.end());
    return experts;
}

// The experts of some tokens, layer by layer.
using Route = std::vector<std::pair<std::uint16_t, std::vector<std::uint16_t>>>;

Route makeRoute(unsigned seed, std::size_t tokens, std::size_t expertsPerLayer = kExpertsPerToken)
{
    std::mt19937 random(seed);
    Route route;
    for (std::size_t token = 0; token < tokens; ++token) {
        for (std::uint16_t layer = 0; layer < kGrid.layerCount; ++layer)
            route.emplace_back(kGrid.firstLayer + layer, someExperts(random, expertsPerLayer));
    }
    return route;
}

struct RunResult {
    std::uint64_t accesses = 0;
    std::uint64_t errors = 0;
    std::uint64_t wrong = 0;
};

// Acquires every expert of a route by its name; one that failed is asked for again.
RunResult run(ExpertCache& cache, const FakeRecords& disk, const Route& route)
{
    RunResult result;
    for (const auto& [layer, experts] : route) {
        cache.announce(layer, experts);
        for (const std::uint16_t expert : experts) {
            const ExpertKey key{layer, expert};
            while (true) {
                const auto pin = cache.acquire(key);
                if (pin) {
                    ++result.accesses;
                    result.wrong += disk.isRecord(pin->view(), key) ? 0 : 1;
                    break;
                }
                ++result.errors;
            }
        }
    }
    return result;
}

// The same in order of arrival, each token guessing at a part of the next layer.
RunResult runByArrival(ExpertCache& cache, const FakeRecords& disk, const Route& route, std::size_t guessed = 0)
{
    RunResult result;
    for (std::size_t i = 0; i < route.size(); ++i) {
        const auto& [layer, experts] = route[i];
        cache.announce(layer, experts);
        std::set<std::uint16_t> left(experts.begin(), experts.end());
        while (!left.empty()) {
            auto arrived = cache.tryAcquireNext();
            if (!arrived)
                qFatal("trying is no error");
            if (!*arrived) {
                auto awaited = cache.acquireNext();
                if (!awaited) {
                    ++result.errors;
                    continue;
                }
                *arrived = std::move(*awaited);
            }
            ++result.accesses;
            const bool isRight = disk.isRecord((*arrived)->pin.view(), {layer, (*arrived)->expert});
            result.wrong += isRight && left.erase((*arrived)->expert) == 1 ? 0 : 1;
        }
        if (guessed > 0 && i + 1 < route.size())
            cache.prefetch(
                route[i + 1].first, std::span(route[i + 1].second).first(guessed), ExpertSource::GuessFor::Token);
    }
    return result;
}

void addReaderRows()
{
    QTest::addColumn<uint>("readers");
    for (const uint readers : {0U, 1U, 2U, 8U})
        QTest::addRow("%u readers", readers) << readers;
}

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
