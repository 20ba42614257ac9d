// Stop strings in text that comes in pieces.

#include "prompt/stop_strings.h"

#include <QTest>

#include <random>
#include <utility>

using namespace waste;

namespace {

struct Outcome {
    std::string text;
    bool matched = false;
    bool operator==(const Outcome&) const = default;
};

Outcome feed(const std::vector<std::string>& strings, const std::vector<std::string>& pieces)
{
    StopStrings stop(strings);
    std::string text;
    for (const std::string& piece : pieces)
        text += stop.push(piece);
    text += stop.release();
    return {text, stop.matched()};
}

} // namespace

class TestStopStrings : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theMatchAndEverythingBehindItIsCutOff()
    {
        QVERIFY((feed({"END"}, {"a E", "N", "D b", "c"}) == Outcome{"a ", true}));
        QVERIFY((feed({"END"}, {"END"}) == Outcome{"", true}));
        QVERIFY((feed({"END"}, {"EEND"}) == Outcome{"E", true}));
        QVERIFY((feed({"aab"}, {"a", "a", "a", "b"}) == Outcome{"a", true}));
    }

    void whatBecomesNoMatchComesOut()
    {
        QVERIFY((feed({"END"}, {"EN", "x"}) == Outcome{"ENx", false}));
        QVERIFY((feed({"END"}, {"EN"}) == Outcome{"EN", false})); // held back until the text ends
        QVERIFY((feed({}, {"a", "b"}) == Outcome{"ab", false}));
        QVERIFY((feed({"", "x"}, {"a"}) == Outcome{"a", false})); // an empty string stops nothing
    }

    void onlyAPossibleBeginningIsHeldBack()
    {
        StopStrings stop({"END"});
        QCOMPARE(stop.push("abc"), std::string("abc"));
        QCOMPARE(stop.push("xE"), std::string("x"));
        QCOMPARE(stop.push("N"), std::string());
        QCOMPARE(stop.push("E"), std::string("EN"));
        QCOMPARE(stop.release(), std::string("E"));
        QVERIFY(!stop.matched());
    }

    void theFirstCompleteMatchWins()
    {
        QVERIFY((feed({"abcd", "bc"}, {"xabcd"}) == Outcome{"xa", true}));
        QVERIFY((feed({"bc", "abc"}, {"xabc"}) == Outcome{"x", true})); // of two that end together the longer
        QVERIFY((feed({"yy", "x"}, {"axbyy"}) == Outcome{"a", true}));
    }

    void theResultDoesNotDependOnThePieces()
    {
        std::mt19937 random(37);
        const auto randomText = [&](std::size_t length) {
            std::string text;
            for (std::size_t i = 0; i < length; ++i)
                text += static_cast<char>('a' + random() % 2);
            return text;
        };
        for (int round = 0; round < 5000; ++round) {
            const std::vector<std::string> strings{randomText(1 + random() % 5), randomText(3 + random() % 5)};
            const std::string text = randomText(random() % 20);
            std::vector<std::string> pieces;
            for (std::size_t i = 0; i < text.size();) {
                const std::size_t length = 1 + random() % 4;
                pieces.push_back(text.substr(i, length));
                i += length;
            }
            QVERIFY(feed(strings, pieces) == feed(strings, {text}));
        }
    }
};

QTEST_APPLESS_MAIN(TestStopStrings)
#include "tst_stop_strings.moc"
