#include "convert/kept_header.h"

#include <charconv>
#include <system_error>

namespace waste {

std::string keptHeaderText(const CheckpointFiles::ShardHeader& header)
{
    return std::to_string(header.fileBytes) + '\n' + header.json;
}

std::optional<CheckpointFiles::ShardHeader> parseKeptHeader(std::string_view text)
{
    CheckpointFiles::ShardHeader header;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), header.fileBytes);
    if (error != std::errc() || end == text.data() + text.size() || *end != '\n')
        return std::nullopt;
    header.json = text.substr(static_cast<std::size_t>(end - text.data()) + 1);
    return header;
}

} // namespace waste
