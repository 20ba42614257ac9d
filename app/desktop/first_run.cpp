#include "desktop/first_run.h"

#include <QCoreApplication>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPointingDevice>
#include <QQuickItem>
#include <QQuickWindow>

#include <cstdio>
#include <utility>

namespace waste::app {

namespace {

constexpr int kTimeMsMax = 120'000; // of everything; a slow machine needs two seconds
constexpr int kSettleMs = 500; // longer than any transition of the window

void sendKey(QQuickWindow& window, int key, const QString& text)
{
    QKeyEvent press(QEvent::KeyPress, key, Qt::NoModifier, text);
    QKeyEvent release(QEvent::KeyRelease, key, Qt::NoModifier, text);
    QCoreApplication::sendEvent(&window, &press);
    QCoreApplication::sendEvent(&window, &release);
}

void click(QQuickWindow& window, QPointF place)
{
    const QPointF onScreen = window.mapToGlobal(place);
    QMouseEvent press(QEvent::MouseButtonPress, place, onScreen, Qt::LeftButton, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&window, &press);
    // Made only now: both events share the state of the one mouse.
    QMouseEvent release(QEvent::MouseButtonRelease, place, onScreen, Qt::LeftButton, Qt::NoButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&window, &release);
}

} // namespace

FirstRun::FirstRun(App& app, QQuickWindow& window, QString question, QString picture)
    : m_app(app)
    , m_window(window)
    , m_question(std::move(question))
    , m_picture(std::move(picture))
{
    m_tooLate.setSingleShot(true);
    connect(&m_tooLate, &QTimer::timeout, this,
        [this] { fail("no answer within two minutes: " + m_app.status()->announcement()); });
    m_tooLate.start(kTimeMsMax);
    connect(m_app.chat(), &ChatController::answerEnded, this, &FirstRun::waitForPicture);
    if (m_app.chat()->isModelReady()) {
        QTimer::singleShot(0, this, &FirstRun::typeAndSend);
    } else {
        connect(m_app.status(), &StatusModel::changed, this, [this] {
            if (m_app.status()->state() == StatusModel::State::Ready) {
                m_app.status()->disconnect(this);
                typeAndSend();
            } else if (m_app.status()->state() == StatusModel::State::Failed) {
                fail(m_app.status()->label() + ": " + m_app.status()->note());
            }
        });
    }
}

void FirstRun::typeAndSend()
{
    QQuickItem* text = item("composerText");
    if (text == nullptr)
        return;
    text->forceActiveFocus(Qt::MouseFocusReason);
    for (const QChar character : m_question)
        sendKey(m_window, Qt::Key_unknown, character);
    // Let the window follow: the button is enabled by what was typed.
    QTimer::singleShot(kSettleMs, this, &FirstRun::clickSend);
}

void FirstRun::clickSend()
{
    if (m_app.chat()->draft() != m_question)
        return fail("the composer has \"" + m_app.chat()->draft() + "\" and not what was typed");
    if (QQuickItem* button = item("sendButton"))
        click(m_window, button->mapToScene({button->width() / 2, button->height() / 2}));
    if (m_app.chat()->isEmpty())
        fail("the send button does not send");
}

void FirstRun::waitForPicture()
{
    QTimer::singleShot(kSettleMs, this, &FirstRun::finish);
}

void FirstRun::finish()
{
    const host::Message& answer = m_app.chat()->messages()->conversation().messages.back();
    const std::string text = answer.textOf(host::Block::Type::Text);
    if (answer.state != host::MessageState::Done || text.empty())
        return fail("the answer did not come: " + QString::fromStdString(answer.reason));
    if (!m_window.grabWindow().save(m_picture))
        return fail("the picture could not be written to " + m_picture);
    const double seconds = static_cast<double>(answer.timings.answerMs) / 1000;
    std::printf("question: %s\nanswer: %s\ntokens/s: %.1f\n", qPrintable(m_question), text.c_str(),
        seconds > 0 ? static_cast<double>(answer.timings.tokens) / seconds : 0);
    QCoreApplication::exit(0);
}

void FirstRun::fail(const QString& why)
{
    std::fprintf(stderr, "waste-desktop: %s\n", qPrintable(why));
    QCoreApplication::exit(1);
}

QQuickItem* FirstRun::item(const char* objectName)
{
    auto* found = m_window.findChild<QQuickItem*>(objectName);
    if (found == nullptr)
        fail(QString("the window has no %1").arg(objectName));
    return found;
}

} // namespace waste::app
