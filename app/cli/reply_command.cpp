#include "cli/chat_flags.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/text_input.h"

#include "waste/chat_format.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

namespace waste::cli {

namespace {

class ReplyCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("reply MODEL --tokens FILE [OPTIONS]",
            "Reads the tokens of a reply, [{\"text\":…,\"markup\":true|false} or {\"id\":…}, …], and prints as JSON\n"
            "what is understood of them: increments and the final message.");
        declareModel(arguments, m_flags);
        arguments.group("Reply");
        arguments.value("--tokens", "FILE", into(m_tokens), "the tokens (- is standard input)");
        arguments
            .value("--start-channel", "CHANNEL",
                choiceInto<ReplyChannel, ReplyChannel>(
                    m_start, {{"think", ReplyChannel::Think}, {"response", ReplyChannel::Response}}),
                "what the prompt left open: think or response")
            .byDefault("think");
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        if (!m_tokens)
            return Error{ErrorCode::InvalidArgument, "", "reply needs --tokens FILE"};
        WASTE_TRY(const auto container, openContainer(m_flags));
        WASTE_TRY(const auto format, openChatFormat(*container, ChatFlags{}, context.output));
        WASTE_TRY(const std::string tokens, readInput(*m_tokens));
        WASTE_TRY(const std::string json, format->readReplyJson(tokens, m_start));
        context.output.jsonText(json);
        return 0;
    }

private:
    EngineFlags m_flags;
    std::optional<std::string> m_tokens;
    ReplyChannel m_start = ReplyChannel::Think;
};

} // namespace

std::unique_ptr<Command> makeReplyCommand()
{
    return std::make_unique<ReplyCommand>();
}

} // namespace waste::cli
