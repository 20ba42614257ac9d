#include "support/conversion_folder.h"

namespace waste::test {

// Without links, as errors name it.
std::filesystem::path ConversionFolder::place(const std::string& name) const
{
    return std::filesystem::canonical(m_folder.path().toStdString()) / name;
}

ConvertOptions conversionOf(const std::filesystem::path& source, const std::filesystem::path& target)
{
    ConvertOptions options;
    options.source = source;
    options.target = target;
    options.threadCount = 1;
    options.created = "2026-01-31T12:00:00Z";
    return options;
}

} // namespace waste::test
