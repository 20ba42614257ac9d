#pragma once

#include "cli/output.h"
#include "cli/reply_printer.h"
#include "host/chat_request.h"
#include "host/conversation_keeper.h"
#include "host/engine_events.h"
#include "host/reply_recorder.h"

#include "waste/picture.h"
#include "waste/result.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste::cli {

// What was said in one `waste chat` or kept by `waste run`, in memory and in the store that the window shows too (spec:
// desktop 3.7): a question is on disk before the model reads it. Where nothing can be stored, which is said once, the
// conversation goes on in memory alone.
class KeptConversation {
public:
    enum class Writer : std::uint8_t { Chat, Run }; // the command that others are told of
    KeptConversation(Writer writer, std::string modelName, Output& output);

    [[nodiscard]] const host::Conversation& conversation() const { return m_conversation; }
    [[nodiscard]] bool isEmpty() const { return m_conversation.messages.empty(); }
    [[nodiscard]] const host::Message* lastQuestion() const; // on the branch; null: none
    // Why nothing is stored any more; Ok while it is.
    [[nodiscard]] const Status& stored() const { return m_stored; }

    void startNew(); // the one before stays in the store
    Status load(const std::string& id);

    // Each begins an answer and gives its message's id.
    std::string ask(std::string_view question, std::vector<host::Block> pictures = {}); // behind the last message
    // Of the last question, whose branch stays in the store; its pictures are shown again.
    std::string askInstead(std::string_view question);
    std::string askAgain(); // another answer to the last question
    // Keeps a picture for the next question. Errors: NotFound where nothing is stored, those of the store.
    Result<host::Block> attach(
        std::string_view name, const std::string& bytes, const Picture& seen, PictureDetail detail);
    [[nodiscard]] std::filesystem::path attachmentsFolder() const;
    // To where the conversation stood before the last question.
    void undo();
    // Title or system prompt, as a `set` line of the journal.
    void set(std::string_view field, std::string_view value);

    // Everything up to now, for a question that is not kept yet.
    [[nodiscard]] host::ChatTurns turns() const;

    // A whole reply at once.
    void recordReply(const std::string& answerId, const ReplySummary& summary, const std::optional<Error>& error);
    // What the engine reports of the answer: AnswerStarted, ReplyBegan, ReplyText, ReplyEnded.
    void record(const host::EngineEvent& event);

private:
    std::string beginAnswer(const std::string& questionId, std::vector<host::Json> lines);
    std::string begin(std::string_view question, std::vector<host::Block> pictures, const std::string& parent);
    void write(std::vector<host::Json> lines); // to memory in any case

    const std::string m_modelName;
    Output& m_output;
    host::Conversation m_conversation;
    Status m_stored;
    std::unique_ptr<host::ConversationKeeper> m_keeper; // null: nothing is stored
    std::unique_ptr<host::ReplyRecorder> m_recorder; // after the keeper, which must outlive it
};

} // namespace waste::cli
