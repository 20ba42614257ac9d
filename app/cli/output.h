#pragma once

#include "waste/result.h"
#include "waste/types.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace waste::cli {

enum class Volume : std::uint8_t { Quiet, Normal, Detailed };

// The only way to the two output streams. Results go to standard output and are flushed at once, since
// somebody may be reading along; everything else goes to standard error (spec: cli B.2). Text must be
// well-formed UTF-8 when it comes; JSON replaces what is not.
//
// Where the reader of standard output has gone away (`| head -1`), or it cannot be written, `cancel` is set,
// so that long work ends.
class Output {
public:
    explicit Output(CancelFlag& cancel);

    void setJson(bool json) { m_json = json; }
    void setVolume(Volume volume) { m_volume = volume; }
    [[nodiscard]] bool isJson() const { return m_json; }

    void text(std::string_view text); // not in JSON mode
    void json(const nlohmann::ordered_json& value); // one line; only in JSON mode
    void jsonText(std::string_view json); // one JSON value that is text already, in either mode
    void printHelp(const std::string& help); // in either mode

    // On standard error: what is nice to know, only with -v, and what the user should know. All silent with -q.
    void note(std::string_view line);
    void detail(std::string_view line);
    void warning(std::string_view line);
    void plain(std::string_view text); // without "waste: " and line feed
    // Both ways an error is told: a line on standard error, and with JSON the last line of standard output.
    void error(const Error& error);

    // Text that is not part of the result, such as reasoning, on standard error; dim where colours are wanted.
    void aside(std::string_view text);
    void endAside();

    // A line on a terminal that the next one replaces; nothing anywhere else.
    void progress(std::string_view line);
    void endProgress();

    [[nodiscard]] bool errorsAreOnTerminal() const { return m_errorsOnTerminal; }
    [[nodiscard]] bool readerIsGone() const { return m_readerGone; }
    [[nodiscard]] const std::optional<Error>& failure() const { return m_failure; } // of standard output

private:
    void write(std::string_view bytes);
    void writeError(std::string_view text);

    CancelFlag& m_cancel;
    const bool m_errorsOnTerminal;
    const bool m_colours;
    bool m_json = false;
    Volume m_volume = Volume::Normal;
    bool m_asideOpen = false;
    bool m_progressShown = false;
    bool m_readerGone = false;
    std::optional<Error> m_failure;
};

} // namespace waste::cli
