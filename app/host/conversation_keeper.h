#pragma once

#include "host/conversation_store.h"
#include "host/json.h"
#include "host/task_thread.h"
#include "waste/result.h"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace waste::host {

// The store on a thread of its own, for a front end that must not wait for the disk.
//
// Every call returns at once and is carried out in order; `done` runs on the keeper's thread. Any thread
// may call. A conversation that was loaded or written stays locked until release().
class ConversationKeeper {
public:
    struct List {
        std::vector<ConversationSummary> conversations; // newest first
        std::vector<PutAside> putAside;
    };
    struct Loaded {
        Conversation conversation;
        Draft draft;
        std::string readOnlyReason; // empty: may be written
    };
    template<typename Value>
    using Done = std::function<void(Result<Value>)>;

    ConversationKeeper(std::filesystem::path dataFolder, std::string writerName);

    void list(Done<List> done);
    void load(std::string id, Done<Loaded> done);
    // Creates the conversation if it is new.
    void append(std::string id, std::vector<Json> lines, Done<void> done);
    void saveDraft(std::string id, Draft draft, Done<void> done);
    // Nothing is written for now: compacts, and lets other programs write.
    void release(std::string id);
    // For work that belongs between these calls. Such a task may call what ends with Now.
    void post(std::function<void()> task, TaskThread::Clock::duration delay = {});
    // On the keeper's thread only:
    Status appendNow(const std::string& id, const std::vector<Json>& lines);
    // Keeps an attachment, complete on disk when this returns; gives its name. Creates the conversation if new.
    Result<std::string> attachNow(const std::string& id, const std::string& bytes);
    [[nodiscard]] std::filesystem::path attachmentsFolder(const std::string& id) const; // any thread

private:
    Status openStore();
    Result<ConversationJournal*> journal(const std::string& id);
    Result<Loaded> loadNow(const std::string& id);
    Status saveDraftNow(const std::string& id, const Draft& draft);

    const std::filesystem::path m_dataFolder;
    const std::string m_writerName;
    // Used on the thread only:
    std::optional<ConversationStore> m_store;
    std::map<std::string, ConversationJournal> m_journals; // by id
    TaskThread m_thread; // last: its tasks use everything above
};

} // namespace waste::host
