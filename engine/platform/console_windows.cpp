#ifdef _WIN32

#include "platform/windows_api.h"
#include "waste/console.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <io.h>
#include <string>
#include <string_view>

// after windows.h
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

std::string toUtf8(std::wstring_view text)
{
    const auto units = static_cast<int>(text.size());
    const int bytes = WideCharToMultiByte(CP_UTF8, 0, text.data(), units, nullptr, 0, nullptr, nullptr);
    std::string utf8(static_cast<std::size_t>(bytes), '\0');
    WideCharToMultiByte(CP_UTF8, 0, text.data(), units, utf8.data(), bytes, nullptr, nullptr);
    return utf8;
}

Error interrupted()
{
    return {ErrorCode::Cancelled, "", "interrupted"};
}

Error inputError(DWORD error)
{
    return {ErrorCode::Io, "", "standard input: system error " + std::to_string(error)};
}

// What somebody types: as bytes a console gives other characters than ASCII on the newest systems alone.
Result<std::size_t> readTypedLine(std::span<char> target)
{
    constexpr std::size_t kUtf8BytesMax = 3; // of one unit of UTF-16; two units make four
    constexpr wchar_t kEnd = 0x1A; // Ctrl-Z, at the beginning of a line
    std::wstring line(target.size() / kUtf8BytesMax, L'\0');
    DWORD count = 0;
    SetLastError(ERROR_SUCCESS);
    if (!ReadConsoleW(handle(ConsoleStream::Input), line.data(), static_cast<DWORD>(line.size() - 1), &count, nullptr))
        return inputError(GetLastError());
    // Ctrl-C ends the waiting as a successful read of nothing, before its handler has run or after.
    if (count == 0 && GetLastError() == ERROR_OPERATION_ABORTED)
        return interrupted();
    DWORD more = 0;
    if (count > 0 && IS_HIGH_SURROGATE(line[count - 1]))
        ReadConsoleW(handle(ConsoleStream::Input), &line[count], 1, &more, nullptr);
    line.resize(count + more);
    if (line.starts_with(kEnd))
        return std::size_t{0};
    const std::string utf8 = toUtf8(line);
    std::copy(utf8.begin(), utf8.end(), target.begin());
    return utf8.size();
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
    if (isTerminal(ConsoleStream::Input))
        return readTypedLine(target);
    DWORD count = 0;
    const auto wanted = static_cast<DWORD>(target.size());
    if (ReadFile(handle(ConsoleStream::Input), target.data(), wanted, &count, nullptr))
        return std::size_t{count};
    switch (const DWORD error = GetLastError(); error) {
    case ERROR_OPERATION_ABORTED:
        return interrupted();
    case ERROR_BROKEN_PIPE: // how a pipe ends
        return std::size_t{0};
    default:
        return inputError(error);
    }
}

} // namespace waste

#endif
