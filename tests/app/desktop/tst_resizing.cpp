// The window under a real window system (Xvfb) while an answer streams and the window changes its size at
// every turn. Layouts of Qt 6.4 that change under their repeaters crash here, and nowhere offscreen.

#include "window_driver.h"

#include <QGuiApplication>
#include <QProcess>
#include <QRandomGenerator>
#include <QStandardPaths>
#include <QTest>

using namespace waste::app;
using waste::test::WindowDriver;

namespace {

constexpr quint32 kSeed = 20261129;
constexpr int kQuestions = 3;

} // namespace

class TestResizing : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void anAnswerStreamsWhileTheWindowChangesItsSize()
    {
        if (QGuiApplication::platformName() != "xcb")
            QSKIP("Xvfb is not installed, so no window system can be had here");
        WindowDriver::takeComplaints();
        {
            WindowDriver driver;
            QVERIFY(driver.waitUntilReady());
            driver.app().settings()->setThinkingOpen(true);
            QRandomGenerator random(kSeed);
            int sizes = 0;
            for (int i = 0; i < kQuestions; ++i) {
                driver.app().chat()->ask(i == 1 ? "What is an expert?" : "I need the times table of 7.");
                const auto resize = [&] {
                    driver.window().resize(random.bounded(640, 1600), random.bounded(480, 1000));
                    ++sizes;
                    return driver.app().chat()->canRetry();
                };
                QVERIFY(QTest::qWaitFor(resize, 60'000));
            }
            QVERIFY2(sizes > 3 * kQuestions, "the answers were over before the window changed");

            driver.window().resize(1024, 640);
            QQuickItem* const composer = driver.item("composer");
            QVERIFY(composer != nullptr);
            QTRY_COMPARE(driver.window().height(), 640);
            const auto bottom = [&] { return composer->mapToScene({0, composer->height()}).y(); };
            QTRY_VERIFY(bottom() <= 640 && bottom() > 600);
            QCOMPARE(driver.app().chat()->messages()->rowCount(), 2 * kQuestions);
        }
        QCOMPARE(WindowDriver::takeComplaints(), QStringList());
    }
};

int main(int argc, char** argv)
{
    QProcess server;
    if (const QString xvfb = QStandardPaths::findExecutable("Xvfb"); !xvfb.isEmpty()) {
        server.start(xvfb, {"-displayfd", "1", "-screen", "0", "1600x1000x24", "-nolisten", "tcp"});
        if (server.waitForReadyRead(20'000)) {
            qputenv("DISPLAY", ':' + server.readLine().trimmed());
            qputenv("QT_QPA_PLATFORM", "xcb");
        }
    }
    int result = 0;
    {
        QGuiApplication application(argc, argv);
        TestResizing test;
        result = QTest::qExec(&test, argc, argv);
    }
    server.terminate();
    server.waitForFinished();
    return result;
}

#include "tst_resizing.moc"
