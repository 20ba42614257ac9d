// Between the engine's thread and the GUI goes one queued call however many tokens come, at most four a
// second from a slow model and one per frame from a fast one, and nothing gets lost or out of order.

#include "chat/reply_relay.h"

#include <QSignalSpy>
#include <QTest>

#include <thread>

using namespace waste;
using namespace waste::app;

namespace {

host::EngineStatus statusWith(double tokensPerSecond, std::uint32_t tokenCount)
{
    host::EngineStatus status;
    status.phase = host::EngineStatus::Phase::Answering;
    status.tokensPerSecond = tokensPerSecond;
    status.tokenCount = tokenCount;
    return status;
}

host::ReplyText text(const std::string& words, host::ReplyText::Channel channel = host::ReplyText::Channel::Content)
{
    return {"a", channel, words};
}

// Counts deliveries and joins what they bring.
struct Receiver : QObject {
    explicit Receiver(ReplyRelay& relay)
    {
        connect(&relay, &ReplyRelay::arrived, this, [this](const std::vector<host::EngineEvent>& events) {
            ++deliveries;
            for (const auto& event : events) {
                if (const auto* arrivedText = std::get_if<host::ReplyText>(&event)) {
                    all += arrivedText->text;
                    ++texts;
                } else if (std::holds_alternative<host::ReplyEnded>(event)) {
                    all += '.';
                } else if (const auto* status = std::get_if<host::EngineStatus>(&event)) {
                    lastCount = status->tokenCount;
                    ++statuses;
                }
            }
        });
    }
    int deliveries = 0;
    int texts = 0;
    int statuses = 0;
    std::string all;
    std::uint32_t lastCount = 0;
};

} // namespace

class TestReplyRelay : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tenThousandTokensAreOneCallWhileTheGuiIsBusy()
    {
        ReplyRelay relay;
        Receiver receiver(relay);
        std::string sent;
        std::thread engine([&] {
            for (std::uint32_t i = 0; i < 10'000; ++i) {
                relay.push(statusWith(500, i));
                relay.push(text(std::to_string(i % 10)));
                sent += std::to_string(i % 10);
            }
            relay.push(host::ReplyEnded());
        });
        engine.join(); // the GUI does nothing meanwhile
        QTRY_COMPARE(receiver.all, sent + ".");
        QCOMPARE(receiver.deliveries, 1);
        QCOMPARE(receiver.texts, 1);
        QCOMPARE(receiver.statuses, 1);
        QCOMPARE(receiver.lastCount, 9999U);
    }

    void channelsKeepTheirOrder()
    {
        ReplyRelay relay;
        Receiver receiver(relay);
        relay.push(text("a", host::ReplyText::Channel::Thinking));
        relay.push(text("b", host::ReplyText::Channel::Thinking));
        relay.push(text("c"));
        relay.push(text("d"));
        relay.push(host::ReplyEnded());
        relay.push(text("e"));
        QTRY_COMPARE(receiver.all, std::string("abcd.e"));
        QCOMPARE(receiver.texts, 3);
    }

    void updatesFollowTheModelsPace_data()
    {
        QTest::addColumn<double>("tokensPerSecond");
        QTest::addColumn<int>("deliveriesMin");
        QTest::addColumn<int>("deliveriesMax");
        QTest::newRow("slow") << 8.0 << 4 << 7; // 1.25 s at four a second
        QTest::newRow("fast") << 300.0 << 15 << 85; // at most one per 16 ms
    }

    void updatesFollowTheModelsPace()
    {
        QFETCH(double, tokensPerSecond);
        QFETCH(int, deliveriesMin);
        QFETCH(int, deliveriesMax);
        ReplyRelay relay;
        Receiver receiver(relay);
        std::thread engine([&] {
            for (std::uint32_t i = 0; i < 250; ++i) {
                relay.push(statusWith(tokensPerSecond, i));
                relay.push(text("x"));
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
        });
        QTRY_COMPARE_WITH_TIMEOUT(receiver.all.size(), std::size_t{250}, 10'000);
        engine.join();
        QVERIFY2(receiver.deliveries >= deliveriesMin && receiver.deliveries <= deliveriesMax,
            qPrintable(QString::number(receiver.deliveries)));
    }

    void aSingleTokenAfterAPauseComesAtOnce()
    {
        ReplyRelay relay;
        Receiver receiver(relay);
        relay.push(statusWith(0.5, 1));
        relay.push(text("a"));
        QTRY_COMPARE(receiver.all, std::string("a"));
        QTest::qWait(300);
        relay.push(text("b"));
        QCoreApplication::processEvents();
        QCOMPARE(receiver.all, std::string("ab"));
    }
};

QTEST_GUILESS_MAIN(TestReplyRelay)
#include "tst_reply_relay.moc"
