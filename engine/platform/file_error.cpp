#include "platform/file_error.h"

#include "platform/path_text.h"

#include <cerrno>
#include <string>

namespace waste {

Error fileError(std::string_view action, const std::filesystem::path& path, std::error_code cause,
    std::optional<std::uint64_t> offsetBytes)
{
    Error error;
    error.code = ErrorCode::Io;
    error.reason = "io";
    if (cause == std::errc::no_such_file_or_directory || cause == std::errc::not_a_directory) {
        error.code = ErrorCode::NotFound;
        error.reason = "not_found";
    }
#if defined(EDQUOT)
    const bool overQuota = cause == std::error_code(EDQUOT, std::system_category());
#else
    const bool overQuota = false;
#endif
    if (cause == std::errc::no_space_on_device || overQuota) {
        error.code = ErrorCode::NoSpace;
        error.reason = "no_space";
    }
    error.message = "cannot " + std::string(action) + " " + textFromPath(path);
    if (offsetBytes)
        error.message += " at offset " + std::to_string(*offsetBytes);
    error.message += ": " + cause.message();
    return error;
}

} // namespace waste
