#pragma once

#include "chat/conversation_list_model.h"
#include "chat/message_list_model.h"
#include "host/conversation_keeper.h"
#include "host/engine_host.h"

#include <QObject>

#include <map>
#include <optional>
#include <string>

namespace waste::app {

// The answers that wait or are being written, and the conversations in which that happens while others are
// on screen: an answer belongs to its conversation and not to the view. GUI thread only.
class RunningAnswers : public QObject {
    Q_OBJECT

public:
    struct Answer {
        std::string conversationId;
        std::string newQuestionId = {}; // asked together with it; empty: its question was there before
        bool isContinued = false;
        bool isStarted = false; // its turn has come
        bool isStopped = false; // maybe before it reached the engine's queue
    };

    RunningAnswers(MessageListModel& onScreen, host::ConversationKeeper& keeper, host::EngineHost& engine,
        ConversationListModel& list, QObject* parent = nullptr);

    void add(const std::string& answerId, const Answer& answer);
    void submitted(const std::string& answerId); // the engine has it in its queue
    std::optional<Answer> drop(const std::string& answerId); // it never reached the engine
    void stopIn(const std::string& conversationId);
    void handle(const host::EngineEvent& event);

    [[nodiscard]] bool isAnyIn(const std::string& conversationId) const;
    [[nodiscard]] std::string conversationOf(const std::string& answerId) const; // empty: of none
    [[nodiscard]] QString backgroundTitle(const std::string& conversationId) const;
    void putInBackground(const std::string& conversationId, host::Conversation conversation);
    std::optional<host::Conversation> takeFromBackground(const std::string& conversationId);

Q_SIGNALS:
    void ended(const QString& answerId);

private:
    void handleStatus(const host::EngineStatus& status);
    void setState(const std::string& answerId, host::MessageState state);
    void append(const host::ReplyText& text);
    void end(const host::ReplyEnded& reply);
    host::Message* inBackground(const std::string& answerId);

    MessageListModel& m_onScreen;
    host::ConversationKeeper& m_keeper;
    host::EngineHost& m_engine;
    ConversationListModel& m_list;
    std::map<std::string, Answer> m_answers; // by id
    std::map<std::string, host::Conversation> m_background; // by id; each has an answer above
};

} // namespace waste::app
