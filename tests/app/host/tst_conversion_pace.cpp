// Rate and time left of a conversion, from events at given times.

#include "host/conversion_pace.h"
#include "host/duration_text.h"

#include <QTest>

#include <algorithm>

using namespace waste;
using namespace std::chrono_literals;
using host::ConversionPace;

namespace {

constexpr std::uint64_t kMB = 1'000'000;

// Events come in a row; the time between them is stated.
class Story {
public:
    void after(std::chrono::milliseconds time, const ConvertEvent& event)
    {
        m_now += time;
        pace.observe(event, m_now);
    }
    void experts(std::chrono::milliseconds time, std::uint64_t done)
    {
        after(time, Progress{"experts", done, 400 * kMB});
    }

    ConversionPace pace;

private:
    ConversionPace::TimePoint m_now;
};

// Four layers of 10 experts, 100 MB each; the trunk has 50 MB.
ConvertPlan planWith(std::vector<std::uint32_t> kept, std::uint64_t trunkKept)
{
    ConvertPlan plan;
    plan.trunkBytes = 50 * kMB;
    plan.trunkBytesKept = trunkKept;
    plan.expertBytes = 400 * kMB;
    plan.expertCount = 40;
    for (std::uint32_t layer = 1; layer <= 4; ++layer)
        (std::ranges::find(kept, layer) != kept.end() ? plan.layersKept : plan.layers).push_back(layer);
    return plan;
}

} // namespace

class ConversionPaceTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void nothingIsForetoldBeforeItIsMeasured()
    {
        Story story;
        QVERIFY(!story.pace.remaining());
        story.after(0s, planWith({}, 0));
        story.after(0s, Progress{"trunk", 0, 50 * kMB});
        QCOMPARE(story.pace.bytesPerSecond(), 0.0);
        story.after(5s, Progress{"trunk", 25 * kMB, 50 * kMB});
        QCOMPARE(qRound64(story.pace.bytesPerSecond()), qint64{5 * kMB});
        QVERIFY(!story.pace.remaining()); // experts may be slower by far
    }

    void timeLeftCountsEveryLayersCodebooks()
    {
        Story story;
        story.after(0s, planWith({}, 50 * kMB));
        story.experts(0s, 0);
        story.after(0s, ConvertLayerStart{1});
        story.experts(30s, 10 * kMB); // codebooks, and the first expert
        story.experts(1s, 20 * kMB);
        story.experts(1s, 30 * kMB);
        QCOMPARE(qRound64(story.pace.bytesPerSecond()), qint64{10 * kMB});
        // 370 MB at 10 MB/s, and codebooks of three more layers.
        QCOMPARE(story.pace.remaining()->count(), std::int64_t{37 + 3 * 30});
        QCOMPARE(story.pace.expertsDone(), std::uint64_t{3});
        QCOMPARE(story.pace.expertCount(), std::uint64_t{40});
    }

    void workOfEarlierRunsDoesNotDistortTheRate()
    {
        Story story;
        story.after(0s, Progress{"checking", 0, 340 * kMB});
        story.after(1s, Progress{"checking", 170 * kMB, 340 * kMB});
        QCOMPARE(story.pace.finishedShare(), 0.5);
        story.after(1s, planWith({1, 2, 3}, 40 * kMB));
        QCOMPARE(story.pace.finishedShare(), 340.0 / 450);
        QCOMPARE(story.pace.expertsDone(), std::uint64_t{30});
        story.after(0s, Progress{"trunk", 40 * kMB, 50 * kMB});
        story.experts(0s, 300 * kMB);
        story.after(0s, Progress{"trunk", 40 * kMB, 50 * kMB});
        story.after(2s, Progress{"trunk", 50 * kMB, 50 * kMB});
        QCOMPARE(qRound64(story.pace.bytesPerSecond()), qint64{5 * kMB});
        story.experts(0s, 300 * kMB);
        story.after(0s, ConvertLayerStart{4});
        story.experts(20s, 310 * kMB);
        story.experts(2s, 320 * kMB);
        QCOMPARE(qRound64(story.pace.bytesPerSecond()), qint64{5 * kMB});
        QCOMPARE(story.pace.remaining()->count(), std::int64_t{80 / 5});
    }

    void waitingCostsNoSpeed()
    {
        Story story;
        story.after(0s, planWith({}, 50 * kMB));
        story.after(0s, ConvertLayerStart{1});
        story.experts(10s, 10 * kMB);
        story.experts(2s, 20 * kMB);
        story.after(0s, ConvertWaiting{});
        story.experts(1h, 30 * kMB);
        story.experts(2s, 40 * kMB);
        QCOMPARE(qRound64(story.pace.bytesPerSecond()), qint64{5 * kMB});
        // What is made once more begins anew.
        story.experts(1h, 0);
        story.experts(2s, 10 * kMB);
        QCOMPARE(qRound64(story.pace.bytesPerSecond()), qint64{5 * kMB});
    }

    void aMachineThatBecomesSlowerIsNoticed()
    {
        Story story;
        story.after(0s, planWith({}, 50 * kMB));
        story.after(0s, ConvertLayerStart{1});
        story.experts(1s, 1);
        for (std::uint64_t i = 1; i <= 100; ++i)
            story.experts(1s, i * kMB);
        const double before = story.pace.bytesPerSecond();
        for (std::uint64_t i = 1; i <= 90; ++i)
            story.experts(10s, (100 + i) * kMB);
        QVERIFY(story.pace.bytesPerSecond() < 0.2 * before);
        QVERIFY(story.pace.bytesPerSecond() > 0.1 * before);
    }

    void durationsReadLikeSpeech_data()
    {
        QTest::addColumn<qint64>("seconds");
        QTest::addColumn<QString>("text");
        QTest::newRow("nothing") << qint64{0} << "0 s";
        QTest::newRow("seconds") << qint64{119} << "119 s";
        QTest::newRow("minutes") << qint64{3599} << "59 min";
        QTest::newRow("hours") << qint64{3 * 3600 + 12 * 60 + 59} << "3 h 12 min";
        QTest::newRow("days") << qint64{2 * 86400 + 3 * 3600} << "2 d 3 h";
    }
    void durationsReadLikeSpeech()
    {
        QFETCH(qint64, seconds);
        QFETCH(QString, text);
        QCOMPARE(QString::fromStdString(host::formatDuration(std::chrono::seconds(seconds))), text);
    }
};

QTEST_APPLESS_MAIN(ConversionPaceTest)
#include "tst_conversion_pace.moc"
