#include "desktop/window.h"

#include <QDirIterator>
#include <QFontDatabase>
#include <QQmlApplicationEngine>
#include <QQuickWindow>
#include <QUrl>

namespace waste::app {

void loadFonts()
{
    for (QDirIterator fonts(":/fonts", QDir::Files); fonts.hasNext();)
        QFontDatabase::addApplicationFont(fonts.next());
}

QQuickWindow* loadWindow(QQmlApplicationEngine& engine)
{
    engine.load(QUrl("qrc:/qt/qml/Waste/Ui/Main.qml"));
    return engine.rootObjects().isEmpty() ? nullptr : qobject_cast<QQuickWindow*>(engine.rootObjects().constFirst());
}

} // namespace waste::app
