// How many guesses pay, for given windows, read times and outcomes.

#include "experts/guess_width.h"

#include <QTest>

using namespace waste;
using std::chrono::microseconds;

class TestGuessWidth : public QObject {
    Q_OBJECT

    static constexpr std::uint32_t kLayers = 4;

    static void judge(GuessWidth& width, std::uint32_t useful, std::uint32_t wasted)
    {
        for (std::uint32_t i = 0; i < useful; ++i)
            width.noteOutcome(1, 0);
        for (std::uint32_t i = 0; i < wasted; ++i)
            width.noteOutcome(0, 1);
    }

    // Of a drive that reads a record in 100 us, and a window of 450 us before every layer.
    static GuessWidth measured(std::uint32_t limit = GuessWidth::kMax)
    {
        GuessWidth width({.fixed = {}, .layerCount = kLayers, .limit = limit});
        width.noteReads(microseconds(1600), 16);
        for (std::uint32_t layer = 0; layer < kLayers; ++layer)
            width.noteWindow(layer, microseconds(450));
        return width;
    }

private Q_SLOTS:
    void aFixedWidthIsTakenAsItIsWithinTheLimit()
    {
        const GuessWidth six({.fixed = 6, .layerCount = kLayers, .limit = 8});
        QCOMPARE(six.width(1), 6U);
        const GuessWidth cut({.fixed = 6, .layerCount = kLayers, .limit = 3});
        QCOMPARE(cut.width(1), 3U);
        const GuessWidth off({.fixed = 0, .layerCount = kLayers, .limit = 8});
        QCOMPARE(off.width(1), 0U);
    }

    void nothingIsGuessedBeforeAnythingIsMeasured()
    {
        GuessWidth width({.fixed = {}, .layerCount = kLayers, .limit = 8});
        QCOMPARE(width.width(2), 0U);
        width.noteWindow(2, microseconds(1000));
        QCOMPARE(width.width(2), 0U);
        width.noteReads(microseconds(1000), 10);
        QVERIFY(width.width(2) > 0);
        QCOMPARE(width.width(3), 0U); // its window is not known
    }

    void itIsWhatTheDriveReadsInTheWindow()
    {
        GuessWidth width = measured();
        QCOMPARE(width.width(0), 4U);
        for (int i = 0; i < 100; ++i)
            width.noteWindow(0, microseconds(250));
        QCOMPARE(width.width(0), 2U);
        QCOMPARE(width.width(1), 4U);
        for (int i = 0; i < 100; ++i)
            width.noteReads(microseconds(300), 1);
        QCOMPARE(width.width(0), 0U);
        QCOMPARE(width.width(1), 1U);
    }

    void rightGuessesWidenItUpToTheLimit()
    {
        for (const std::uint32_t limit : {8U, 5U}) {
            GuessWidth width = measured(limit);
            for (int i = 0; i < 100; ++i)
                width.noteWindow(0, microseconds(5000));
            QCOMPARE(width.width(0), 4U);
            for (int i = 0; i < 10; ++i)
                judge(width, 26, 6);
            QCOMPARE(width.width(0), limit);
        }
    }

    void wrongGuessesEndItAndALittleLaterItIsTriedAgain()
    {
        GuessWidth width = measured();
        judge(width, 19, 13); // 59 %
        QCOMPARE(width.width(0), 2U);
        judge(width, 19, 13);
        QCOMPARE(width.width(0), 1U);
        judge(width, 19, 13);
        QCOMPARE(width.width(0), 0U);
        std::uint32_t passed = 0;
        while (width.width(0) == 0 && passed < 1000)
            width.noteWindow(passed++ % kLayers, microseconds(450));
        QCOMPARE(passed, 16 * kLayers);
        QCOMPARE(width.width(0), 1U);
        judge(width, 32, 0);
        QCOMPARE(width.width(0), 2U);
    }
};

QTEST_APPLESS_MAIN(TestGuessWidth)
#include "tst_guess_width.moc"
