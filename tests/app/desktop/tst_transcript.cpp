// The transcript with real answers in it: when it follows the end, and when it leaves the reader alone.

#include "window_driver.h"

#include <QTest>

using namespace waste::app;
using waste::test::WindowDriver;

namespace {

constexpr double kLine = 24; // of reading text

double distanceToEnd(QQuickItem& view)
{
    return view.property("contentHeight").toDouble() + view.property("originY").toDouble()
        - view.property("contentY").toDouble() - view.height();
}

} // namespace

class TestTranscript : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theEndIsFollowedUntilTheReaderScrollsUp()
    {
        WindowDriver driver;
        driver.window().resize(900, 560);
        QVERIFY(driver.waitUntilReady());
        for (int i = 0; i < 2; ++i)
            QVERIFY(driver.ask("I need the times table of 7."));
        QQuickItem* const view = driver.item("transcript");
        QVERIFY(view != nullptr);
        QVERIFY(view->property("contentHeight").toDouble() > view->height());
        QTRY_VERIFY(qAbs(distanceToEnd(*view)) < kLine);
        QVERIFY(driver.item("jumpPill") == nullptr);

        view->forceActiveFocus();
        driver.key(Qt::Key_PageUp);
        QTRY_VERIFY(distanceToEnd(*view) > kLine);
        const double place = view->property("contentY").toDouble();
        driver.window().resize(900, 600);
        QTest::qWait(50);
        QCOMPARE(view->property("contentY").toDouble(), place);

        QQuickItem* const pill = driver.item("jumpPill");
        QVERIFY(pill != nullptr);
        driver.click(*pill);
        QTRY_VERIFY(qAbs(distanceToEnd(*view)) < kLine);
    }

    void theStripOffersAStopOnlyWhileThereIsSomethingToStop()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        QVERIFY(driver.item("stopButton") == nullptr);
        driver.type("I need the times table of 7.");
        driver.key(Qt::Key_Return);
        QTRY_VERIFY(driver.item("stopButton") != nullptr);
        QTRY_VERIFY_WITH_TIMEOUT(driver.item("stopButton") == nullptr, 60'000);
        QCOMPARE(driver.app().status()->state(), StatusModel::State::Ready);
    }

    void aRunOfQuestionsCausesNoComplaint()
    {
        WindowDriver::takeComplaints();
        {
            WindowDriver driver;
            QVERIFY(driver.waitUntilReady());
            QVERIFY(driver.ask("What is the capital of Japan?"));
            driver.app().settings()->setTheme(AppSettings::Theme::Dark);
            driver.app().settings()->setThinkingOpen(true);
            QVERIFY(driver.ask("What is an expert?"));
            driver.key(Qt::Key_N, Qt::ControlModifier);
            QTest::qWait(50);
        }
        QCOMPARE(WindowDriver::takeComplaints(), QStringList());
    }
};

QTEST_MAIN(TestTranscript)
#include "tst_transcript.moc"
