#ifndef _WIN32

#include "waste/console.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace waste {

namespace {

constexpr int kExitInterrupted = 130;

// The two things that a signal handler needs. Written once by cancelOnInterrupt().
std::atomic<CancelFlag*> interruptFlag = nullptr;
std::array<int, 2> interruptPipe = {-1, -1};

// A byte in the pipe wakes poll() whichever thread the signal was delivered to.
void onInterrupt(int)
{
    const int savedErrno = errno;
    CancelFlag* flag = interruptFlag.load(std::memory_order_relaxed);
    if (flag->isCancelled())
        _exit(kExitInterrupted);
    flag->cancel();
    [[maybe_unused]] const auto written = write(interruptPipe[1], "", 1);
    errno = savedErrno;
}

void drainInterruptPipe()
{
    std::array<char, 16> bytes{};
    while (read(interruptPipe[0], bytes.data(), bytes.size()) > 0) { }
}

int descriptor(ConsoleStream stream)
{
    switch (stream) {
    case ConsoleStream::Input:
        return STDIN_FILENO;
    case ConsoleStream::Output:
        return STDOUT_FILENO;
    case ConsoleStream::Error:
        break;
    }
    return STDERR_FILENO;
}

} // namespace

void prepareConsole()
{
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN); // a file over the limit is a failed write too
    // A stream that the caller closed must not become the next file that is opened. Input is empty then;
    // a write to the others fails, as it would without this.
    while (true) {
        const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (opened < 0)
            return;
        if (opened > STDERR_FILENO) {
            close(opened);
            return;
        }
    }
}

std::vector<std::string> consoleArguments(int argc, char** argv)
{
    return argc > 1 ? std::vector<std::string>(argv + 1, argv + argc) : std::vector<std::string>();
}

bool isTerminal(ConsoleStream stream)
{
    return isatty(descriptor(stream)) == 1;
}

void cancelOnInterrupt(CancelFlag& flag)
{
    if (interruptPipe[0] < 0 && pipe(interruptPipe.data()) == 0) {
        for (const int end : interruptPipe) {
            fcntl(end, F_SETFL, O_NONBLOCK);
            fcntl(end, F_SETFD, FD_CLOEXEC);
        }
    }
    interruptFlag.store(&flag, std::memory_order_relaxed);

    // Reads and writes go on after the handler: only the flag says that something was asked for.
    struct sigaction action = {};
    action.sa_handler = onInterrupt;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    // A terminal that is closed, unless the caller wants that ignored (nohup).
    struct sigaction before = {};
    if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, nullptr);
}

Result<std::size_t> readStandardInput(std::span<char> target)
{
    const CancelFlag* flag = interruptFlag.load(std::memory_order_relaxed);
    if (flag && !flag->isCancelled())
        drainInterruptPipe(); // of an interrupt that was answered long ago
    while (true) {
        std::array<pollfd, 2> sources = {pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{interruptPipe[0], POLLIN, 0}};
        if (poll(sources.data(), sources.size(), -1) < 0 && errno != EINTR)
            return Error{ErrorCode::Io, "", std::string("standard input: ") + std::strerror(errno)};
        if ((sources[1].revents & POLLIN) != 0) {
            drainInterruptPipe();
            return Error{ErrorCode::Cancelled, "", "interrupted"};
        }
        if (sources[0].revents == 0)
            continue;
        const auto count = read(STDIN_FILENO, target.data(), target.size());
        if (count >= 0)
            return static_cast<std::size_t>(count);
        if (errno != EINTR)
            return Error{ErrorCode::Io, "", std::string("standard input: ") + std::strerror(errno)};
    }
}

} // namespace waste

#endif
