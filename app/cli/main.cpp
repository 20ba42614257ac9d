#include "cli/program.h"

#include "waste/console.h"

int main(int argc, char** argv)
{
    static waste::CancelFlag cancel; // the signal handler uses it to the very end
    waste::prepareConsole();
    waste::cancelOnInterrupt(cancel);
    waste::cli::Output output(cancel);
    waste::cli::CommandContext context{output, cancel};
    return waste::cli::runProgram(waste::consoleArguments(argc, argv), context);
}
