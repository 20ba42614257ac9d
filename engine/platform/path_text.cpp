#include "platform/path_text.h"

namespace waste {

std::string textFromPath(const std::filesystem::path& path)
{
    const std::u8string text = path.u8string();
    return {reinterpret_cast<const char*>(text.data()), text.size()};
}

std::filesystem::path pathFromText(std::string_view utf8)
{
    return std::u8string(reinterpret_cast<const char8_t*>(utf8.data()), utf8.size());
}

} // namespace waste
