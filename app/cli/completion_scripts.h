#pragma once

#include "cli/program.h"

#include <span>
#include <string>

namespace waste::cli {

// Scripts that complete commands, options and file names of `waste` in a shell.
std::string bashCompletion(std::span<const DescribedCommand> commands);
std::string zshCompletion(std::span<const DescribedCommand> commands);
std::string fishCompletion(std::span<const DescribedCommand> commands);

} // namespace waste::cli
