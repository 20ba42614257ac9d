#pragma once

#include "waste/result.h"
#include "waste/types.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace waste {

// The terminal and the signals of a command-line program, so that its front end needs no code of the
// operating system. Everything here is called on the main thread.

enum class ConsoleStream : std::uint8_t { Input, Output, Error };

// Call first in main(): text goes out byte for byte (on Windows as UTF-8). A reader of standard output that
// goes away and a file that passes the limit on files become failed writes in place of signals that kill;
// streams that the caller closed stay unused.
void prepareConsole();

// The arguments without the program's name, in UTF-8; on Windows from the wide command line.
std::vector<std::string> consoleArguments(int argc, char** argv);

bool isTerminal(ConsoleStream stream);

// From now on the first interrupt (Ctrl-C, or a request to terminate) cancels `flag`; one that finds it
// cancelled already ends the process with exit code 130. `flag` must live as long as the process.
void cancelOnInterrupt(CancelFlag& flag);

// Reads what standard input has, waiting for the first byte; 0 at its end. Errors: Io, and Cancelled when
// an interrupt came while it waited.
Result<std::size_t> readStandardInput(std::span<char> target);

} // namespace waste
