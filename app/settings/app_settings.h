#pragma once

#include "host/settings_file.h"

#include <QBasicTimer>
#include <QObject>
#include <QtQml/qqmlregistration.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace waste::app {

// What a person chose, effective at once and kept in desktop.json a moment later. GUI thread only.
class AppSettings : public QObject {
    Q_OBJECT
    QML_ELEMENT
    QML_UNCREATABLE("Comes from App.")
    Q_PROPERTY(Theme theme READ theme WRITE setTheme NOTIFY themeChanged FINAL)
    // What to draw now: `theme`, with Auto resolved by the system's palette. Never Auto.
    Q_PROPERTY(Theme effectiveTheme READ effectiveTheme NOTIFY themeChanged FINAL)
    Q_PROPERTY(double zoom READ zoom WRITE setZoom NOTIFY zoomChanged FINAL) // 0.8 to 2.0
    Q_PROPERTY(bool reducedMotion READ reducedMotion WRITE setReducedMotion NOTIFY reducedMotionChanged FINAL)
    Q_PROPERTY(bool enterSends READ enterSends WRITE setEnterSends NOTIFY enterSendsChanged FINAL) // else Ctrl+Enter
    Q_PROPERTY(bool thinking READ thinking WRITE setThinking NOTIFY thinkingChanged FINAL)
    Q_PROPERTY(Effort effort READ effort WRITE setEffort NOTIFY effortChanged FINAL)
    Q_PROPERTY(bool thinkingOpen READ thinkingOpen WRITE setThinkingOpen NOTIFY thinkingOpenChanged FINAL)
    // Why the file of settings cannot be used; they then last until the program ends.
    Q_PROPERTY(QString fileError READ fileError NOTIFY fileErrorChanged FINAL)

public:
    enum class Theme { Auto, Light, Dark, HighContrast };
    Q_ENUM(Theme)
    enum class Effort { None, Low, High, Max }; // None: no note about effort
    Q_ENUM(Effort)

    // Runs a task away from the GUI thread, which must not wait for the disk.
    using Background = std::function<void(std::function<void()> task)>;

    AppSettings(const std::filesystem::path& configurationFolder, Background background, QObject* parent = nullptr);
    void saveNow(); // what is not written yet; also done half a second after each change

    [[nodiscard]] Theme theme() const { return m_theme; }
    void setTheme(Theme theme);
    [[nodiscard]] Theme effectiveTheme() const;
    void setSystemIsDark(bool dark);
    [[nodiscard]] double zoom() const { return m_zoom; }
    void setZoom(double zoom);
    Q_INVOKABLE void zoomBy(int tenths); // to the next whole tenth
    [[nodiscard]] bool reducedMotion() const { return m_reducedMotion; }
    void setReducedMotion(bool reduced);
    [[nodiscard]] bool enterSends() const { return m_enterSends; }
    void setEnterSends(bool sends);
    [[nodiscard]] bool thinking() const { return m_thinking; }
    void setThinking(bool thinking);
    [[nodiscard]] Effort effort() const { return m_effort; }
    void setEffort(Effort effort);
    [[nodiscard]] std::string effortName() const; // as a chat request has it
    [[nodiscard]] bool thinkingOpen() const { return m_thinkingOpen; }
    void setThinkingOpen(bool open);
    [[nodiscard]] QString fileError() const { return m_fileError; }

Q_SIGNALS:
    void themeChanged();
    void zoomChanged();
    void reducedMotionChanged();
    void enterSendsChanged();
    void thinkingChanged();
    void effortChanged();
    void thinkingOpenChanged();
    void fileErrorChanged();

protected:
    void timerEvent(QTimerEvent* event) override;

private:
    template<typename Value>
    void change(Value& member, Value value, const char* key, void (AppSettings::*signal)());
    void read();

    const Background m_background;
    std::optional<host::SettingsFile> m_file;
    QBasicTimer m_saveLater;
    QString m_fileError;
    Theme m_theme = Theme::Auto;
    bool m_systemIsDark = false;
    double m_zoom = 1;
    bool m_reducedMotion = false;
    bool m_enterSends = true;
    bool m_thinking = true;
    Effort m_effort = Effort::Low;
    bool m_thinkingOpen = false;
};

} // namespace waste::app
