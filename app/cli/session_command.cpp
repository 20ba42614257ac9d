#include "cli/command.h"
#include "cli/nearest_name.h"
#include "cli/printf_text.h"
#include "cli/stored_conversations.h"
#include "host/journal_lines.h"

#include <nlohmann/json.hpp>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace waste::cli {

namespace {

using nlohmann::ordered_json;

ordered_json summaryJson(const host::ConversationSummary& summary)
{
    return {{"id", summary.id}, {"title", summary.title}, {"model", summary.modelName},
        {"created_utc", summary.createdUtc}, {"updated_utc", summary.updatedUtc}, {"messages", summary.messageCount},
        {"state", host::nameOf(summary.lastState)}, {"pinned", summary.pinned}};
}

ordered_json messageJson(const host::Message& message)
{
    using Type = host::Block::Type;
    ordered_json object = {{"id", message.id}, {"role", host::nameOf(message.role)},
        {"content", message.textOf(Type::Text)}, {"state", host::nameOf(message.state)}, {"time_utc", message.timeUtc}};
    if (const std::string thinking = message.textOf(Type::Thinking); !thinking.empty())
        object["reasoning_content"] = thinking;
    for (const host::Block& block : message.blocks) {
        if (block.type == Type::ToolCall)
            object["tool_calls"].push_back({{"id", block.callId}, {"type", "function"},
                {"function", {{"name", block.name}, {"arguments", block.text}}}});
        if (block.type == Type::Image || block.type == Type::File)
            object["attachments"].push_back({{"name", block.name}, {"sha256", block.sha256}, {"bytes", block.bytes}});
    }
    return object;
}

class SessionCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("session list | show NAME | delete NAME",
            "The conversations on this computer, those of the window too. NAME is an id, the beginning of one, or\n"
            "a title.");
        arguments.positional(m_action);
        arguments.positional(m_name);
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        static const std::vector<std::string> actions = {"list", "show", "delete"};
        if (m_action.empty())
            return Error{
                ErrorCode::InvalidArgument, "", "what to do is missing: session list, show NAME or delete NAME"};
        if (m_action != "list" && m_action != "show" && m_action != "delete")
            return Error{ErrorCode::InvalidArgument, "",
                "session cannot " + m_action + suggestion(m_action, actions) + " (list, show NAME, delete NAME)"};
        if ((m_action == "list") == m_name.has_value())
            return Error{ErrorCode::InvalidArgument, "",
                m_action == "list" ? "session list takes no name" : "session " + m_action + " needs a NAME"};

        WASTE_TRY(auto store, openStore(context.output));
        if (m_action == "list")
            return list(store, context.output);
        WASTE_TRY(const std::string id, findConversation(store, *m_name, context.output));
        return m_action == "show" ? show(store, id, context.output) : remove(store, id, context.output);
    }

private:
    static Result<int> list(host::ConversationStore& store, Output& output)
    {
        WASTE_TRY(const auto summaries, store.list());
        if (output.isJson()) {
            ordered_json sessions = ordered_json::array();
            for (const auto& summary : summaries)
                sessions.push_back(summaryJson(summary));
            output.json({{"sessions", std::move(sessions)}});
            return 0;
        }
        for (const auto& summary : summaries)
            output.text(printfText("%s  %s  %4llu  %s\n", summary.id.c_str(), summary.updatedUtc.c_str(),
                static_cast<unsigned long long>(summary.messageCount), titleOf(summary).c_str()));
        if (summaries.empty())
            output.note("no conversations yet");
        return 0;
    }

    static Result<int> show(host::ConversationStore& store, const std::string& id, Output& output)
    {
        WASTE_TRY(const host::Conversation conversation, store.read(id));
        if (!output.isJson()) {
            output.text(transcript(conversation));
            return 0;
        }
        ordered_json messages = ordered_json::array();
        for (const auto& entry : conversation.branch())
            messages.push_back(messageJson(*entry.message));
        output.json({{"id", conversation.id}, {"title", conversation.title}, {"model", conversation.modelName},
            {"created_utc", conversation.createdUtc}, {"updated_utc", conversation.updatedUtc},
            {"system", conversation.system}, {"messages", std::move(messages)}});
        return 0;
    }

    static Result<int> remove(host::ConversationStore& store, const std::string& id, Output& output)
    {
        WASTE_TRY(auto journal, store.openForWriting(id));
        const std::array lines = {host::setLine("deleted", true)};
        WASTE_TRY_STATUS(journal.append(lines));
        if (output.isJson())
            output.json({{"deleted", id}});
        else
            output.note("deleted " + id);
        return 0;
    }

    std::string m_action;
    std::optional<std::string> m_name;
};

} // namespace

std::unique_ptr<Command> makeSessionCommand()
{
    return std::make_unique<SessionCommand>();
}

} // namespace waste::cli
