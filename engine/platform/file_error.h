#pragma once

#include "waste/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

namespace waste {

// "cannot <action> <path> at offset <n>: <the system's words>; <what to do>". No such file is NotFound, a full disk
// or quota NoSpace, the rest Io.
Error fileError(std::string_view action, const std::filesystem::path& path, std::error_code cause,
    std::optional<std::uint64_t> offsetBytes = std::nullopt);

} // namespace waste
