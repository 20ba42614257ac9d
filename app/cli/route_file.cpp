#include "cli/route_file.h"

#include "waste/files.h"

namespace waste::cli {

Status RouteFile::tryWriting(const std::filesystem::path& file)
{
    std::error_code ignored;
    const auto there = std::filesystem::status(file, ignored);
    std::filesystem::path trial = file; // refused by its own name where something else than a file has it
    if (!std::filesystem::exists(there) || std::filesystem::is_regular_file(there))
        trial += ".trial";
    WASTE_TRY_STATUS(replaceFile(trial, "{}\n"));
    std::filesystem::remove(trial, ignored);
    return {};
}

void RouteFile::add(const LayerTrace& trace)
{
    if (trace.position != m_position)
        endToken();
    m_position = trace.position;
    if (trace.experts.empty())
        return;
    m_layers += m_layers.empty() ? "[" : ",[";
    for (std::size_t i = 0; i < trace.experts.size(); ++i)
        m_layers += (i > 0 ? "," : "") + std::to_string(trace.experts[i]);
    m_layers += ']';
}

Status RouteFile::write(const std::filesystem::path& file)
{
    endToken();
    return replaceFile(file, m_lines);
}

void RouteFile::endToken()
{
    if (m_layers.empty())
        return;
    m_lines += "{\"tok\":" + std::to_string(m_tokenCount++) + ",\"layers\":[" + m_layers + "]}\n";
    m_layers.clear();
}

} // namespace waste::cli
