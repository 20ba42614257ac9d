// Loops of every size on pools of several sizes: every item exactly once, in the announced pieces, with
// everything that the pieces wrote visible afterwards.

#include "kernels/thread_pool.h"

#include <QTest>

#include <chrono>
#include <fstream>
#include <pthread.h>
#include <set>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace waste;

namespace {

// 0: not to be found out.
std::uint64_t addressSpaceBytes()
{
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// Of a new thread.
std::uint64_t stackBytes()
{
    pthread_attr_t attributes = {};
    std::size_t bytes = 0;
    pthread_attr_init(&attributes);
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
    return bytes;
}

} // namespace

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

    // Room for a few stacks more, as under a limit on a user's or a container's threads.
    void aSystemThatIsOutOfThreadsGivesAPoolOfThoseItStarted()
    {
        const std::uint64_t takenBytes = addressSpaceBytes();
        if (takenBytes == 0)
            QSKIP("this system does not tell how much address space is taken");
        rlimit before = {};
        QCOMPARE(getrlimit(RLIMIT_AS, &before), 0);
        rlimit tight = before;
        tight.rlim_cur = takenBytes + 3 * stackBytes() + stackBytes() / 2;
        QCOMPARE(setrlimit(RLIMIT_AS, &tight), 0);
        constexpr std::uint32_t kWanted = 64; // stacks of threads that have ended are used again: some of eight more
        ThreadPool pool({.threadCount = kWanted});
        QCOMPARE(setrlimit(RLIMIT_AS, &before), 0);

        QVERIFY(pool.threadCount() > 1);
        QVERIFY(pool.threadCount() < kWanted);
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
