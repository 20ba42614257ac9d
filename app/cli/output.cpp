#include "cli/output.h"

#include "host/error_table.h"

#include "waste/console.h"

#include <nlohmann/json.hpp>

#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace waste::cli {

namespace {

constexpr std::string_view kDim = "\x1b[2m";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::string_view kClearLine = "\r\x1b[K";

std::string_view environment(const char* name)
{
    const char* value = std::getenv(name);
    return value ? value : "";
}

bool coloursAreWanted()
{
    return environment("NO_COLOR").empty() && environment("TERM") != "dumb";
}

} // namespace

Output::Output(CancelFlag& cancel)
    : m_cancel(cancel)
    , m_errorsOnTerminal(isTerminal(ConsoleStream::Error))
    , m_colours(m_errorsOnTerminal && coloursAreWanted())
{
}

void Output::text(std::string_view text)
{
    assert(!m_json);
    write(text);
}

void Output::json(const nlohmann::ordered_json& value)
{
    assert(m_json);
    write(value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void Output::jsonText(std::string_view json)
{
    write(std::string(json) + "\n");
}

void Output::printHelp(const std::string& help)
{
    if (m_json)
        json({{"help", help}});
    else
        text(help);
}

void Output::write(std::string_view bytes)
{
    if (m_readerGone || m_failure || bytes.empty())
        return;
    errno = 0;
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() && std::fflush(stdout) == 0)
        return;
    if (errno == EPIPE)
        m_readerGone = true;
    else
        m_failure = Error{errno == ENOSPC ? ErrorCode::NoSpace : ErrorCode::Io, "",
            std::string("standard output: ") + std::strerror(errno)};
    m_cancel.cancel();
}

void Output::writeError(std::string_view text)
{
    endProgress();
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

void Output::note(std::string_view line)
{
    if (m_volume != Volume::Quiet)
        writeError("waste: " + std::string(line) + "\n");
}

void Output::detail(std::string_view line)
{
    if (m_volume == Volume::Detailed)
        writeError("waste: " + std::string(line) + "\n");
}

void Output::warning(std::string_view line)
{
    note("warning: " + std::string(line));
}

void Output::plain(std::string_view text)
{
    if (m_volume != Volume::Quiet)
        writeError(text);
}

void Output::error(const Error& error)
{
    endAside();
    writeError("waste: " + error.message + "\n");
    if (m_json)
        json(host::errorEvent(error));
}

void Output::aside(std::string_view text)
{
    if (m_volume == Volume::Quiet || text.empty())
        return;
    endProgress();
    if (!m_asideOpen && m_colours)
        writeError(kDim);
    m_asideOpen = true;
    writeError(text);
}

void Output::endAside()
{
    if (m_asideOpen)
        writeError(m_colours ? std::string(kPlain) + "\n" : "\n");
    m_asideOpen = false;
}

void Output::progress(std::string_view line)
{
    if (m_volume == Volume::Quiet || !m_errorsOnTerminal || !coloursAreWanted())
        return;
    const std::string text = std::string(kClearLine) + std::string(line);
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
    m_progressShown = true;
}

void Output::endProgress()
{
    if (m_progressShown)
        std::fwrite(kClearLine.data(), 1, kClearLine.size(), stderr);
    m_progressShown = false;
}

} // namespace waste::cli
