#include "host/conversation_index.h"

#include "host/json.h"
#include "waste/files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace waste::host {

namespace {

constexpr std::uint64_t kIndexBytesMax = std::uint64_t{64} << 20;
constexpr int kIndexSchema = 1;

Json jsonFrom(const ConversationSummary& summary, ConversationIndex::JournalStamp stamp)
{
    return {{"id", summary.id}, {"title", summary.title}, {"model", summary.modelName},
        {"created_utc", summary.createdUtc}, {"updated_utc", summary.updatedUtc}, {"messages", summary.messageCount},
        {"tokens", summary.lastAnswerTokens}, {"state", nameOf(summary.lastState)}, {"pinned", summary.pinned},
        {"deleted", summary.deleted}, {"journal_bytes", stamp.bytes}, {"journal_time", stamp.time}};
}

template<typename Value>
bool take(const Json& object, const char* field, Value& target)
{
    const auto found = object.find(field);
    if (found == object.end())
        return false;
    if constexpr (std::is_same_v<Value, std::string>) {
        if (!found->is_string())
            return false;
    } else if constexpr (std::is_same_v<Value, bool>) {
        if (!found->is_boolean())
            return false;
    } else if (!found->is_number_integer()) {
        return false;
    }
    target = found->template get<Value>();
    return true;
}

} // namespace

ConversationSummary summaryOf(const Conversation& conversation)
{
    ConversationSummary summary{.id = conversation.id,
        .title = conversation.title,
        .modelName = conversation.modelName,
        .createdUtc = conversation.createdUtc,
        .updatedUtc = conversation.updatedUtc,
        .messageCount = conversation.messages.size(),
        .pinned = conversation.pinned,
        .deleted = conversation.deleted};
    if (!conversation.messages.empty()) {
        summary.lastState = conversation.messages.back().state;
        summary.lastAnswerTokens = conversation.messages.back().timings.tokens;
    }
    return summary;
}

ConversationIndex::ConversationIndex(std::filesystem::path file)
    : m_file(std::move(file))
{
    const auto text = readFile(m_file, kIndexBytesMax);
    const Json json = text ? Json::parse(*text, nullptr, false) : Json();
    if (!json.is_object() || json.value("schema", 0) != kIndexSchema || !json.contains("conversations")
        || !json["conversations"].is_array())
        return;
    for (const Json& line : json["conversations"]) {
        Entry entry;
        ConversationSummary& summary = entry.summary;
        std::string state;
        const bool whole = line.is_object() && take(line, "id", summary.id) && take(line, "title", summary.title)
            && take(line, "model", summary.modelName) && take(line, "created_utc", summary.createdUtc)
            && take(line, "updated_utc", summary.updatedUtc) && take(line, "messages", summary.messageCount)
            && take(line, "tokens", summary.lastAnswerTokens) && take(line, "state", state)
            && take(line, "pinned", summary.pinned) && take(line, "deleted", summary.deleted)
            && take(line, "journal_bytes", entry.stamp.bytes) && take(line, "journal_time", entry.stamp.time);
        const auto known = messageState(state);
        if (!whole || !known)
            continue;
        summary.lastState = *known;
        m_entries[summary.id] = std::move(entry);
    }
}

std::optional<ConversationSummary> ConversationIndex::find(const std::string& id, JournalStamp stamp) const
{
    const auto found = m_entries.find(id);
    return found != m_entries.end() && found->second.stamp == stamp ? std::optional(found->second.summary)
                                                                    : std::nullopt;
}

void ConversationIndex::put(ConversationSummary summary, JournalStamp stamp)
{
    const std::string id = summary.id;
    m_entries[id] = {std::move(summary), stamp};
    m_changed = true;
}

void ConversationIndex::keepOnly(const std::vector<std::string>& ids)
{
    m_changed |= std::erase_if(m_entries, [&ids](const auto& entry) {
        return std::find(ids.begin(), ids.end(), entry.first) == ids.end();
    }) > 0;
}

Status ConversationIndex::saveIfChanged()
{
    if (!m_changed)
        return {};
    Json json{{"schema", kIndexSchema}, {"conversations", Json::array()}};
    for (const auto& [id, entry] : m_entries)
        json["conversations"].push_back(jsonFrom(entry.summary, entry.stamp));
    WASTE_TRY_STATUS(replaceFile(m_file, json.dump(-1, ' ', false, Json::error_handler_t::replace)));
    m_changed = false;
    return {};
}

} // namespace waste::host
