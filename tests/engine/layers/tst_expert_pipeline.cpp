// Whoever computes, and however experts arrive: every block of every stage is computed once, in the order of the
// stages, while the expert is in memory; no more experts are held than there are places.

#include "layers/expert_pipeline.h"

#include <QTest>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

using namespace waste;

namespace {

constexpr std::uint32_t kStages = 3;

// Hands experts out from the first to the last; those that have not "arrived" come when somebody waits.
class FakeSource final : public ExpertSource {
public:
    FakeSource(std::uint32_t count, std::uint32_t seed)
        : m_count(count)
        , m_random(seed)
    {
    }
    void announce(std::uint16_t, std::span<const std::uint16_t>) override { }
    Result<Arrival> acquireNext() override
    {
        if (m_next == failAt)
            return Error{ErrorCode::Io, "", "the disk is gone"};
        const auto expert = static_cast<std::uint16_t>(m_next++);
        ++pinned;
        pinnedMax = std::max(pinnedMax, pinned);
        return Arrival{expert, Pin(this, expert, DenseExpert{})};
    }
    Result<std::optional<Arrival>> tryAcquireNext() override
    {
        if (m_next == m_count || m_random() % 3 == 0)
            return std::optional<Arrival>();
        WASTE_TRY(Arrival arrival, acquireNext());
        return std::optional<Arrival>(std::move(arrival));
    }
    // Sleeps now and then until somebody has something to compute.
    bool awaitNext() override
    {
        if (m_random() % 2 == 0)
            return true;
        std::unique_lock lock(m_mutex);
        m_called.wait_for(lock, std::chrono::milliseconds(1), [&] { return m_isCalledBack; });
        return !std::exchange(m_isCalledBack, false);
    }
    void stopAwaiting() override
    {
        {
            const std::lock_guard lock(m_mutex);
            m_isCalledBack = true;
        }
        m_called.notify_all();
    }
    [[nodiscard]] std::uint32_t guessesWanted() override { return 0; }
    void prefetch(std::uint16_t, std::span<const std::uint16_t>, GuessFor) override { }
    Result<Pin> acquire(ExpertKey) override { return Error{ErrorCode::Internal, "", "nobody asks by name"}; }

    std::size_t failAt = SIZE_MAX;
    int pinned = 0; // of the calling thread, like everything but the calling back
    int pinnedMax = 0;

private:
    void release(std::uint32_t) override { --pinned; }

    const std::size_t m_count;
    std::size_t m_next = 0;
    std::mt19937 m_random;
    std::mutex m_mutex; // guards what follows
    std::condition_variable m_called;
    bool m_isCalledBack = false;
};

// Stages of one to five blocks, each counted.
class CountingWork final : public ExpertPipeline::Work {
public:
    explicit CountingWork(std::uint32_t experts)
        : m_done(experts * kStages)
    {
    }
    void enter(std::uint32_t place, std::uint16_t expert, const ExpertView&) override { m_places[place] = {expert, 0}; }
    std::uint32_t nextStage(std::uint32_t place) override
    {
        Place& at = m_places[place];
        if (at.stage > 0 && m_done[at.expert * kStages + at.stage - 1] != blocksOf(at.expert, at.stage - 1))
            ++wrong; // a stage began before the one before was done
        return at.stage == kStages ? 0 : blocksOf(at.expert, at.stage++);
    }
    void compute(std::uint32_t place, std::uint32_t block, std::uint32_t) override
    {
        const Place& at = m_places[place];
        if (block >= blocksOf(at.expert, at.stage - 1))
            ++wrong;
        ++m_done[at.expert * kStages + at.stage - 1];
    }
    [[nodiscard]] bool isComplete() const
    {
        for (std::uint32_t i = 0; i < m_done.size(); ++i) {
            if (m_done[i] != blocksOf(i / kStages, i % kStages))
                return false;
        }
        return true;
    }

    std::atomic<int> wrong = 0;

private:
    struct Place {
        std::uint32_t expert = 0;
        std::uint32_t stage = 0; // the next one
    };
    static std::uint32_t blocksOf(std::uint32_t expert, std::uint32_t stage) { return (expert * 7 + stage) % 5 + 1; }

    Place m_places[ExpertPipeline::kPlacesMax];
    std::vector<std::atomic<std::uint32_t>> m_done; // blocks, by expert and stage
};

} // namespace

class TestExpertPipeline : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyBlockIsComputedOnceInTheOrderOfTheStages_data()
    {
        QTest::addColumn<uint>("threads");
        QTest::addColumn<uint>("places");
        for (const uint threads : {1U, 2U, 5U}) {
            for (const uint places : {1U, 3U, 32U})
                QTest::addRow("%u threads, %u places", threads, places) << threads << places;
        }
    }
    void everyBlockIsComputedOnceInTheOrderOfTheStages()
    {
        QFETCH(uint, threads);
        QFETCH(uint, places);
        ThreadPool pool({.threadCount = threads});
        for (std::uint32_t seed = 0; seed < 50; ++seed) {
            const std::uint32_t experts = seed % 40 + 1;
            FakeSource source(experts, seed);
            CountingWork work(experts);
            std::optional<ExpertSource::Arrival> first;
            if (seed % 2 == 0)
                first = std::move(*source.acquireNext());
            ExpertPipeline pipeline(pool, source, work, {.expertCount = experts, .placeCount = places});
            QVERIFY(pipeline.run(std::move(first)));
            QVERIFY(work.isComplete());
            QCOMPARE(work.wrong.load(), 0);
            QCOMPARE(source.pinned, 0);
            QVERIFY(source.pinnedMax <= static_cast<int>(places));
        }
    }

    // A worker that comes as the last block is finished must not wait for a change that has happened.
    void nobodyWaitsForAChangeAfterTheLast()
    {
        ThreadPool pool({.threadCount = 4});
        for (std::uint32_t run = 0; run < 100'000; ++run) {
            FakeSource source(1, run);
            CountingWork work(1);
            ExpertPipeline pipeline(pool, source, work, {.expertCount = 1, .placeCount = 1});
            auto first = source.acquireNext();
            QVERIFY(first && pipeline.run(std::move(*first)));
            QVERIFY(work.isComplete());
        }
    }

    void anExpertThatCannotBeReadEndsTheRunAndNothingStaysPinned()
    {
        for (const std::uint32_t threads : {1U, 3U}) {
            ThreadPool pool({.threadCount = threads});
            for (std::size_t failAt = 0; failAt < 12; ++failAt) {
                FakeSource source(12, 5);
                source.failAt = failAt;
                CountingWork work(12);
                ExpertPipeline pipeline(pool, source, work, {.expertCount = 12, .placeCount = 4});
                const Status status = pipeline.run({});
                QVERIFY(!status);
                QCOMPARE(status.error().code, ErrorCode::Io);
                QCOMPARE(source.pinned, 0);
                QCOMPARE(work.wrong.load(), 0);
            }
        }
    }

    void aCancelledRunTakesNoFurtherExpert()
    {
        ThreadPool pool({.threadCount = 2});
        FakeSource source(12, 5);
        CountingWork work(12);
        CancelFlag cancel;
        cancel.cancel();
        ExpertPipeline pipeline(pool, source, work, {.expertCount = 12, .placeCount = 4, .cancel = &cancel});
        const Status status = pipeline.run({});
        QVERIFY(!status);
        QCOMPARE(status.error().code, ErrorCode::Cancelled);
        QCOMPARE(source.pinnedMax, 0);
    }
};

QTEST_APPLESS_MAIN(TestExpertPipeline)
#include "tst_expert_pipeline.moc"
