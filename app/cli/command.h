#pragma once

#include "cli/arguments.h"
#include "cli/output.h"

#include "waste/result.h"
#include "waste/types.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace waste::cli {

// What the program gives to the command that it runs.
struct CommandContext {
    Output& output;
    CancelFlag& cancel; // Ctrl-C, or nobody reads our output any more
};

// One of the words behind `waste`. The program calls declare(), fills the declared targets from command
// line, environment and configuration file, and then calls run().
class Command {
public:
    virtual ~Command() = default;
    [[nodiscard]] virtual Arguments declare() = 0;
    virtual Result<int> run(CommandContext& context) = 0; // the exit code; an Error becomes one by the table
};

struct CommandEntry {
    std::string_view name;
    std::string_view summary; // one line, for the list of all commands
    std::unique_ptr<Command> (*make)();
};

// All commands, in the order of the list.
std::span<const CommandEntry> commandTable();
const CommandEntry* findCommand(std::string_view name);

// The makers behind the table; each command is the file of its name.
std::unique_ptr<Command> makeBenchCommand();
std::unique_ptr<Command> makeChatCommand();
std::unique_ptr<Command> makeCompletionCommand();
std::unique_ptr<Command> makeConvertCommand();
std::unique_ptr<Command> makeDetokenizeCommand();
std::unique_ptr<Command> makeDiskBenchCommand();
std::unique_ptr<Command> makeDoctorCommand();
std::unique_ptr<Command> makeEvalCommand();
std::unique_ptr<Command> makeHelpCommand();
std::unique_ptr<Command> makeInfoCommand();
std::unique_ptr<Command> makePlanCommand();
std::unique_ptr<Command> makePromptCommand();
std::unique_ptr<Command> makeReplyCommand();
std::unique_ptr<Command> makeRunCommand();
std::unique_ptr<Command> makeSessionCommand();
std::unique_ptr<Command> makeTokenizeCommand();
std::unique_ptr<Command> makeVerifyCommand();
std::unique_ptr<Command> makeVersionCommand();

} // namespace waste::cli
