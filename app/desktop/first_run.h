#pragma once

#include "desktop/app.h"

#include <QObject>
#include <QString>
#include <QTimer>

class QQuickItem;
class QQuickWindow;

namespace waste::app {

// `--first-run PICTURE`: asks the model one question through the window as a person would, by keys and mouse;
// saves the window's picture when the answer is complete, prints question, answer and speed, and quits.
class FirstRun : public QObject {
    Q_OBJECT

public:
    FirstRun(App& app, QQuickWindow& window, QString question, QString picture);

private:
    void typeAndSend();
    void clickSend();
    void waitForPicture();
    void finish();
    void fail(const QString& why);
    QQuickItem* item(const char* objectName); // fails and gives null if the window has none

    App& m_app;
    QQuickWindow& m_window;
    const QString m_question;
    const QString m_picture;
    QTimer m_tooLate;
};

} // namespace waste::app
