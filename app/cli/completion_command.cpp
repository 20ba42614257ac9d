#include "cli/command.h"
#include "cli/completion_scripts.h"

#include <nlohmann/json.hpp>

#include <string>

namespace waste::cli {

namespace {

class CompletionCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("completion bash|zsh|fish",
            "Prints a script that completes commands, options and file names. Its first lines say where it goes.");
        arguments.positional(m_shell);
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        const auto commands = describeCommands();
        std::string script;
        if (m_shell == "bash")
            script = bashCompletion(commands);
        else if (m_shell == "zsh")
            script = zshCompletion(commands);
        else if (m_shell == "fish")
            script = fishCompletion(commands);
        else
            return Error{ErrorCode::InvalidArgument, "", "completion is for bash, zsh or fish"};
        if (context.output.isJson())
            context.output.json({{"shell", m_shell}, {"script", script}});
        else
            context.output.text(script);
        return 0;
    }

private:
    std::string m_shell;
};

} // namespace

std::unique_ptr<Command> makeCompletionCommand()
{
    return std::make_unique<CompletionCommand>();
}

} // namespace waste::cli
