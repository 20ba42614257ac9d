#pragma once

#include "cli/command.h"

#include <span>
#include <string>
#include <vector>

namespace waste::cli {

// `waste` without its main(): chooses the command, fills its options, runs it and turns the outcome into
// messages and an exit code (spec: cli B.2 and B.3).
int runProgram(std::span<const std::string> arguments, CommandContext& context);

std::string overview(); // what `waste --help` prints
// Every command with what it can be given, for completion scripts.
struct DescribedCommand {
    std::string name;
    std::string summary;
    std::vector<Arguments::Option> options;
};
std::vector<DescribedCommand> describeCommands();
Result<std::string> commandHelp(std::string_view name); // InvalidArgument with the nearest name

} // namespace waste::cli
