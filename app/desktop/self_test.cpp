#include "desktop/self_test.h"

#include "desktop/window.h"

#include <QCoreApplication>
#include <QDirIterator>
#include <QEventLoop>
#include <QQmlApplicationEngine>
#include <QQmlComponent>
#include <QQuickWindow>
#include <QTimer>
#include <QUrl>

#include <cstdio>

namespace waste::app {

namespace {

constexpr int kFirstFrameMsMax = 10'000;

int complaints = 0; // of this run; the message handler has no place of its own to keep them

void complain(const QString& text)
{
    ++complaints;
    std::fprintf(stderr, "self-test: %s\n", qPrintable(text));
}

void hear(QtMsgType type, const QMessageLogContext&, const QString& text)
{
    if (type == QtWarningMsg || type == QtCriticalMsg)
        complain(text);
}

} // namespace

int runSelfTest(QQmlApplicationEngine& engine)
{
    const QtMessageHandler before = qInstallMessageHandler(hear);
    int files = 0;
    for (QDirIterator walk(":/qt/qml/Waste/Ui", {"*.qml"}, QDir::Files, QDirIterator::Subdirectories);
         walk.hasNext();) {
        QQmlComponent component(&engine, QUrl("qrc" + walk.next()), QQmlComponent::PreferSynchronous);
        ++files;
        if (component.isError())
            complain(component.errorString());
    }
    QQuickWindow* window = loadWindow(engine);
    if (window == nullptr) {
        complain("the window could not be loaded");
    } else {
        QEventLoop loop;
        QObject::connect(window, &QQuickWindow::frameSwapped, &loop, &QEventLoop::quit);
        QTimer::singleShot(kFirstFrameMsMax, &loop, [&loop] {
            complain("the window showed no frame within 10 s");
            loop.quit();
        });
        loop.exec();
    }
    qInstallMessageHandler(before);
    std::printf("self-test: %d QML files, %d complaints\n", files, complaints);
    return complaints == 0 && files > 0 ? 0 : 1;
}

} // namespace waste::app
