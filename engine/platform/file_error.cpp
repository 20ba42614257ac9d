#include "platform/file_error.h"

#include "platform/path_text.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>

namespace waste {
namespace {

struct Kind {
    std::errc cause{};
    ErrorCode code = ErrorCode::Io;
    const char* reason = "io";
    const char* remedy = "";
};

constexpr Kind kUsual{};
constexpr Kind kNoSpace{
    std::errc::no_space_on_device, ErrorCode::NoSpace, "no_space", "free some space there, or choose another drive"};
constexpr const char* kPermit = "its owner can permit it, or choose another place";
constexpr const char* kConnect = "connect the drive again";
constexpr Kind kKinds[] = {
    {std::errc::no_such_file_or_directory, ErrorCode::NotFound, "not_found", ""},
    {std::errc::not_a_directory, ErrorCode::NotFound, "not_found", ""},
    kNoSpace,
    {.cause = std::errc::io_error,
        .remedy = "the drive or its connection may be failing; copy what matters to another drive"},
    {.cause = std::errc::too_many_files_open, .remedy = "raise the limit on open files (`ulimit -n`)"},
    {.cause = std::errc::too_many_files_open_in_system, .remedy = "close other programs"},
    {.cause = std::errc::file_too_large,
        .remedy = "raise the limit on the size of files (`ulimit -f`), or choose a drive that takes larger files"},
    {.cause = std::errc::permission_denied, .remedy = kPermit},
    {.cause = std::errc::operation_not_permitted, .remedy = kPermit},
    {.cause = std::errc::read_only_file_system, .remedy = "choose another place, or make the drive writable"},
    {.cause = std::errc::no_such_device, .remedy = kConnect},
    {.cause = std::errc::no_such_device_or_address, .remedy = kConnect},
};

const Kind& kindOf(std::error_code cause)
{
#if defined(EDQUOT)
    if (cause == std::error_code(EDQUOT, std::system_category()))
        return kNoSpace;
#endif
    const auto known = std::ranges::find_if(kKinds, [cause](const Kind& kind) { return cause == kind.cause; });
    return known != std::end(kKinds) ? *known : kUsual;
}

} // namespace

Error fileError(std::string_view action, const std::filesystem::path& path, std::error_code cause,
    std::optional<std::uint64_t> offsetBytes)
{
    const Kind& kind = kindOf(cause);
    Error error{kind.code, kind.reason, "cannot " + std::string(action) + " " + textFromPath(path)};
    if (offsetBytes)
        error.message += " at offset " + std::to_string(*offsetBytes);
    error.message += ": " + cause.message();
    if (*kind.remedy != '\0')
        error.message += "; " + std::string(kind.remedy);
    return error;
}

} // namespace waste
