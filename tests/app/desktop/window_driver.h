#pragma once

#include "desktop/app.h"

#include <QQmlApplicationEngine>
#include <QQuickItem>
#include <QQuickWindow>
#include <QStringList>
#include <QTemporaryDir>

#include <filesystem>
#include <memory>

namespace waste::test {

// The program's window as main() makes it, on folders of its own, with the built-in model; and the hand and
// the eye of a person in front of it.
class WindowDriver {
public:
    WindowDriver();
    ~WindowDriver();

    app::App& app() { return *m_app; }
    QQuickWindow& window() { return *m_window; }
    [[nodiscard]] std::filesystem::path dataFolder() const { return m_folder.path().toStdString() + "/data"; }
    bool waitUntilReady(); // for the model
    [[nodiscard]] QQuickItem* item(const char* objectName) const; // visible ones only; null: there is none
    [[nodiscard]] QQuickItem* focused() const { return m_window->activeFocusItem(); }
    void key(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier);
    void type(const char* text);
    void click(QQuickItem& item);
    bool ask(const char* text); // through the composer; true once the answer is whole
    // What the program complained about since it was asked last.
    static QStringList takeComplaints();

private:
    QTemporaryDir m_folder;
    std::unique_ptr<app::App> m_app;
    QQmlApplicationEngine m_engine;
    QQuickWindow* m_window = nullptr;
};

// All items of the window that are on screen, parents first.
QList<QQuickItem*> visibleItems(QQuickItem& root);

} // namespace waste::test
