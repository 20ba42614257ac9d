#include "desktop/window.h"

#include <QQmlApplicationEngine>
#include <QQuickWindow>
#include <QUrl>

namespace waste::app {

QQuickWindow* loadWindow(QQmlApplicationEngine& engine)
{
    engine.load(QUrl("qrc:/qt/qml/Waste/Ui/Main.qml"));
    return engine.rootObjects().isEmpty() ? nullptr : qobject_cast<QQuickWindow*>(engine.rootObjects().constFirst());
}

} // namespace waste::app
