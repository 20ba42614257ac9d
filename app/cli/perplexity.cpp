#include "cli/perplexity.h"

#include "cli/token_scores.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace waste::cli {

namespace {

using nlohmann::json;

Error wrong(std::string message)
{
    return {ErrorCode::InvalidArgument, "", std::move(message)};
}

Result<std::vector<TokenId>> idsOf(const json& item, const char* key, const std::string& place)
{
    const auto found = item.find(key);
    if (found == item.end() || !found->is_array() || found->empty())
        return wrong(place + ": " + key + " is not a list of token ids");
    std::vector<TokenId> ids;
    for (const json& id : *found) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() > std::numeric_limits<TokenId>::max())
            return wrong(place + ": " + key + " holds " + id.dump() + ", which is not a token id");
        ids.push_back(id.get<TokenId>());
    }
    return ids;
}

Result<AnsweredPrompt> answeredPrompt(const json& item, const std::string& place)
{
    if (!item.is_object())
        return wrong(place + " is not a JSON object");
    AnsweredPrompt prompt;
    WASTE_TRY(prompt.promptIds, idsOf(item, "prompt_ids", place));
    WASTE_TRY(prompt.answerIds, idsOf(item, "answer_ids", place));
    return prompt;
}

Result<std::vector<AnsweredPrompt>> parseLines(std::string_view text)
{
    std::vector<AnsweredPrompt> prompts;
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        begin = end + 1;
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string_view::npos)
            continue;
        const json item = json::parse(line, nullptr, false);
        WASTE_TRY(auto prompt, answeredPrompt(item, "line " + std::to_string(number)));
        prompts.push_back(std::move(prompt));
    }
    return prompts;
}

Status checkIds(std::span<const TokenId> ids, std::size_t vocabulary)
{
    for (const TokenId id : ids) {
        if (id < 0 || static_cast<std::size_t>(id) >= vocabulary)
            return wrong(
                "token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(vocabulary));
    }
    return {};
}

// Runs ids[0 … n−2] from position 0 and calls score(i, logits) with what predicts ids[i], for firstScored ≤ i < n.
template<typename Score>
Status scoreRun(const PerplexityRun& run, std::span<const TokenId> ids, std::size_t firstScored, const Score& score)
{
    WASTE_TRY_STATUS(checkIds(ids, run.vocabularySize));
    run.session.reset();
    AppendOptions options;
    options.cancel = &run.cancel;
    Status usable;
    options.logitsSink = [&](std::uint64_t position, std::span<const float> logits) {
        if (position + 1 < firstScored || !usable)
            return;
        usable = checkLogits(logits);
        if (usable)
            score(static_cast<std::size_t>(position) + 1, logits);
    };
    WASTE_TRY_STATUS(run.session.append(ids.first(ids.size() - 1), options));
    return usable;
}

void showProgress(const PerplexityRun& run, std::size_t done, std::size_t total, const char* what)
{
    run.output.progress(std::to_string(done) + " of " + std::to_string(total) + " " + what);
}

} // namespace

Result<std::optional<std::vector<AnsweredPrompt>>> parseAnsweredPrompts(const std::string& text)
{
    const json first = json::parse(std::string_view(text).substr(0, text.find('\n')), nullptr, false);
    if (first.is_object() && first.contains("prompt_ids")) {
        WASTE_TRY(auto prompts, parseLines(text));
        return std::optional(std::move(prompts));
    }
    const json whole = text.starts_with('{') ? json::parse(text, nullptr, false) : json();
    if (!whole.is_object() || !whole.contains("items") || !whole["items"].is_array())
        return std::optional<std::vector<AnsweredPrompt>>();
    std::vector<AnsweredPrompt> prompts;
    for (const json& item : whole["items"]) {
        WASTE_TRY(auto prompt, answeredPrompt(item, "items[" + std::to_string(prompts.size()) + "]"));
        prompts.push_back(std::move(prompt));
    }
    return std::optional(std::move(prompts));
}

double Perplexity::value() const
{
    return std::exp(nll / static_cast<double>(tokens));
}

Result<Perplexity> scoreText(const PerplexityRun& run, const std::vector<TokenId>& ids, std::uint32_t strideTokens)
{
    const std::size_t context = run.session.contextTokens();
    const std::size_t stride = strideTokens > 0 ? strideTokens : context;
    if (stride > context)
        return wrong("--stride " + std::to_string(stride) + " is longer than the context of " + std::to_string(context)
            + " tokens: it would leave tokens out");
    Perplexity result;
    std::size_t scoredEnd = 0;
    for (std::size_t begin = 0; begin + 1 < ids.size() && scoredEnd < ids.size(); begin += stride) {
        const std::size_t end = std::min(begin + context, ids.size());
        const std::span window = std::span(ids).subspan(begin, end - begin);
        const std::size_t first = std::max(scoredEnd, begin + 1) - begin;
        if (first < window.size()) {
            WASTE_TRY_STATUS(scoreRun(run, window, first, [&](std::size_t index, std::span<const float> logits) {
                result.nll -= logProbability(logits, window[index]);
                ++result.tokens;
            }));
        }
        scoredEnd = end;
        showProgress(run, end, ids.size(), "tokens");
    }
    if (result.tokens == 0)
        return wrong("there is nothing to score: the text has " + std::to_string(ids.size()) + " tokens");
    return result;
}

Result<Perplexity> scoreAnswers(const PerplexityRun& run, const std::vector<AnsweredPrompt>& prompts)
{
    Perplexity result;
    for (const AnsweredPrompt& prompt : prompts) {
        std::vector<TokenId> ids = prompt.promptIds;
        ids.insert(ids.end(), prompt.answerIds.begin(), prompt.answerIds.end());
        bool isExact = true;
        const auto scored =
            scoreRun(run, ids, prompt.promptIds.size(), [&](std::size_t index, std::span<const float> logits) {
                result.nll -= logProbability(logits, ids[index]);
                isExact = isExact && mostProbable(logits) == ids[index];
                ++result.tokens;
            });
        if (!scored)
            return scored.error();
        ++result.answers;
        result.exactAnswers += isExact ? 1 : 0;
        showProgress(run, result.answers, prompts.size(), "answers");
    }
    if (result.tokens == 0)
        return wrong("there is nothing to score: the file has no answers");
    return result;
}

} // namespace waste::cli
