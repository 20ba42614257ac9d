#pragma once

#include "chat/chat_controller.h"
#include "chat/conversation_list_model.h"
#include "chat/status_model.h"
#include "settings/app_settings.h"

#include <QObject>
#include <QtQml/qqmlregistration.h>

namespace waste::app {

// What QML reaches everything through.
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
    Q_INVOKABLE void copy(const QString& text) const; // to the clipboard
    Q_INVOKABLE bool openLink(const QString& url) const; // http, https and mailto only
};

} // namespace waste::app
