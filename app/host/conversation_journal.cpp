#include "host/conversation_journal.h"

#include "host/journal_lines.h"
#include "host/journal_reader.h"

#include <chrono>
#include <utility>
#include <vector>

namespace waste::host {

namespace {

constexpr std::uint64_t kJournalBytesMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kSavingBytesMin = std::uint64_t{1} << 20;

Error busyError(const std::filesystem::path& nameFile)
{
    const auto writer = readFile(nameFile, 4096);
    const std::string name = writer && !writer->empty() ? *writer : "another program";
    return Error{ErrorCode::Busy, "busy", name + " is writing this conversation"};
}

// Without the lines that could not be read the file would be the poorer after its next compaction, and
// nobody could look at them.
Status keepBadLines(const std::string& id, const std::string& badLines, const std::filesystem::path& quarantineFolder)
{
    const std::string name = id + "-lines-" + sha256Text(badLines).substr(0, 16);
    std::error_code error;
    if (std::filesystem::exists(quarantineFolder / (name + ".jsonl"), error))
        return {};
    WASTE_TRY_STATUS(makePrivateFolder(quarantineFolder));
    WASTE_TRY_STATUS(replaceFile(quarantineFolder / (name + ".jsonl"), badLines));
    return replaceFile(quarantineFolder / (name + ".txt"),
        "These lines of conversation " + id + " could not be read and were skipped.\n");
}

} // namespace

void markInterrupted(Conversation& conversation)
{
    for (Message& message : conversation.messages) {
        if (message.state == MessageState::Reading || message.state == MessageState::Answering)
            message.state = MessageState::Interrupted;
    }
}

Result<std::unique_ptr<const ConversationLock>> ConversationLock::acquire(
    const std::filesystem::path& folder, std::string_view writerName)
{
    // A file of its own: a locked file cannot be read on every system.
    std::filesystem::path nameFile = folder / "writer";
    auto lock = HeldLock::acquire(folder / "lock");
    if (!lock)
        return lock.error().code == ErrorCode::Busy ? busyError(nameFile) : std::move(lock.error());
    // The name of one that was killed goes at once: until the new one is on the device, milliseconds pass.
    std::error_code ignored;
    std::filesystem::remove(nameFile, ignored);
    // Without it a second program only cannot say who it waits for.
    [[maybe_unused]] const Status named = replaceFile(nameFile, writerName);
    return std::unique_ptr<const ConversationLock>(new ConversationLock(std::move(*lock), std::move(nameFile)));
}

ConversationLock::ConversationLock(HeldLock lock, std::filesystem::path nameFile)
    : m_lock(std::move(lock))
    , m_nameFile(std::move(nameFile))
{
}

// Before the lock is let go: whoever has it next is somebody else.
ConversationLock::~ConversationLock()
{
    std::error_code ignored;
    std::filesystem::remove(m_nameFile, ignored);
}

ConversationJournal::ConversationJournal(
    std::unique_ptr<const ConversationLock> lock, JournalFile file, std::filesystem::path path)
    : m_lock(std::move(lock))
    , m_file(std::move(file))
    , m_path(std::move(path))
{
}

Result<ConversationJournal> ConversationJournal::open(
    const std::filesystem::path& folder, const std::filesystem::path& quarantineFolder, std::string_view writerName)
{
    const std::filesystem::path path = folder / "journal.jsonl";
    WASTE_TRY(auto lock, ConversationLock::acquire(folder, writerName));
    WASTE_TRY(const std::string bytes, readFile(path, kJournalBytesMax));
    WASTE_TRY(JournalContent content, readJournal(bytes));
    if (content.conversation.newerSchema) {
        return Error{ErrorCode::Unsupported, "newer_schema",
            "this conversation was written by a newer version and can only be read"};
    }
    if (!content.badLines.empty())
        WASTE_TRY_STATUS(keepBadLines(textOfPath(folder.filename()), content.badLines, quarantineFolder));
    WASTE_TRY(JournalFile file, JournalFile::open(path));
    if (file.sizeBytes() > content.goodBytes)
        WASTE_TRY_STATUS(file.resize(content.goodBytes));
    ConversationJournal journal(std::move(lock), std::move(file), path);
    journal.m_conversation = std::move(content.conversation);
    journal.m_conversation.id = textOfPath(folder.filename());
    journal.m_lastSequence = content.lastSequence;
    markInterrupted(journal.m_conversation);
    return journal;
}

Status ConversationJournal::append(std::span<const Json> lines)
{
    std::string text;
    std::vector<Json> complete;
    const std::string time = utcText(std::chrono::system_clock::now());
    std::uint64_t sequence = m_lastSequence;
    for (const Json& line : lines) {
        Json& full = complete.emplace_back(Json{{"kind", line.at("kind")}, {"seq", ++sequence}, {"time_utc", time}});
        full.update(line);
        const std::string written = full.dump(-1, ' ', false, Json::error_handler_t::replace);
        if (written.size() > kJournalLineBytesMax) {
            return Error{ErrorCode::InvalidArgument, "long_line", "a message of more than 16 MiB cannot be kept"};
        }
        text.append(written).append("\n");
    }
    if (Status appended = m_file.append(text); !appended) {
        Error error = std::move(appended.error());
        error.message = "the conversation could not be saved: " + error.message;
        return error;
    }
    m_lastSequence = sequence;
    for (const Json& line : complete)
        apply(line, m_conversation);
    return {};
}

Status ConversationJournal::compact()
{
    // A journal that grew by less than half cannot have gained enough to be written anew.
    const std::uint64_t sizeBytes = m_file.sizeBytes();
    if (sizeBytes < 2 * kSavingBytesMin || sizeBytes < m_sizeAtLastCompaction + m_sizeAtLastCompaction / 2)
        return {};
    m_sizeAtLastCompaction = sizeBytes;
    WASTE_TRY(const std::string bytes, readFile(m_path, kJournalBytesMax));
    const std::string compacted = compactJournal(bytes);
    const std::uint64_t saved = bytes.size() > compacted.size() ? bytes.size() - compacted.size() : 0;
    if (saved < kSavingBytesMin || saved < bytes.size() / 2)
        return {};
    WASTE_TRY_STATUS(m_file.replace(compacted));
    m_sizeAtLastCompaction = m_file.sizeBytes();
    return {};
}

} // namespace waste::host
