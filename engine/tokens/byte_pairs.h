#pragma once

#include "tokens/vocabulary.h"
#include "waste/types.h"

#include <string_view>
#include <vector>

namespace waste {

// Appends the tokens of one piece: the piece itself if it is a token, else its bytes after merging the
// adjacent pair of lowest rank, leftmost first, until no pair is a token (spec: tokenizer 6).
// O(n log n). Every single byte must be a token.
void appendPieceTokens(const Vocabulary& vocabulary, std::string_view piece, std::vector<TokenId>& ids);

} // namespace waste
