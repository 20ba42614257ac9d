// Loops of every size on pools of several sizes: every item exactly once, in the announced pieces, with
// everything that the pieces wrote visible afterwards.

#include "kernels/thread_pool.h"
#include "support/few_threads.h"

#include <QTest>

#include <chrono>
#include <optional>
#include <set>
#include <thread>
#include <vector>

using namespace waste;

class TestThreadPool : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyItemIsVisitedOnceInPiecesOfTheGrain_data()
    {
        QTest::addColumn<int>("threads");
        for (const int threads : {1, 2, 3, 5})
            QTest::addRow("%d threads", threads) << threads;
    }
    void everyItemIsVisitedOnceInPiecesOfTheGrain()
    {
        QFETCH(int, threads);
        ThreadPool pool({.threadCount = static_cast<std::uint32_t>(threads)});
        QCOMPARE(pool.threadCount(), static_cast<std::uint32_t>(threads));
        for (const std::uint32_t count : {0U, 1U, 2U, 7U, 64U, 65U, 1000U}) {
            for (const std::uint32_t grain : {1U, 2U, 64U, 1000U, 0xFFFFFFFFU}) {
                std::vector<int> visits(count, 0); // not atomic: the join has to publish it
                std::atomic<bool> badPiece = false;
                pool.parallelFor(count, grain, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
                    const bool plain = threads == 1 && begin == 0 && end == count;
                    if (worker >= pool.threadCount() || (!plain && (begin % grain != 0 || end - begin > grain)))
                        badPiece = true;
                    for (std::uint32_t i = begin; i < end; ++i)
                        ++visits[i];
                });
                QVERIFY(!badPiece);
                QCOMPARE(visits, std::vector<int>(count, 1));
            }
        }
    }

    void manyShortLoopsFollowEachOtherWithoutLosingAPiece()
    {
        ThreadPool pool({.threadCount = 3});
        std::uint64_t total = 0;
        constexpr std::uint32_t kLoops = 20000;
        for (std::uint32_t loop = 0; loop < kLoops; ++loop) {
            std::uint32_t parts[4] = {};
            pool.parallelFor(
                4, 1, [&](std::uint32_t begin, std::uint32_t, std::uint32_t) { parts[begin] = loop + begin; });
            for (const std::uint32_t part : parts)
                total += part;
        }
        QCOMPARE(total, std::uint64_t{4} * kLoops * (kLoops - 1) / 2 + std::uint64_t{6} * kLoops);
    }

    void workersThatFellAsleepTakePartAgain()
    {
        ThreadPool pool({.threadCount = 2});
        std::set<std::uint32_t> workers;
        std::mutex mutex;
        for (int round = 0; round < 20 && workers.size() < 2; ++round) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20)); // longer than any spin
            pool.parallelFor(2, 1, [&](std::uint32_t, std::uint32_t, std::uint32_t worker) {
                {
                    const std::lock_guard lock(mutex);
                    workers.insert(worker);
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(50)); // so that one thread cannot do it all
            });
        }
        QCOMPARE(workers.size(), std::size_t{2});
    }

    void aSystemThatIsOutOfThreadsGivesAPoolOfThoseItStarted()
    {
        const std::uint32_t wanted = test::FewThreads::neverStarted();
        std::optional<test::FewThreads> few(std::in_place);
        if (!few->isLimited())
            QSKIP("this system does not tell how much address space is taken");
        ThreadPool pool({.threadCount = wanted});
        few.reset();

        QVERIFY(pool.threadCount() > 1);
        QVERIFY(pool.threadCount() < wanted);
        std::vector<int> visits(1000, 0);
        pool.parallelFor(1000, 1, [&](std::uint32_t begin, std::uint32_t, std::uint32_t) { ++visits[begin]; });
        QCOMPARE(visits, std::vector<int>(1000, 1));
    }

    void aPoolWithoutWorkEndsAtOnce()
    {
        for (int round = 0; round < 50; ++round)
            const ThreadPool pool({.threadCount = 4});
    }
};

QTEST_APPLESS_MAIN(TestThreadPool)
#include "tst_thread_pool.moc"
