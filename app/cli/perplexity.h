#pragma once

#include "cli/output.h"

#include "waste/result.h"
#include "waste/session.h"
#include "waste/tokenizer.h"
#include "waste/types.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace waste::cli {

// A question and the answer to it, in token ids.
struct AnsweredPrompt {
    std::vector<TokenId> promptIds;
    std::vector<TokenId> answerIds;
};

// The questions of an evaluation file: JSON lines, or one JSON object with `items`; each is an object with
// `prompt_ids` and `answer_ids`. Nothing if the text is something else. Error: InvalidArgument for such a
// file with a place that makes no sense.
Result<std::optional<std::vector<AnsweredPrompt>>> parseAnsweredPrompts(const std::string& text);

// Spec: cli B.9.
struct Perplexity {
    std::uint64_t tokens = 0; // scored
    double nll = 0; // their negative log likelihoods, in nats
    std::uint64_t answers = 0;
    std::uint64_t exactAnswers = 0; // every token is the most probable one

    [[nodiscard]] double value() const;
};

struct PerplexityRun {
    Session& session;
    std::size_t vocabularySize;
    const CancelFlag& cancel;
    Output& output; // for progress
};
// Windows of the context's length begin every `strideTokens` (0: the context) tokens; each scores the tokens
// that no earlier window scored, never its own first.
Result<Perplexity> scoreText(const PerplexityRun& run, const std::vector<TokenId>& ids, std::uint32_t strideTokens);
// Every question by itself; only the answers' tokens are scored.
Result<Perplexity> scoreAnswers(const PerplexityRun& run, const std::vector<AnsweredPrompt>& prompts);

} // namespace waste::cli
