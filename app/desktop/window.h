#pragma once

class QQmlApplicationEngine;
class QQuickWindow;

namespace waste::app {

void loadFonts(); // of the program: those of the system vary

// The program's window; null if its QML does not load.
QQuickWindow* loadWindow(QQmlApplicationEngine& engine);

} // namespace waste::app
