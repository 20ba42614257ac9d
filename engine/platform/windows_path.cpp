#if defined(_WIN32)

#include "platform/windows_path.h"

namespace waste {

std::wstring systemPath(const std::filesystem::path& path)
{
    constexpr std::size_t kPlainCharactersMax = 240; // some room is left for the names that the system makes of one
    std::error_code error;
    const std::wstring whole = std::filesystem::absolute(path, error).make_preferred().native();
    if (error || whole.size() <= kPlainCharactersMax || whole.starts_with(LR"(\\?\)"))
        return path.native();
    return whole.starts_with(LR"(\\)") ? LR"(\\?\UNC)" + whole.substr(1) : LR"(\\?\)" + whole;
}

} // namespace waste

#endif
