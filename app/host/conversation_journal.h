#pragma once

#include "host/conversation.h"
#include "host/json.h"
#include "waste/files.h"
#include "waste/result.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace waste::host {

// The lock of a conversation's folder, with the name of who holds it for those who find it taken.
class ConversationLock {
public:
    // Busy: another one writes, and the message says who, where that is known.
    static Result<std::unique_ptr<const ConversationLock>> acquire(
        const std::filesystem::path& folder, std::string_view writerName);
    ~ConversationLock();
    ConversationLock(const ConversationLock&) = delete;
    ConversationLock& operator=(const ConversationLock&) = delete;

private:
    ConversationLock(HeldLock lock, std::filesystem::path nameFile);

    HeldLock m_lock;
    std::filesystem::path m_nameFile;
};

// An answer that nobody is writing any more was interrupted.
void markInterrupted(Conversation& conversation);

// One conversation opened for writing. Holds its lock. One thread at a time.
class ConversationJournal {
public:
    // Takes the lock, reads, copies a journal with bad lines to `quarantineFolder`, cuts off a torn tail.
    // Errors: Busy (reason busy; the message says who writes), Unsupported (newer schema), Corrupt (as
    // readJournal), Io, NotFound.
    static Result<ConversationJournal> open(const std::filesystem::path& folder,
        const std::filesystem::path& quarantineFolder, std::string_view writerName);

    [[nodiscard]] const std::string& id() const { return m_conversation.id; }
    [[nodiscard]] const Conversation& conversation() const { return m_conversation; }

    // Whole lines in one write, on the device when this returns; conversation() then knows them. Errors:
    // NoSpace, Io, InvalidArgument (a line over the limit); nothing was changed then.
    Status append(std::span<const Json> lines);
    // Worth it when it saves half of the file and a mebibyte; does nothing otherwise.
    Status compact();

private:
    ConversationJournal(std::unique_ptr<const ConversationLock> lock, JournalFile file, std::filesystem::path path);

    std::unique_ptr<const ConversationLock> m_lock;
    JournalFile m_file;
    std::filesystem::path m_path;
    Conversation m_conversation;
    std::uint64_t m_lastSequence = 0;
    std::uint64_t m_sizeAtLastCompaction = 0;
};

} // namespace waste::host
