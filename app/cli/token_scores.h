#pragma once

#include "waste/result.h"
#include "waste/types.h"

#include <cstddef>
#include <span>
#include <vector>

namespace waste::cli {

// Scores need logits that are numbers, at least one of them finite. Error: Corrupt, as where a token is drawn.
Status checkLogits(std::span<const float> logits);

// One row of a next-token distribution: softmax over the whole vocabulary, in f64.
struct TokenScore {
    TokenId id = 0;
    double logit = 0;
    double logProbability = 0;
};

// The `count` most probable tokens, best first, ties to the smallest id; all of them if there are fewer.
std::vector<TokenScore> bestTokens(std::span<const float> logits, std::size_t count);

double logProbability(std::span<const float> logits, TokenId id);
TokenId mostProbable(std::span<const float> logits); // ties to the smallest id

// As JSON should show a measured figure: nine significant digits, which tell every f32 from its neighbours.
double nineDigits(double value);

} // namespace waste::cli
