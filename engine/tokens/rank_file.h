#pragma once

#include "tokens/vocabulary.h"
#include "waste/result.h"

#include <cstdint>
#include <string_view>

namespace waste {

inline constexpr std::uint64_t kRankFileBytesMax = std::uint64_t{64} << 20;

// The text of a rank file, one "BASE64 RANK" a line, read strictly: a damaged vocabulary would not crash
// anything but feed the model prompts it never saw (spec: tokenizer 2). Error: Corrupt naming `file` and
// the line.
Result<Vocabulary> parseRankFile(std::string_view content, std::string_view file);

} // namespace waste
