#include "cli/command.h"
#include "cli/program.h"

#include <optional>

namespace waste::cli {

namespace {

class HelpCommand final : public Command {
public:
    Arguments declare() override
    {
        Arguments arguments("help [COMMAND]", "Prints the list of commands, or what one of them can do.");
        arguments.positional(m_name);
        return arguments;
    }

    Result<int> run(CommandContext& context) override
    {
        std::string text = overview();
        if (m_name) {
            WASTE_TRY(text, commandHelp(*m_name));
        }
        context.output.printHelp(text);
        return 0;
    }

private:
    std::optional<std::string> m_name;
};

} // namespace

std::unique_ptr<Command> makeHelpCommand()
{
    return std::make_unique<HelpCommand>();
}

} // namespace waste::cli
