#include "host/error_table.h"

#include <nlohmann/json.hpp>

#include <array>
#include <utility>

namespace waste::host {

const ErrorKind& errorKind(ErrorCode code)
{
    // In the order of ErrorCode, so that a new code without a row does not compile.
    static constexpr std::array kinds = {
        ErrorKind{1, "failed", "io"}, // Io
        ErrorKind{1, "failed", "out_of_memory"}, // OutOfMemory
        ErrorKind{1, "failed", "busy"}, // Busy
        ErrorKind{1, "failed", "internal"}, // Internal
        ErrorKind{2, "usage", ""}, // InvalidArgument
        ErrorKind{3, "ram_budget", ""}, // RamBudget
        ErrorKind{4, "damaged", ""}, // Corrupt
        ErrorKind{5, "unsupported", ""}, // Unsupported
        ErrorKind{6, "not_found", ""}, // NotFound
        ErrorKind{7, "no_space", ""}, // NoSpace
        ErrorKind{8, "network", ""}, // Network
        ErrorKind{130, "cancelled", ""}, // Cancelled
    };
    static_assert(kinds.size() == static_cast<std::size_t>(ErrorCode::Cancelled) + 1);
    return kinds[static_cast<std::size_t>(code)];
}

nlohmann::ordered_json errorEvent(const Error& error)
{
    const ErrorKind& kind = errorKind(error.code);
    nlohmann::ordered_json event = {{"event", "error"}, {"code", kind.jsonCode}};
    const std::string_view reason = error.reason.empty() ? kind.reason : std::string_view(error.reason);
    if (!reason.empty())
        event["reason"] = reason;
    event["message"] = error.message;
    event["exit"] = kind.exitCode;
    return event;
}

} // namespace waste::host
