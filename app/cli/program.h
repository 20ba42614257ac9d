#pragma once

#include "cli/command.h"

#include <span>
#include <string>

namespace waste::cli {

// `waste` without its main(): chooses the command, fills its options, runs it and turns the outcome into
// messages and an exit code (spec: cli B.2 and B.3).
int runProgram(std::span<const std::string> arguments, CommandContext& context);

std::string overview(); // what `waste --help` prints
Result<std::string> commandHelp(std::string_view name); // InvalidArgument with the nearest name

} // namespace waste::cli
