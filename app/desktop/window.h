#pragma once

class QQmlApplicationEngine;
class QQuickWindow;

namespace waste::app {

// The program's window; null if its QML does not load.
QQuickWindow* loadWindow(QQmlApplicationEngine& engine);

} // namespace waste::app
