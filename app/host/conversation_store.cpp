#include "host/conversation_store.h"

#include "host/journal_lines.h"
#include "host/journal_reader.h"
#include "waste/files.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <random>
#include <tuple>
#include <utility>

namespace waste::host {

namespace {

constexpr std::uint64_t kJournalBytesMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kSmallFileBytesMax = std::uint64_t{64} << 20;
constexpr std::uint64_t kFirstLineBytesMax = 1024;
constexpr std::chrono::hours kAbandonedAfter{1};

std::string randomHex(std::size_t digits)
{
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::random_device random;
    std::string text;
    while (text.size() < digits)
        text += kDigits[random() % kDigits.size()];
    return text;
}

// Nothing else is ever used as the name of a folder.
bool isConversationId(std::string_view text)
{
    constexpr std::string_view kPattern = "00000000T000000Z-xxxxxx";
    if (text.size() != kPattern.size())
        return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool digit = text[i] >= '0' && text[i] <= '9';
        const bool hex = digit || (text[i] >= 'a' && text[i] <= 'f');
        if (kPattern[i] == '0' ? !digit : kPattern[i] == 'x' ? !hex : text[i] != kPattern[i])
            return false;
    }
    return true;
}

bool isRunning(MessageState state)
{
    return state == MessageState::Reading || state == MessageState::Answering;
}

std::int64_t timeOf(const std::filesystem::path& path)
{
    std::error_code error;
    const auto time = std::filesystem::last_write_time(path, error);
    return error ? 0 : static_cast<std::int64_t>(time.time_since_epoch().count());
}

// Lines of a newer version may be messages that this one does not know.
bool hasOnlyItsFirstLine(const std::filesystem::path& journal)
{
    const auto bytes = readFile(journal, kFirstLineBytesMax);
    return bytes && bytes->find('\n') == bytes->size() - 1;
}

Result<Conversation> readForList(const std::filesystem::path& journal)
{
    WASTE_TRY(const std::string bytes, readFile(journal, kJournalBytesMax));
    WASTE_TRY(JournalContent content, readJournal(bytes));
    return std::move(content.conversation);
}

} // namespace

ConversationStore::ConversationStore(std::filesystem::path dataFolder, std::string_view writerName)
    : m_dataFolder(std::move(dataFolder))
    , m_writerName(writerName)
    , m_index(conversationsFolder() / "index.json")
{
}

Result<ConversationStore> ConversationStore::open(const std::filesystem::path& dataFolder, std::string_view writerName)
{
    WASTE_TRY_STATUS(makePrivateFolder(dataFolder / "conversations"));
    ConversationStore store(dataFolder, writerName);
    WASTE_TRY(const auto summaries, store.listWithDeleted());
    store.removeLeftovers(summaries);
    return store;
}

Result<std::vector<ConversationSummary>> ConversationStore::list()
{
    WASTE_TRY(auto summaries, listWithDeleted());
    std::erase_if(summaries, [](const ConversationSummary& summary) { return summary.deleted; });
    return summaries;
}

Result<ConversationJournal> ConversationStore::create(std::string_view id)
{
    if (!isConversationId(id))
        return Error{ErrorCode::InvalidArgument, "", std::string(id) + " is no name for a conversation"};
    const std::string createdUtc = utcText(std::chrono::system_clock::now());
    // The folder appears with its first line in it, or not at all.
    const std::filesystem::path hidden = conversationsFolder() / ("." + std::string(id));
    WASTE_TRY_STATUS(makePrivateFolder(hidden));
    WASTE_TRY_STATUS(replaceFile(hidden / "journal.jsonl", conversationLine(id, createdUtc).dump() + "\n"));
    std::error_code error;
    std::filesystem::rename(hidden, folderOf(id), error);
    if (error) {
        return Error{
            ErrorCode::Io, "", "cannot create the conversation " + textOfPath(folderOf(id)) + ": " + error.message()};
    }
    WASTE_TRY_STATUS(flushFolder(conversationsFolder()));
    return ConversationJournal::open(folderOf(id), quarantineFolder(), m_writerName);
}

Result<ConversationJournal> ConversationStore::openForWriting(std::string_view id)
{
    WASTE_TRY_STATUS(checkExists(id));
    return ConversationJournal::open(folderOf(id), quarantineFolder(), m_writerName);
}

Result<Conversation> ConversationStore::read(std::string_view id) const
{
    WASTE_TRY_STATUS(checkExists(id));
    // Whoever is writing holds the lock.
    const auto lock = HeldLock::acquire(folderOf(id) / "lock");
    WASTE_TRY(const std::string bytes, readFile(folderOf(id) / "journal.jsonl", kJournalBytesMax));
    WASTE_TRY(JournalContent content, readJournal(bytes));
    content.conversation.id = id;
    if (lock)
        markInterrupted(content.conversation);
    return std::move(content.conversation);
}

Status ConversationStore::saveDraft(std::string_view id, const Draft& draft)
{
    WASTE_TRY_STATUS(checkExists(id));
    const std::filesystem::path file = folderOf(id) / "draft.json";
    if (!draft.isEmpty()) {
        Json json{{"text", draft.text}, {"attachments", Json::array()}};
        for (const Block& attachment : draft.attachments)
            json["attachments"].push_back(blockJson(attachment));
        return replaceFile(file, json.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
    std::error_code error;
    if (std::filesystem::remove(file, error); error)
        return Error{ErrorCode::Io, "", "cannot remove " + textOfPath(file) + ": " + error.message()};
    return {};
}

Result<Draft> ConversationStore::draft(std::string_view id) const
{
    WASTE_TRY_STATUS(checkExists(id));
    auto text = readFile(folderOf(id) / "draft.json", kSmallFileBytesMax);
    if (!text)
        return text.error().code == ErrorCode::NotFound ? Result<Draft>(Draft()) : std::move(text.error());
    const Json json = Json::parse(*text, nullptr, false);
    Draft draft;
    if (!json.is_object())
        return draft;
    if (const auto found = json.find("text"); found != json.end() && found->is_string())
        draft.text = found->get<std::string>();
    if (const auto found = json.find("attachments"); found != json.end() && found->is_array()) {
        for (const Json& attachment : *found) {
            if (Block block = blockFrom(attachment); block.type == Block::Type::Image)
                draft.attachments.push_back(std::move(block));
        }
    }
    return draft;
}

Result<std::string> ConversationStore::addAttachment(std::string_view id, std::string_view bytes)
{
    WASTE_TRY_STATUS(checkExists(id));
    const std::string name = sha256Text(bytes);
    const std::filesystem::path file = attachment(id, name);
    std::error_code error;
    if (std::filesystem::exists(file, error))
        return name;
    WASTE_TRY_STATUS(makePrivateFolder(file.parent_path()));
    WASTE_TRY_STATUS(replaceFile(file, bytes));
    return name;
}

std::filesystem::path ConversationStore::attachment(std::string_view id, std::string_view sha256) const
{
    return folderOf(id) / "attachments" / sha256;
}

Status ConversationStore::checkExists(std::string_view id) const
{
    std::error_code error;
    if (!isConversationId(id) || !std::filesystem::is_directory(folderOf(id), error))
        return Error{ErrorCode::NotFound, "", "there is no conversation " + std::string(id)};
    return {};
}

Result<std::vector<ConversationSummary>> ConversationStore::listWithDeleted()
{
    std::error_code error;
    std::vector<std::string> ids;
    for (std::filesystem::directory_iterator entry(conversationsFolder(), error), end; !error && entry != end;
         entry.increment(error)) {
        if (std::string name = textOfPath(entry->path().filename()); isConversationId(name))
            ids.push_back(std::move(name));
    }
    if (error)
        return Error{ErrorCode::Io, "", "cannot list " + textOfPath(conversationsFolder()) + ": " + error.message()};

    std::vector<ConversationSummary> summaries;
    for (const std::string& id : ids) {
        const std::filesystem::path path = folderOf(id) / "journal.jsonl";
        const ConversationIndex::JournalStamp stamp{std::filesystem::file_size(path, error), timeOf(path)};
        auto summary = m_index.find(id, stamp);
        if (!summary) {
            const auto conversation = readForList(path);
            if (!conversation) {
                leaveOut(id, conversation.error());
                continue;
            }
            summary = summaryOf(*conversation);
            summary->id = id;
            m_index.put(*summary, stamp);
        }
        if (isRunning(summary->lastState) && HeldLock::acquire(folderOf(id) / "lock"))
            summary->lastState = MessageState::Interrupted;
        summaries.push_back(std::move(*summary));
    }
    m_index.keepOnly(ids);
    // Only a cache: the list is right without it, and what cannot be written now is written next time.
    [[maybe_unused]] const Status saved = m_index.saveIfChanged();
    std::sort(summaries.begin(), summaries.end(),
        [](const auto& a, const auto& b) { return std::tie(a.updatedUtc, a.id) > std::tie(b.updatedUtc, b.id); });
    return summaries;
}

// Everything else stays usable: one bad folder must not hide the others. It is moved only where its content
// is the reason; what cannot be opened today may be opened tomorrow.
void ConversationStore::leaveOut(const std::string& id, const Error& why)
{
    std::filesystem::path moved;
    if (why.code == ErrorCode::Corrupt || why.code == ErrorCode::NotFound)
        moved = moveToQuarantine(id, why.message);
    const auto folder = moved.empty() ? folderOf(id) : moved;
    const bool known = std::any_of(
        m_putAside.begin(), m_putAside.end(), [&folder](const PutAside& aside) { return aside.folder == folder; });
    if (!known)
        m_putAside.push_back({folder, why.message, !moved.empty()});
}

// Gives where it is now; empty if it could not be moved.
std::filesystem::path ConversationStore::moveToQuarantine(const std::string& id, const std::string& why)
{
    const std::filesystem::path target = quarantineFolder() / (id + "-" + randomHex(6));
    std::error_code error;
    {
        const auto lock = HeldLock::acquire(folderOf(id) / "lock");
        if (!lock || !makePrivateFolder(quarantineFolder()))
            return {};
        std::filesystem::rename(folderOf(id), target, error);
    }
    // Windows moves no folder with an open file, which is also why nobody else's is moved without the lock.
    if (error)
        std::filesystem::rename(folderOf(id), target, error);
    if (error)
        return {};
    [[maybe_unused]] const Status noted =
        replaceFile(std::filesystem::path(target) += ".txt", "Conversation " + id + ": " + why + ".\n");
    return target;
}

void ConversationStore::removeLeftovers(const std::vector<ConversationSummary>& summaries) const
{
    std::error_code error;
    for (const ConversationSummary& summary : summaries) {
        const std::filesystem::path folder = folderOf(summary.id);
        const bool neverBegun = summary.messageCount == 0 && hasOnlyItsFirstLine(folder / "journal.jsonl")
            && !std::filesystem::exists(folder / "draft.json", error);
        // Who holds the lock is about to write into it.
        if ((summary.deleted || neverBegun) && HeldLock::acquire(folder / "lock"))
            std::filesystem::remove_all(folder, error);
    }
    const auto now = std::filesystem::file_time_type::clock::now();
    for (std::filesystem::directory_iterator entry(conversationsFolder(), error), end; !error && entry != end;
         entry.increment(error)) {
        // The beginning of a folder that create() did not live to finish.
        const std::string name = textOfPath(entry->path().filename());
        std::error_code ignored; // a folder that is gone, or not ours to remove
        const auto written = entry->last_write_time(ignored);
        if (!ignored && name.starts_with('.') && isConversationId(name.substr(1)) && now - written > kAbandonedAfter)
            std::filesystem::remove_all(entry->path(), ignored);
    }
}

std::string newConversationId()
{
    std::string id = utcText(std::chrono::system_clock::now());
    std::erase_if(id, [](char c) { return c == '-' || c == ':'; });
    return id + "-" + randomHex(6);
}

Message newMessage(Role role, std::string parent)
{
    Message message;
    message.id = randomHex(16);
    message.parent = std::move(parent);
    message.role = role;
    message.timeUtc = utcText(std::chrono::system_clock::now());
    return message;
}

} // namespace waste::host
