#pragma once

#include "chat/message_list_model.h"

#include <QObject>
#include <QStringList>
#include <QtQml/qqmlregistration.h>

namespace waste::app {

// The conversation on screen: what is typed, sent, stopped, continued, tried again. GUI thread only; engine
// and disk work on threads of their own and report back through queued calls.
class ChatController : public QObject {
    Q_OBJECT
    QML_ELEMENT
    QML_UNCREATABLE("Comes from App.")
    Q_PROPERTY(waste::app::MessageListModel* messages READ messages CONSTANT FINAL)
    Q_PROPERTY(QString conversationId READ conversationId NOTIFY conversationChanged FINAL)
    Q_PROPERTY(QString title READ title NOTIFY titleChanged FINAL) // "New chat" while nothing was sent
    Q_PROPERTY(bool empty READ isEmpty NOTIFY emptyChanged FINAL) // no message yet: show the start page
    // What stands in the composer; kept on disk one second after the last change.
    Q_PROPERTY(QString draft READ draft WRITE setDraft NOTIFY draftChanged FINAL)
    Q_PROPERTY(QStringList samples READ samples CONSTANT FINAL)
    Q_PROPERTY(bool canSend READ canSend NOTIFY actionsChanged FINAL)
    Q_PROPERTY(QString sendDisabledReason READ sendDisabledReason NOTIFY actionsChanged FINAL)
    Q_PROPERTY(
        bool canStop READ canStop NOTIFY actionsChanged FINAL) // an answer of this conversation is due or running
    Q_PROPERTY(bool canContinue READ canContinue NOTIFY actionsChanged FINAL)
    Q_PROPERTY(bool canRetry READ canRetry NOTIFY actionsChanged FINAL)
    Q_PROPERTY(QString modelName READ modelName NOTIFY modelChanged FINAL)
    Q_PROPERTY(bool modelReady READ isModelReady NOTIFY modelChanged FINAL)
    Q_PROPERTY(bool builtInModel READ isBuiltInModel NOTIFY modelChanged FINAL)
    Q_PROPERTY(int contextTokens READ contextTokens NOTIFY contextChanged FINAL)
    Q_PROPERTY(int usedTokens READ usedTokens NOTIFY contextChanged FINAL) // of this conversation, as far as known
    // The built-in model lost its thread in conversations longer than those it was trained on.
    Q_PROPERTY(bool longForModel READ isLongForModel NOTIFY contextChanged FINAL)
    Q_PROPERTY(QString saveError READ saveError NOTIFY saveErrorChanged FINAL) // empty: everything is on disk
    Q_PROPERTY(QString readOnlyReason READ readOnlyReason NOTIFY conversationChanged FINAL) // empty: may be written

public:
    Q_INVOKABLE void send(); // the draft
    Q_INVOKABLE void ask(const QString& text); // a sample: becomes the draft and is sent
    Q_INVOKABLE void stop();
    Q_INVOKABLE void continueAnswer();
    Q_INVOKABLE void tryAgain();
    Q_INVOKABLE void edit(const QString& messageId, const QString& text); // a sibling of that question, sent at once
    Q_INVOKABLE void showSibling(const QString& messageId, int step); // −1 or +1
    Q_INVOKABLE void newChat();
    Q_INVOKABLE void open(const QString& conversationId);
    Q_INVOKABLE void rename(const QString& conversationId, const QString& title);
    Q_INVOKABLE void remove(const QString& conversationId); // hidden now, deleted at the next start
    Q_INVOKABLE void restore(const QString& conversationId); // takes remove() back
    Q_INVOKABLE QString textOf(const QString& messageId) const; // what Copy puts on the clipboard
};

} // namespace waste::app
