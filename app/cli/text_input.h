#pragma once

#include "cli/output.h"

#include "waste/result.h"
#include "waste/types.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waste::cli {

// The largest text that the tokenizer takes in one call.
inline constexpr std::uint64_t kTextBytesMax = std::uint64_t{64} << 20;

// A file, or standard input for "-", byte for byte. Errors: NotFound, Io, Cancelled, InvalidArgument (larger).
Result<std::string> readInput(const std::string& file, std::uint64_t bytesMax = kTextBytesMax);

// Where a text comes from (spec: cli A.1): the argument, else --file, else standard input; "-" is standard
// input too. Files and standard input lose their trailing line ends, an argument is taken as it is. What is
// not well-formed UTF-8 becomes U+FFFD, with a warning. Error: InvalidArgument where there is no source, or two.
struct TextSource {
    std::optional<std::string> argument;
    std::optional<std::string> file;
};
Result<std::string> readText(const TextSource& source, std::string_view what, Output& output);

// Token ids in decimal with blanks, tabs, commas or line ends between them. Error: InvalidArgument for
// anything else in it.
Result<std::vector<TokenId>> parseIdList(std::string_view text);
// The same from "@FILE" or from the text itself.
Result<std::vector<TokenId>> readIdList(const std::string& listOrFile);

} // namespace waste::cli
