#include "desktop/app.h"

#include "chat/attachment_images.h"

#include <QClipboard>
#include <QDesktopServices>
#include <QGuiApplication>
#include <QPalette>
#include <QQmlEngine>
#include <QUrl>

namespace waste::app {

namespace {

constexpr const char* kEngineProperty = "wasteApp";
// To decode a picture that is attached or shown: 33 million pixels of an ordinary JPEG.
constexpr std::size_t kDecodeBytesMax = std::size_t{192} << 20;

// Qt 6.4 cannot say whether the system is dark; its palette can.
bool systemIsDark()
{
    const QPalette palette = QGuiApplication::palette();
    return palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
}

} // namespace

App::App(const Options& options, QObject* parent)
    : QObject(parent)
    , m_dataFolder(options.dataFolder)
    , m_viewer(kDecodeBytesMax)
    , m_keeper(std::make_unique<host::ConversationKeeper>(options.dataFolder, "WASTE Desktop"))
    , m_recorder(*m_keeper,
          [this](const std::string&, const Error& error) {
              const auto show = [this, text = QString::fromStdString(error.message)] { m_chat.showSaveError(text); };
              QMetaObject::invokeMethod(this, show, Qt::QueuedConnection);
          })
    , m_engine(std::make_unique<host::EngineHost>([this](const host::EngineEvent& event) {
        m_recorder.handle(event);
        m_relay.push(event);
    }))
    , m_settings(options.configurationFolder, [this](std::function<void()> task) { m_keeper->post(std::move(task)); })
    , m_chat({*m_keeper, *m_engine, m_recorder, m_viewer, m_settings, m_conversations, m_status})
{
    m_settings.setSystemIsDark(systemIsDark());
    connect(&m_relay, &ReplyRelay::arrived, &m_chat, &ChatController::handle);
    if (!options.model.empty())
        m_chat.openModel(options.model, options.isBuiltInModel);
    m_chat.start();
}

// The threads end first, the engine's before the keeper's: its last words are still to be written. What
// they call back to is alive until both are gone.
App::~App()
{
    m_chat.saveDraftNow();
    m_settings.saveNow();
    m_engine.reset();
    m_keeper.reset();
}

void App::provideTo(QQmlEngine& engine)
{
    engine.addImageProvider(AttachmentImages::kName, new AttachmentImages(m_dataFolder, m_viewer));
    engine.setProperty(kEngineProperty, QVariant::fromValue(this));
}

App* App::create(QQmlEngine* engine, QJSEngine*)
{
    App* app = engine->property(kEngineProperty).value<App*>();
    if (app != nullptr)
        QJSEngine::setObjectOwnership(app, QJSEngine::CppOwnership);
    return app;
}

void App::copy(const QString& text) const
{
    QGuiApplication::clipboard()->setText(text);
}

bool App::openLink(const QString& link) const
{
    const QUrl url(link, QUrl::StrictMode);
    const QString scheme = url.scheme();
    const bool allowed = url.isValid() && (scheme == "http" || scheme == "https" || scheme == "mailto");
    return allowed && QDesktopServices::openUrl(url);
}

} // namespace waste::app
