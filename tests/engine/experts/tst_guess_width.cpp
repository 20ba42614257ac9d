// How many guesses are made, for given outcomes.

#include "experts/guess_width.h"

#include <QTest>

#include <algorithm>
#include <cstdint>

using namespace waste;

class TestGuessWidth : public QObject {
    Q_OBJECT

    static constexpr std::uint32_t kLayers = 4;

    enum class Read { InTime, Late };
    static void note(GuessWidth& width, Read read, std::uint32_t right, std::uint32_t wrong)
    {
        for (std::uint32_t i = 0; i < right + wrong; ++i)
            width.noteOutcome({.isRight = i < right, .isLate = read == Read::Late});
    }

private Q_SLOTS:
    void aFixedWidthIsTakenAsItIsWithinTheLimit()
    {
        QCOMPARE(GuessWidth({.fixed = 6, .layerCount = kLayers, .limit = 8}).widthForNextLayer(), 6U);
        QCOMPARE(GuessWidth({.fixed = 6, .layerCount = kLayers, .limit = 3}).widthForNextLayer(), 3U);
        GuessWidth off({.fixed = 0, .layerCount = kLayers, .limit = 8});
        note(off, Read::InTime, 64, 0);
        QCOMPARE(off.widthForNextLayer(), 0U);
    }

    void guessesThatSaveReadsGoOnUpToTheLimit()
    {
        for (const std::uint32_t limit : {12U, 8U, 3U}) {
            GuessWidth width({.fixed = {}, .layerCount = kLayers, .limit = limit});
            for (int i = 0; i < 10; ++i) {
                QCOMPARE(width.widthForNextLayer(), std::min(8U, limit));
                note(width, Read::InTime, 13, 51);
            }
        }
    }

    void lateOnesHaveToBeRightMoreOften()
    {
        GuessWidth width({.fixed = {}, .layerCount = kLayers});
        note(width, Read::Late, 33, 31);
        QCOMPARE(width.widthForNextLayer(), 8U);
        note(width, Read::Late, 32, 32);
        QCOMPARE(width.widthForNextLayer(), 0U);
    }

    void guessesThatSaveNothingEndAndAreTriedAgainALittleLater()
    {
        GuessWidth width({.fixed = {}, .layerCount = kLayers});
        note(width, Read::InTime, 12, 52);
        std::uint32_t passed = 0;
        while (width.widthForNextLayer() == 0 && passed < 1000)
            ++passed;
        QCOMPARE(passed, 16 * kLayers);
        QCOMPARE(width.widthForNextLayer(), 8U);
    }
};

QTEST_APPLESS_MAIN(TestGuessWidth)
#include "tst_guess_width.moc"
