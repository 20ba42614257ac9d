#pragma once

#include "host/conversation.h"
#include "host/conversation_index.h"
#include "host/conversation_journal.h"
#include "waste/result.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace waste::host {

// A conversation that could not be read.
struct PutAside {
    std::filesystem::path folder; // where it is now
    std::string why;
    bool moved = true; // to the quarantine; false: it is where it was, the reason lies outside it
};

// Typed and not sent.
struct Draft {
    std::string text = {};
    std::vector<Block> attachments = {};
    [[nodiscard]] bool isEmpty() const { return text.empty() && attachments.empty(); }
};

// The conversations on disk: one store for the window, `waste chat` and `waste session` (spec: desktop 3.7).
//
// Many programs may have it open; each conversation is written by the one that holds its lock. One thread
// at a time.
class ConversationStore {
public:
    // Creates the folders, and removes conversations that were deleted or never begun. `writerName` is what others
    // are told while this one writes.
    static Result<ConversationStore> open(const std::filesystem::path& dataFolder, std::string_view writerName);

    // All that are not deleted, newest first. One that cannot be read is left out, see putAside().
    Result<std::vector<ConversationSummary>> list();
    [[nodiscard]] const std::vector<PutAside>& putAside() const { return m_putAside; }

    Result<ConversationJournal> create(std::string_view id); // of newConversationId()
    Result<ConversationJournal> openForWriting(std::string_view id);
    // An answer that nobody is writing any more is Interrupted.
    [[nodiscard]] Result<Conversation> read(std::string_view id) const;

    Status saveDraft(std::string_view id, const Draft& draft); // an empty one is removed
    [[nodiscard]] Result<Draft> draft(std::string_view id) const; // empty: none

    // Complete on disk when this returns; gives the name under which a block refers to it.
    Result<std::string> addAttachment(std::string_view id, std::string_view bytes);
    [[nodiscard]] std::filesystem::path attachment(std::string_view id, std::string_view sha256) const;

private:
    ConversationStore(std::filesystem::path dataFolder, std::string_view writerName);
    [[nodiscard]] std::filesystem::path conversationsFolder() const { return m_dataFolder / "conversations"; }
    [[nodiscard]] std::filesystem::path quarantineFolder() const { return m_dataFolder / "quarantine"; }
    [[nodiscard]] std::filesystem::path folderOf(std::string_view id) const { return conversationsFolder() / id; }
    Status checkExists(std::string_view id) const;
    Result<std::vector<ConversationSummary>> listWithDeleted();
    void leaveOut(const std::string& id, const Error& why);
    [[nodiscard]] std::filesystem::path moveToQuarantine(const std::string& id, const std::string& why);
    void removeLeftovers(const std::vector<ConversationSummary>& summaries) const;

    std::filesystem::path m_dataFolder;
    std::string m_writerName;
    ConversationIndex m_index;
    std::vector<PutAside> m_putAside;
};

// "20261129T150000Z-7f3a9c": the time and six random hex digits.
std::string newConversationId();
// Without blocks, of this moment, with an id of its own.
Message newMessage(Role role, std::string parent);

} // namespace waste::host
