#ifdef _WIN32

#include "waste/console.h"

#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <io.h>

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include <shellapi.h>

namespace waste {

namespace {

constexpr UINT kExitInterrupted = 130;

// What the handler needs, which Windows calls on a thread of its own. Written once.
std::atomic<CancelFlag*> interruptFlag = nullptr;

BOOL WINAPI onInterrupt(DWORD)
{
    CancelFlag* flag = interruptFlag.load(std::memory_order_relaxed);
    if (flag->isCancelled())
        ExitProcess(kExitInterrupted);
    flag->cancel();
    return TRUE;
}

HANDLE handle(ConsoleStream stream)
{
    switch (stream) {
    case ConsoleStream::Input:
        return GetStdHandle(STD_INPUT_HANDLE);
    case ConsoleStream::Output:
        return GetStdHandle(STD_OUTPUT_HANDLE);
    case ConsoleStream::Error:
        break;
    }
    return GetStdHandle(STD_ERROR_HANDLE);
}

std::string toUtf8(const wchar_t* text)
{
    const int bytes = WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);
    if (bytes <= 1)
        return {};
    std::string utf8(static_cast<std::size_t>(bytes) - 1, '\0');
    WideCharToMultiByte(CP_UTF8, 0, text, -1, utf8.data(), bytes, nullptr, nullptr);
    return utf8;
}

} // namespace

void prepareConsole()
{
    SetConsoleOutputCP(CP_UTF8);
    SetConsoleCP(CP_UTF8);
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);

    // Colours on stderr are escape sequences, which a console interprets only if asked to.
    DWORD mode = 0;
    if (GetConsoleMode(handle(ConsoleStream::Error), &mode))
        SetConsoleMode(handle(ConsoleStream::Error), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

std::vector<std::string> consoleArguments(int, char**)
{
    std::vector<std::string> arguments;
    int count = 0;
    if (wchar_t** wide = CommandLineToArgvW(GetCommandLineW(), &count)) {
        for (int i = 1; i < count; ++i)
            arguments.push_back(toUtf8(wide[i]));
        LocalFree(wide);
    }
    return arguments;
}

bool isTerminal(ConsoleStream stream)
{
    DWORD mode = 0;
    return GetConsoleMode(handle(stream), &mode) != 0;
}

void cancelOnInterrupt(CancelFlag& flag)
{
    interruptFlag.store(&flag, std::memory_order_relaxed);
    SetConsoleCtrlHandler(onInterrupt, TRUE);
}

Result<std::size_t> readStandardInput(std::span<char> target)
{
    DWORD count = 0;
    const auto wanted = static_cast<DWORD>(target.size());
    if (ReadFile(handle(ConsoleStream::Input), target.data(), wanted, &count, nullptr)) {
        // Ctrl-C ends a waiting console read as a successful one of no bytes.
        const CancelFlag* flag = interruptFlag.load(std::memory_order_relaxed);
        if (count == 0 && flag && flag->isCancelled())
            return Error{ErrorCode::Cancelled, "", "interrupted"};
        return std::size_t{count};
    }
    switch (const DWORD error = GetLastError(); error) {
    case ERROR_OPERATION_ABORTED:
        return Error{ErrorCode::Cancelled, "", "interrupted"};
    case ERROR_BROKEN_PIPE: // how a pipe ends
        return std::size_t{0};
    default:
        return Error{ErrorCode::Io, "", "standard input: system error " + std::to_string(error)};
    }
}

} // namespace waste

#endif
