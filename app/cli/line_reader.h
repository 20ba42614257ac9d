#pragma once

#include "waste/result.h"

#include <cstddef>
#include <optional>
#include <string>

namespace waste::cli {

// Lines of standard input, without their ends.
class LineReader {
public:
    // Nothing at the end of the input. Errors: Cancelled (Ctrl-C while waiting; what was typed of the line is
    // dropped, as the terminal drops it), Io, InvalidArgument for a line over the limit.
    Result<std::optional<std::string>> next();

private:
    std::string m_buffer; // read and not handed out
    std::size_t m_searched = 0; // of it, without a line end
    bool m_ended = false;
};

} // namespace waste::cli
