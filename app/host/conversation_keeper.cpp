#include "host/conversation_keeper.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace waste::host {

ConversationKeeper::ConversationKeeper(std::filesystem::path dataFolder, std::string writerName)
    : m_dataFolder(std::move(dataFolder))
    , m_writerName(std::move(writerName))
{
}

void ConversationKeeper::list(Done<List> done)
{
    m_thread.post([this, done = std::move(done)] {
        if (Status opened = openStore(); !opened)
            return done(std::move(opened.error()));
        auto conversations = m_store->list();
        if (!conversations)
            return done(std::move(conversations.error()));
        done(List{std::move(*conversations), m_store->putAside()});
    });
}

void ConversationKeeper::load(std::string id, Done<Loaded> done)
{
    m_thread.post([this, id = std::move(id), done = std::move(done)] { done(loadNow(id)); });
}

void ConversationKeeper::append(std::string id, std::vector<Json> lines, Done<void> done)
{
    m_thread.post(
        [this, id = std::move(id), lines = std::move(lines), done = std::move(done)] { done(appendNow(id, lines)); });
}

void ConversationKeeper::saveDraft(std::string id, Draft draft, Done<void> done)
{
    m_thread.post([this, id = std::move(id), draft = std::move(draft), done = std::move(done)] {
        done(saveDraftNow(id, draft));
    });
}

void ConversationKeeper::release(std::string id)
{
    m_thread.post([this, id = std::move(id)] {
        const auto open = m_journals.find(id);
        if (open == m_journals.end())
            return;
        // A journal that could not be compacted is as good as before.
        [[maybe_unused]] const Status compacted = open->second.compact();
        m_journals.erase(open);
    });
}

void ConversationKeeper::post(std::function<void()> task, TaskThread::Clock::duration delay)
{
    m_thread.post(std::move(task), delay);
}

Status ConversationKeeper::appendNow(const std::string& id, const std::vector<Json>& lines)
{
    WASTE_TRY(ConversationJournal * open, journal(id));
    return open->append(lines);
}

Result<std::string> ConversationKeeper::attachNow(const std::string& id, const std::string& bytes)
{
    WASTE_TRY_STATUS(journal(id));
    return m_store->addAttachment(id, bytes);
}

std::filesystem::path ConversationKeeper::attachmentsFolder(const std::string& id) const
{
    return m_dataFolder / "conversations" / id / "attachments";
}

// At the first use and not in the constructor: opening reads the disk, and a failure (a missing volume)
// may be over at the next try.
Status ConversationKeeper::openStore()
{
    if (m_store)
        return {};
    WASTE_TRY(m_store, ConversationStore::open(m_dataFolder, m_writerName));
    return {};
}

Result<ConversationJournal*> ConversationKeeper::journal(const std::string& id)
{
    WASTE_TRY_STATUS(openStore());
    if (const auto open = m_journals.find(id); open != m_journals.end())
        return &open->second;
    auto opened = m_store->openForWriting(id);
    if (!opened && opened.error().code == ErrorCode::NotFound)
        opened = m_store->create(id);
    if (!opened)
        return std::move(opened.error());
    return &m_journals.emplace(id, std::move(*opened)).first->second;
}

Result<ConversationKeeper::Loaded> ConversationKeeper::loadNow(const std::string& id)
{
    WASTE_TRY_STATUS(openStore());
    Loaded loaded;
    if (m_journals.contains(id)) {
        loaded.conversation = m_journals.at(id).conversation();
    } else if (auto opened = m_store->openForWriting(id)) {
        loaded.conversation = m_journals.emplace(id, std::move(*opened)).first->second.conversation();
    } else if (opened.error().code == ErrorCode::Busy || opened.error().code == ErrorCode::Unsupported) {
        WASTE_TRY(loaded.conversation, m_store->read(id));
        loaded.readOnlyReason = opened.error().message;
    } else {
        return std::move(opened.error());
    }
    // A draft that cannot be read is no reason to hide the conversation.
    if (auto draft = m_store->draft(id))
        loaded.draft = std::move(*draft);
    return loaded;
}

Status ConversationKeeper::saveDraftNow(const std::string& id, const Draft& draft)
{
    WASTE_TRY_STATUS(openStore());
    if (!draft.isEmpty())
        WASTE_TRY_STATUS(journal(id));
    auto saved = m_store->saveDraft(id, draft);
    return saved || saved.error().code != ErrorCode::NotFound ? std::move(saved) : Status();
}

} // namespace waste::host
