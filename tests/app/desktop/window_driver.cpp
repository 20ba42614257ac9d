#include "window_driver.h"

#include "desktop/window.h"

#include <QQuickStyle>
#include <QSignalSpy>
#include <QTest>
#include <QtQml/qqmlextensionplugin.h>

#include <utility>

Q_IMPORT_QML_PLUGIN(Waste_AppPlugin)
Q_IMPORT_QML_PLUGIN(Waste_UiPlugin)

namespace waste::test {

namespace {

constexpr int kAnswerMsMax = 60'000;

QStringList complaints;
QtMessageHandler handlerBefore = nullptr;

void hear(QtMsgType type, const QMessageLogContext& context, const QString& text)
{
    // The one warning of Qt's own that says nothing about this program.
    if ((type == QtWarningMsg || type == QtCriticalMsg) && !text.contains("XDG_RUNTIME_DIR"))
        complaints << text;
    if (handlerBefore != nullptr)
        handlerBefore(type, context, text);
}

} // namespace

WindowDriver::WindowDriver()
{
    if (handlerBefore == nullptr)
        handlerBefore = qInstallMessageHandler(hear);
    QQuickStyle::setStyle("Fusion");
    app::App::Options options;
    options.dataFolder = dataFolder();
    options.configurationFolder = m_folder.path().toStdString() + "/configuration";
    options.model = WASTE_K3_MINI_CONTAINER;
    options.isBuiltInModel = true;
    m_app = std::make_unique<app::App>(options);
    m_engine.addImportPath("qrc:/qt/qml");
    m_app->provideTo(m_engine);
    app::loadFonts();
    m_window = app::loadWindow(m_engine);
    Q_ASSERT(m_window != nullptr);
    m_window->requestActivate();
    [[maybe_unused]] const bool active = QTest::qWaitForWindowActive(m_window);
}

// The window goes before what it shows.
WindowDriver::~WindowDriver()
{
    delete m_window;
}

bool WindowDriver::waitUntilReady()
{
    return QTest::qWaitFor([this] { return m_app->status()->state() == app::StatusModel::State::Ready; }, kAnswerMsMax);
}

QQuickItem* WindowDriver::item(const char* objectName) const
{
    for (QQuickItem* item : visibleItems(*m_window->contentItem())) {
        if (item->objectName() == objectName)
            return item;
    }
    return nullptr;
}

void WindowDriver::key(Qt::Key key, Qt::KeyboardModifiers modifiers)
{
    QTest::keyClick(m_window, key, modifiers);
}

void WindowDriver::type(const char* text)
{
    for (; *text != '\0'; ++text)
        QTest::keyClick(m_window, *text);
}

void WindowDriver::click(QQuickItem& item)
{
    const QPointF middle = item.mapToScene({item.width() / 2, item.height() / 2});
    QTest::mouseClick(m_window, Qt::LeftButton, Qt::NoModifier, middle.toPoint());
}

bool WindowDriver::ask(const char* text)
{
    QSignalSpy ended(m_app->chat(), &app::ChatController::answerEnded);
    type(text);
    key(Qt::Key_Return);
    return ended.count() > 0 || ended.wait(kAnswerMsMax);
}

QStringList WindowDriver::takeComplaints()
{
    return std::exchange(complaints, {});
}

QList<QQuickItem*> visibleItems(QQuickItem& root)
{
    QList<QQuickItem*> items;
    if (!root.isVisible())
        return items;
    items << &root;
    for (QQuickItem* child : root.childItems())
        items << visibleItems(*child);
    return items;
}

} // namespace waste::test
