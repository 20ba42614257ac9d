// How many guesses pay, for given outcomes.

#include "experts/guess_width.h"

#include <QTest>

#include <algorithm>

using namespace waste;

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

private Q_SLOTS:
    void aFixedWidthIsTakenAsItIsWithinTheLimit()
    {
        QCOMPARE(GuessWidth({.fixed = 6, .layerCount = kLayers, .limit = 8}).widthForNextLayer(), 6U);
        QCOMPARE(GuessWidth({.fixed = 6, .layerCount = kLayers, .limit = 3}).widthForNextLayer(), 3U);
        QCOMPARE(GuessWidth({.fixed = 0, .layerCount = kLayers, .limit = 8}).widthForNextLayer(), 0U);
    }

    void rightGuessesWidenItUpToTheLimit()
    {
        for (const std::uint32_t limit : {8U, 5U, 3U}) {
            GuessWidth width({.fixed = {}, .layerCount = kLayers, .limit = limit});
            QCOMPARE(width.widthForNextLayer(), std::min(4U, limit));
            for (int i = 0; i < 10; ++i)
                judge(width, 26, 6);
            QCOMPARE(width.widthForNextLayer(), limit);
        }
    }

    void wrongGuessesEndItAndALittleLaterItIsTriedAgain()
    {
        GuessWidth width({.fixed = {}, .layerCount = kLayers});
        judge(width, 19, 13); // 59 %
        QCOMPARE(width.widthForNextLayer(), 2U);
        judge(width, 19, 13);
        QCOMPARE(width.widthForNextLayer(), 1U);
        judge(width, 19, 13);
        std::uint32_t passed = 1;
        while (width.widthForNextLayer() == 0 && passed < 1000)
            ++passed;
        QCOMPARE(passed, 16 * kLayers);
        QCOMPARE(width.widthForNextLayer(), 1U);
        judge(width, 32, 0);
        QCOMPARE(width.widthForNextLayer(), 2U);
    }
};

QTEST_APPLESS_MAIN(TestGuessWidth)
#include "tst_guess_width.moc"
