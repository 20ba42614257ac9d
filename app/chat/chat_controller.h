#pragma once

#include "chat/conversation_list_model.h"
#include "chat/draft_pictures.h"
#include "chat/message_list_model.h"
#include "chat/running_answers.h"
#include "chat/status_model.h"
#include "host/conversation_keeper.h"
#include "host/engine_host.h"
#include "host/reply_recorder.h"
#include "settings/app_settings.h"

#include <QBasicTimer>
#include <QObject>
#include <QStringList>
#include <QtQml/qqmlregistration.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace waste::app {

// The conversation on screen: what is typed, sent, stopped, continued, tried again. GUI thread only; engine
// and disk work on threads of their own and report back through queued calls.
//
// Nothing is sent to the engine before it is on disk.
class ChatController : public QObject {
    Q_OBJECT
    QML_ELEMENT
    QML_UNCREATABLE("Comes from App.")
    Q_PROPERTY(waste::app::MessageListModel* messages READ messages CONSTANT FINAL)
    Q_PROPERTY(QString conversationId READ conversationId NOTIFY conversationChanged FINAL)
    Q_PROPERTY(QString title READ title NOTIFY conversationChanged FINAL) // "New chat" while nothing was sent
    Q_PROPERTY(bool empty READ isEmpty NOTIFY conversationChanged FINAL) // no message yet: show the start page
    // What stands in the composer; kept on disk one second after the last change.
    Q_PROPERTY(QString draft READ draft WRITE setDraft NOTIFY draftChanged FINAL)
    Q_PROPERTY(waste::app::DraftPictures* pictures READ pictures CONSTANT FINAL) // attached to the draft
    Q_PROPERTY(QStringList samples READ samples CONSTANT FINAL)
    Q_PROPERTY(bool canSend READ canSend NOTIFY actionsChanged FINAL)
    Q_PROPERTY(QString sendDisabledReason READ sendDisabledReason NOTIFY actionsChanged FINAL)
    Q_PROPERTY(bool canStop READ canStop NOTIFY actionsChanged FINAL) // its answer waits or runs
    Q_PROPERTY(bool canContinue READ canContinue NOTIFY actionsChanged FINAL)
    Q_PROPERTY(bool canRetry READ canRetry NOTIFY actionsChanged FINAL)
    Q_PROPERTY(QString modelName READ modelName NOTIFY modelChanged FINAL)
    Q_PROPERTY(bool modelReady READ isModelReady NOTIFY modelChanged FINAL)
    Q_PROPERTY(bool builtInModel READ isBuiltInModel NOTIFY modelChanged FINAL)
    Q_PROPERTY(int contextTokens READ contextTokens NOTIFY contextChanged FINAL)
    Q_PROPERTY(int usedTokens READ usedTokens NOTIFY contextChanged FINAL) // by this conversation, as far as known
    // Longer than what the built-in model was trained on: it loses the thread.
    Q_PROPERTY(bool longForModel READ isLongForModel NOTIFY contextChanged FINAL)
    Q_PROPERTY(QString saveError READ saveError NOTIFY saveErrorChanged FINAL) // empty: everything is on disk
    Q_PROPERTY(QString readOnlyReason READ readOnlyReason NOTIFY conversationChanged FINAL) // empty: may be written

public:
    struct Services { // each outlives the controller's last event
        host::ConversationKeeper& keeper;
        host::EngineHost& engine;
        host::ReplyRecorder& recorder;
        host::PictureViewer& viewer;
        AppSettings& settings;
        ConversationListModel& list;
        StatusModel& status;
    };
    explicit ChatController(const Services& services, QObject* parent = nullptr);

    void start(); // reads the list of conversations and the draft of the new chat
    void openModel(const std::filesystem::path& model, bool builtIn);
    void handle(const std::vector<host::EngineEvent>& events);
    void showSaveError(const QString& error); // empty: it is over
    void saveDraftNow();

    [[nodiscard]] MessageListModel* messages() { return &m_messages; }
    [[nodiscard]] QString conversationId() const { return QString::fromStdString(m_conversationId); }
    [[nodiscard]] QString title() const;
    [[nodiscard]] bool isEmpty() const { return m_messages.conversation().messages.empty(); }
    [[nodiscard]] QString draft() const { return m_draft; }
    void setDraft(const QString& draft);
    [[nodiscard]] DraftPictures* pictures() { return &m_pictures; }
    [[nodiscard]] QStringList samples() const;
    [[nodiscard]] bool canSend() const { return sendDisabledReason().isEmpty(); }
    [[nodiscard]] QString sendDisabledReason() const;
    [[nodiscard]] bool canStop() const { return isDue(); }
    [[nodiscard]] bool canContinue() const;
    [[nodiscard]] bool canRetry() const;
    [[nodiscard]] QString modelName() const;
    [[nodiscard]] bool isModelReady() const;
    [[nodiscard]] bool isBuiltInModel() const { return m_builtIn; }
    [[nodiscard]] int contextTokens() const { return static_cast<int>(m_engineStatus.contextTokens); }
    [[nodiscard]] int usedTokens() const;
    [[nodiscard]] bool isLongForModel() const;
    [[nodiscard]] QString saveError() const { return m_saveError; }
    [[nodiscard]] QString readOnlyReason() const { return m_readOnlyReason; }

    Q_INVOKABLE void send(); // the draft
    Q_INVOKABLE void ask(const QString& text); // a sample: sent as if it had been typed
    Q_INVOKABLE void stop();
    Q_INVOKABLE void releaseVision(); // the vision tower leaves memory until the next picture
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

Q_SIGNALS:
    void conversationChanged();
    void draftChanged();
    void actionsChanged();
    void modelChanged();
    void contextChanged();
    void saveErrorChanged();
    void answerEnded(const QString& messageId);

protected:
    void timerEvent(QTimerEvent* event) override;

private:
    struct Actions {
        QString sendDisabledReason;
        bool canStop = false;
        bool canContinue = false;
        bool canRetry = false;
        bool operator==(const Actions&) const = default;
    };
    void submit(const std::string& parent, const QString& text, const std::vector<host::Block>& pictures);
    void noteDraftChange();
    void addAnswer(const std::string& parent, std::vector<host::Json> lines, const std::string& newQuestionId);
    void requestAnswer(
        const host::Message& answer, const RunningAnswers::Answer& running, std::vector<host::Json> lines);
    void takeBack(const std::string& answerId, const Error& error);
    void leave(); // the conversation on screen, before another one comes
    void show(host::Conversation conversation, const std::string& id, const host::Draft& draft,
        const QString& readOnlyReason);
    void keep(const std::string& conversationId, host::Json line); // writes what nothing waits for
    host::ConversationKeeper::Done<void> showsWhetherSaved();
    [[nodiscard]] const host::Message* lastMessage() const; // of the branch on screen
    [[nodiscard]] bool isDue() const; // an answer of the conversation on screen
    [[nodiscard]] bool mayWrite() const; // to the conversation on screen, now
    void updateActions();

    const Services m_services;
    MessageListModel m_messages;
    RunningAnswers m_answers;
    std::string m_conversationId; // on screen; not on disk before anything was typed
    std::string m_unsentId; // the new chat with a draft in it, if there is one
    QString m_draft;
    DraftPictures m_pictures;
    bool m_isDraftChanged = false; // since it was saved
    QBasicTimer m_saveDraftLater;
    QString m_readOnlyReason;
    QString m_saveError;
    bool m_builtIn = false;
    host::EngineStatus m_engineStatus;
    Actions m_actions;
    std::pair<int, int> m_context; // tokens used, tokens there are
};

} // namespace waste::app
