#pragma once

#include "waste/result.h"

#include <string>
#include <string_view>

namespace waste::host {

inline constexpr std::size_t kPictureBytesMax = std::size_t{20} << 20; // spec: server 3.5

// The bytes in "data:[mime];base64,…"; the type is not looked at, because the content tells it. Errors:
// InvalidArgument (no such URL, not base64, more than kPictureBytesMax).
Result<std::string> decodeDataUrl(std::string_view url);
// Standard alphabet, with or without "=" at the end; no blanks but line ends.
Result<std::string> decodeBase64(std::string_view text);

} // namespace waste::host
