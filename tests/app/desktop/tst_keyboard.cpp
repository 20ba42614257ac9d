// The whole window by keyboard alone: what each key does, and that Tab reaches everything.

#include "window_driver.h"

#include <QSet>
#include <QSignalSpy>
#include <QTest>

using namespace waste::app;
using waste::test::visibleItems;
using waste::test::WindowDriver;

class TestKeyboard : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void enterSendsAndShiftEnterBeginsALine()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        driver.type("What is");
        driver.key(Qt::Key_Return, Qt::ShiftModifier);
        driver.type("the capital of Japan?");
        QCOMPARE(driver.app().chat()->draft(), QString("What is\nthe capital of Japan?"));
        QVERIFY(driver.app().chat()->isEmpty());
        driver.key(Qt::Key_Return);
        QVERIFY(!driver.app().chat()->isEmpty());
        QCOMPARE(driver.app().chat()->draft(), QString());
    }

    void whereEnterBeginsALineControlEnterSends()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        driver.app().settings()->setEnterSends(false);
        driver.type("Hi");
        driver.key(Qt::Key_Return);
        QVERIFY(driver.app().chat()->isEmpty());
        QCOMPARE(driver.app().chat()->draft(), QString("Hi\n"));
        driver.key(Qt::Key_Return, Qt::ControlModifier);
        QVERIFY(!driver.app().chat()->isEmpty());
    }

    // A stop is expensive, so one Escape does nothing.
    void twoEscapesStopTheAnswer()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        driver.type("I need the times table of 7.");
        QSignalSpy ended(driver.app().chat(), &ChatController::answerEnded);
        driver.key(Qt::Key_Return);
        QVERIFY(driver.item("stopButton") != nullptr || driver.app().chat()->canStop());
        driver.key(Qt::Key_Escape);
        QVERIFY(driver.app().chat()->canStop());
        driver.key(Qt::Key_Escape);
        QVERIFY(ended.count() > 0 || ended.wait());
        const auto& model = *driver.app().chat()->messages();
        const auto state = model.data(model.index(model.rowCount() - 1), MessageListModel::StateRole);
        QCOMPARE(state.value<MessageListModel::State>(), MessageListModel::State::Stopped);
        QTRY_VERIFY(driver.app().status()->canContinue());
    }

    void controlKeysGoToTheirPlaces()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        QVERIFY(driver.ask("What is the capital of Japan?"));
        driver.key(Qt::Key_K, Qt::ControlModifier);
        QCOMPARE(driver.focused(), driver.item("search"));
        driver.key(Qt::Key_L, Qt::ControlModifier);
        QCOMPARE(driver.focused(), driver.item("composerText"));
        driver.key(Qt::Key_Comma, Qt::ControlModifier);
        QTRY_VERIFY(driver.item("settingsPage") != nullptr);
        driver.key(Qt::Key_N, Qt::ControlModifier);
        QTRY_VERIFY(driver.app().chat()->isEmpty());
        QCOMPARE(driver.focused(), driver.item("composerText"));
        QCOMPARE(driver.app().conversations()->rowCount(), 1);
    }

    void controlPlusMinusAndZeroSetTheZoom()
    {
        WindowDriver driver;
        driver.key(Qt::Key_Plus, Qt::ControlModifier);
        QCOMPARE(driver.app().settings()->zoom(), 1.1);
        driver.key(Qt::Key_Minus, Qt::ControlModifier);
        driver.key(Qt::Key_Minus, Qt::ControlModifier);
        QCOMPARE(driver.app().settings()->zoom(), 0.9);
        driver.key(Qt::Key_0, Qt::ControlModifier);
        QCOMPARE(driver.app().settings()->zoom(), 1.0);
    }

    void aDeletedConversationIsTakenBack()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        QVERIFY(driver.ask("What is the capital of Japan?"));
        driver.key(Qt::Key_K, Qt::ControlModifier);
        driver.key(Qt::Key_Down); // into the list
        driver.key(Qt::Key_Delete);
        QCOMPARE(driver.app().conversations()->rowCount(), 0);
        QTRY_VERIFY(driver.item("undoRemoval") != nullptr);
        QTest::qWait(50);
        driver.click(*driver.item("undoRemoval"));
        QTRY_COMPARE(driver.app().conversations()->rowCount(), 1);
        QVERIFY(driver.item("undoRemoval") == nullptr);
    }

    void f6GoesThroughThePanesAndComesBack()
    {
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        QVERIFY(driver.ask("What is the capital of Japan?"));
        QQuickItem* const start = driver.focused();
        QSet<QQuickItem*> panes;
        for (int i = 0; i < 10 && (i == 0 || driver.focused() != start); ++i) {
            panes << driver.focused();
            driver.key(Qt::Key_F6);
        }
        QCOMPARE(driver.focused(), start);
        QCOMPARE(panes.size(), 4); // composer, list, transcript, strip
    }

    void tabReachesEveryControlAndComesBack_data()
    {
        QTest::addColumn<bool>("settings");
        QTest::newRow("chat") << false;
        QTest::newRow("settings") << true;
    }
    void tabReachesEveryControlAndComesBack()
    {
        QFETCH(const bool, settings);
        WindowDriver driver;
        QVERIFY(driver.waitUntilReady());
        QVERIFY(driver.ask("What is the capital of Japan?"));
        if (settings)
            driver.key(Qt::Key_Comma, Qt::ControlModifier);
        QTest::qWait(50);
        driver.key(Qt::Key_Tab);
        QQuickItem* const start = driver.focused();
        QVERIFY(start != nullptr);
        QSet<QQuickItem*> reached;
        do {
            reached << driver.focused();
            driver.key(Qt::Key_Tab);
        } while (driver.focused() != start && reached.size() < 100);
        QCOMPARE(driver.focused(), start);
        for (QQuickItem* item : visibleItems(*driver.window().contentItem())) {
            if (item->activeFocusOnTab() && item->isEnabled() && !item->isFocusScope())
                QVERIFY2(reached.contains(item), qPrintable(QDebug::toString(item)));
        }
    }
};

QTEST_MAIN(TestKeyboard)
#include "tst_keyboard.moc"
