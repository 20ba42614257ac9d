#pragma once

#include "host/conversation_keeper.h"
#include "host/engine_host.h"

#include <functional>
#include <memory>
#include <string>

namespace waste::host {

// What an ended reply makes of its message.
MessageState messageStateAfter(const ReplyEnded& ended);
std::string reasonOf(const ReplyEnded& ended); // empty: it said all it had to say, or was stopped

// Writes answers into their conversations while they are generated: every change of state at once, text at
// most once a second (spec: desktop 3.7). Independent of whoever shows them, so that a slow or closed view
// costs nothing. Any thread. The keeper must outlive this object.
class ReplyRecorder {
public:
    // Called on the keeper's thread when an answer could not be written; its text is tried again a second
    // later, together with what came meanwhile.
    using SaveFailed = std::function<void(const std::string& answerId, const Error& error)>;

    ReplyRecorder(ConversationKeeper& keeper, SaveFailed saveFailed);

    // Before the answer is requested. `message` is what its conversation already has of it.
    void expect(const std::string& conversationId, const Message& message);
    void handle(const EngineEvent& event);

private:
    struct State; // outlives this object while the keeper still has work from it
    static void postDelayedFlush(const std::shared_ptr<State>& state, const std::string& answerId);
    static void flush(const std::shared_ptr<State>& state, const std::string& answerId);
    void add(const std::string& answerId, Block::Type type, const std::string& text);
    void end(const ReplyEnded& ended);
    void write(const std::string& answerId, Json line);

    std::shared_ptr<State> m_state;
};

} // namespace waste::host
