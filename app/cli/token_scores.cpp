#include "cli/token_scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace waste::cli {

namespace {

double logSumOfExponentials(std::span<const float> logits)
{
    const double maximum = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits)
        sum += std::exp(double{logit} - maximum);
    return maximum + std::log(sum);
}

} // namespace

Status checkLogits(std::span<const float> logits)
{
    const bool areNumbers = std::ranges::none_of(logits, [](float logit) { return std::isnan(logit); });
    if (areNumbers && !logits.empty() && std::isfinite(std::ranges::max(logits)))
        return {};
    return Error{
        ErrorCode::Corrupt, "bad_logits", "the model's output is no distribution; the model is damaged: verify it"};
}

std::vector<TokenScore> bestTokens(std::span<const float> logits, std::size_t count)
{
    std::vector<TokenId> ids(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto logit = [&](TokenId id) { return logits[static_cast<std::size_t>(id)]; };
    const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(count, ids.size()));
    std::partial_sort(ids.begin(), end, ids.end(),
        [&](TokenId a, TokenId b) { return logit(a) > logit(b) || (logit(a) == logit(b) && a < b); });

    const double total = logits.empty() ? 0 : logSumOfExponentials(logits);
    std::vector<TokenScore> best;
    for (auto id = ids.begin(); id != end; ++id)
        best.push_back({*id, logit(*id), logit(*id) - total});
    return best;
}

double logProbability(std::span<const float> logits, TokenId id)
{
    return double{logits[static_cast<std::size_t>(id)]} - logSumOfExponentials(logits);
}

TokenId mostProbable(std::span<const float> logits)
{
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double nineDigits(double value)
{
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.9g", value);
    return std::strtod(text.data(), nullptr);
}

} // namespace waste::cli
