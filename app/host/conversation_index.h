#pragma once

#include "host/conversation.h"
#include "waste/result.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace waste::host {

// One line of the list of conversations.
struct ConversationSummary {
    std::string id;
    std::string title;
    std::string modelName;
    std::string createdUtc;
    std::string updatedUtc;
    std::uint64_t messageCount = 0;
    std::uint64_t lastAnswerTokens = 0;
    MessageState lastState = MessageState::Done; // of the last message
    bool pinned = false;
    bool deleted = false;
};
ConversationSummary summaryOf(const Conversation& conversation);

// conversations/index.json: what the list shows, so that it need not read every journal. Only a cache: an
// entry counts while its journal has the size and time that it had then, and the file may be deleted or
// damaged at any time.
class ConversationIndex {
public:
    struct JournalStamp {
        std::uint64_t bytes = 0;
        std::int64_t time = 0; // of the last change, in the file clock's own units
        bool operator==(const JournalStamp&) const = default;
    };

    explicit ConversationIndex(std::filesystem::path file); // reads it if it can
    [[nodiscard]] std::optional<ConversationSummary> find(const std::string& id, JournalStamp stamp) const;
    void put(ConversationSummary summary, JournalStamp stamp);
    void keepOnly(const std::vector<std::string>& ids);
    Status saveIfChanged();

private:
    struct Entry {
        ConversationSummary summary;
        JournalStamp stamp;
    };
    std::filesystem::path m_file;
    std::map<std::string, Entry> m_entries; // by id
    bool m_changed = false;
};

} // namespace waste::host
