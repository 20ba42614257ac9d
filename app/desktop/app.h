#pragma once

#include "chat/chat_controller.h"
#include "chat/conversation_list_model.h"
#include "chat/reply_relay.h"
#include "chat/status_model.h"
#include "host/conversation_keeper.h"
#include "host/engine_host.h"
#include "host/picture_viewer.h"
#include "host/reply_recorder.h"
#include "settings/app_settings.h"

#include <QObject>
#include <QtQml/qqmlregistration.h>

#include <filesystem>
#include <memory>

class QJSEngine;
class QQmlEngine;

namespace waste::app {

// What QML reaches everything through, and the one place where the parts are put together. GUI thread only.
class App : public QObject {
    Q_OBJECT
    QML_ELEMENT
    QML_SINGLETON
    Q_PROPERTY(waste::app::ChatController* chat READ chat CONSTANT FINAL)
    Q_PROPERTY(waste::app::ConversationListModel* conversations READ conversations CONSTANT FINAL)
    Q_PROPERTY(waste::app::StatusModel* status READ status CONSTANT FINAL)
    Q_PROPERTY(waste::app::AppSettings* settings READ settings CONSTANT FINAL)
    Q_PROPERTY(QString version READ version CONSTANT FINAL)

public:
    struct Options {
        std::filesystem::path dataFolder;
        std::filesystem::path configurationFolder;
        std::filesystem::path model; // opened at once; empty: none
        bool isBuiltInModel = false;
    };
    explicit App(const Options& options, QObject* parent = nullptr);
    ~App() override; // stops what runs, and writes what is not written yet

    // The singleton of `engine` is this object, which must outlive it.
    void provideTo(QQmlEngine& engine);
    static App* create(QQmlEngine* engine, QJSEngine* scriptEngine);

    [[nodiscard]] ChatController* chat() { return &m_chat; }
    [[nodiscard]] ConversationListModel* conversations() { return &m_conversations; }
    [[nodiscard]] StatusModel* status() { return &m_status; }
    [[nodiscard]] AppSettings* settings() { return &m_settings; }
    [[nodiscard]] QString version() const { return QStringLiteral(WASTE_VERSION); }

    Q_INVOKABLE void copy(const QString& text) const; // to the clipboard
    Q_INVOKABLE bool openLink(const QString& url) const; // http, https and mailto only

private:
    const std::filesystem::path m_dataFolder;
    host::PictureViewer m_viewer;
    std::unique_ptr<host::ConversationKeeper> m_keeper;
    host::ReplyRecorder m_recorder;
    ReplyRelay m_relay;
    std::unique_ptr<host::EngineHost> m_engine;
    AppSettings m_settings;
    ConversationListModel m_conversations;
    StatusModel m_status;
    ChatController m_chat;
};

} // namespace waste::app
