#pragma once

#include <QObject>
#include <QtQml/qqmlregistration.h>

namespace waste::app {

// What a person chose, effective at once and kept in desktop.json. GUI thread only.
class AppSettings : public QObject {
    Q_OBJECT
    QML_ELEMENT
    QML_UNCREATABLE("Comes from App.")
    Q_PROPERTY(Theme theme READ theme WRITE setTheme NOTIFY themeChanged FINAL)
    // What to draw now: `theme`, with Auto resolved by the system's palette. Never Auto.
    Q_PROPERTY(Theme effectiveTheme READ effectiveTheme NOTIFY effectiveThemeChanged FINAL)
    Q_PROPERTY(double zoom READ zoom WRITE setZoom NOTIFY zoomChanged FINAL) // 0.8 to 2.0
    Q_PROPERTY(bool reducedMotion READ reducedMotion WRITE setReducedMotion NOTIFY reducedMotionChanged FINAL)
    Q_PROPERTY(bool enterSends READ enterSends WRITE setEnterSends NOTIFY enterSendsChanged FINAL) // else Ctrl+Enter
    Q_PROPERTY(bool thinking READ thinking WRITE setThinking NOTIFY thinkingChanged FINAL)
    Q_PROPERTY(Effort effort READ effort WRITE setEffort NOTIFY effortChanged FINAL)
    Q_PROPERTY(bool thinkingOpen READ thinkingOpen WRITE setThinkingOpen NOTIFY thinkingOpenChanged FINAL)

public:
    enum class Theme { Auto, Light, Dark, HighContrast };
    Q_ENUM(Theme)
    enum class Effort { None, Low, High, Max }; // None: no note about effort
    Q_ENUM(Effort)
};

} // namespace waste::app
