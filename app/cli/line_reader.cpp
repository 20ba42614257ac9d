#include "cli/line_reader.h"

#include "waste/console.h"

#include <array>
#include <utility>

namespace waste::cli {

namespace {

constexpr std::size_t kLineBytesMax = std::size_t{64} << 20;

std::string withoutCarriageReturn(std::string line)
{
    if (!line.empty() && line.back() == '\r')
        line.pop_back();
    return line;
}

} // namespace

Result<std::optional<std::string>> LineReader::next()
{
    while (true) {
        if (const auto end = m_buffer.find('\n', m_searched); end != std::string::npos) {
            std::string line = m_buffer.substr(0, end);
            m_buffer.erase(0, end + 1);
            m_searched = 0;
            return std::optional(withoutCarriageReturn(std::move(line)));
        }
        m_searched = m_buffer.size();
        if (m_ended) {
            if (m_buffer.empty())
                return std::optional<std::string>();
            m_searched = 0;
            return std::optional(withoutCarriageReturn(std::exchange(m_buffer, {})));
        }
        if (m_buffer.size() > kLineBytesMax)
            return Error{ErrorCode::InvalidArgument, "", "a line of the input is longer than 64 MiB"};
        std::array<char, 65536> bytes{};
        auto count = readStandardInput(bytes);
        if (!count) {
            m_buffer.clear();
            m_searched = 0;
            return count.error();
        }
        m_ended = *count == 0;
        m_buffer.append(bytes.data(), *count);
    }
}

} // namespace waste::cli
