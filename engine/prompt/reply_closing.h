#pragma once

#include "waste/chat_format.h"
#include "waste/result.h"

#include <optional>
#include <span>
#include <vector>

namespace waste {

// The ids that `sampled` lacks to be all of `expected`, the segments behind a generation prompt. None: it
// is not a beginning of them. Compares control tokens and texts, not ids: a model may spell the same text
// with other tokens than the encoder.
Result<std::optional<std::vector<TokenId>>> missingIds(
    const Tokenizer& tokenizer, std::span<const TokenId> sampled, std::span<const Segment> expected);

} // namespace waste
