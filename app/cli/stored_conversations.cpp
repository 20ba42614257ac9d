#include "cli/stored_conversations.h"

#include "cli/nearest_name.h"
#include "host/paths.h"

#include "waste/files.h"

#include <algorithm>
#include <vector>

namespace waste::cli {

namespace {

const char* speaker(host::Role role)
{
    switch (role) {
    case host::Role::User:
        return "you";
    case host::Role::Assistant:
        return "model";
    case host::Role::System:
        return "system";
    case host::Role::Tool:
        break;
    }
    return "tool";
}

} // namespace

Result<host::ConversationStore> openStore(Output& output)
{
    const auto folder = host::dataFolder();
    if (folder.empty())
        return Error{ErrorCode::NotFound, "", "there is no home folder, so conversations cannot be kept; set HOME"};
    WASTE_TRY(auto store, host::ConversationStore::open(folder, "waste"));
    for (const host::PutAside& item : store.putAside())
        output.warning(std::string("a conversation could not be read") + (item.moved ? " and was moved to " : ", in ")
            + textOfPath(item.folder) + ": " + item.why);
    return store;
}

Result<std::string> findConversation(host::ConversationStore& store, std::string_view name, Output& output)
{
    WASTE_TRY(const auto summaries, store.list()); // newest first
    std::vector<const host::ConversationSummary*> byTitle;
    std::vector<const host::ConversationSummary*> byBeginning;
    std::vector<std::string> titles;
    for (const host::ConversationSummary& summary : summaries) {
        if (summary.id == name)
            return summary.id;
        if (!name.empty() && summary.title == name)
            byTitle.push_back(&summary);
        if (!name.empty() && summary.id.starts_with(name))
            byBeginning.push_back(&summary);
        if (!summary.title.empty())
            titles.push_back(summary.title);
    }
    if (byBeginning.size() == 1)
        return byBeginning.front()->id;
    if (byTitle.size() > 1)
        output.note(std::to_string(byTitle.size()) + " conversations have this title; taking the newest, "
            + byTitle.front()->id);
    if (!byTitle.empty())
        return byTitle.front()->id;
    if (byBeginning.size() > 1)
        return Error{ErrorCode::InvalidArgument, "",
            std::to_string(byBeginning.size()) + " conversations begin with " + std::string(name)
                + "; give more of the id"};
    return Error{
        ErrorCode::NotFound, "", "there is no conversation '" + std::string(name) + "'" + suggestion(name, titles)};
}

std::string titleOf(const host::ConversationSummary& summary)
{
    return summary.title.empty() ? "(untitled)" : summary.title;
}

std::string transcript(const host::Conversation& conversation, std::size_t messagesMax)
{
    std::string text;
    const auto branch = conversation.branch();
    for (std::size_t i = branch.size() - std::min(branch.size(), messagesMax); i < branch.size(); ++i) {
        const host::Message* message = branch[i].message;
        text += (text.empty() ? "" : "\n") + std::string(speaker(message->role)) + ": ";
        for (const host::Block& block : message->blocks) {
            switch (block.type) {
            case host::Block::Type::Text:
            case host::Block::Type::ToolResult:
                text += block.text;
                break;
            case host::Block::Type::Image:
            case host::Block::Type::File:
                text += "[" + block.name + "] ";
                break;
            case host::Block::Type::ToolCall:
                text += "[call " + block.name + " " + block.text + "]";
                break;
            case host::Block::Type::Thinking:
            case host::Block::Type::Other:
                break;
            }
        }
        if (message->state == host::MessageState::Stopped || message->state == host::MessageState::Interrupted)
            text += " [" + std::string(host::nameOf(message->state)) + "]";
        text += "\n";
    }
    return text;
}

} // namespace waste::cli
