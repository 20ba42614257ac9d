#pragma once

#include "waste/result.h"
#include "waste/session.h"
#include "waste/types.h"

#include <cstdint>
#include <span>
#include <vector>

namespace waste {

// Draws the next token from logits (spec: model 8). Exactly one random number per stochastic draw whatever
// the truncation, so that a seed reproduces a run; none for a greedy one. All arithmetic in f64.
// Allocates in the constructor only. One thread at a time.
class Sampler {
public:
    explicit Sampler(std::uint32_t vocabularySize);

    // Takes the options and restarts the random numbers from their seed. Error: InvalidArgument.
    Status configure(const SamplingOptions& options);

    // The chosen id. Error: Internal (a logit is not a number, or none is finite); nothing is drawn then.
    Result<TokenId> draw(std::span<const float> logits); // [vocabulary]

    // The state of the random numbers, as a saved session keeps it. Set after configure().
    [[nodiscard]] std::uint64_t randomState() const { return m_randomState; }
    void setRandomState(std::uint64_t state) { m_randomState = state; }

private:
    struct Candidate {
        TokenId id;
        float logit;
        double weight; // exp((logit − largest) / temperature)
    };
    void fillCandidates(std::span<const float> logits, float largest);
    double truncate();
    [[nodiscard]] TokenId pick(double target) const;
    double nextUniform(); // in [0, 1)

    SamplingOptions m_options;
    std::uint64_t m_randomState = 0;
    std::vector<Candidate> m_candidates; // scratch, capacity: the vocabulary
};

// ln of the softmax of the logits at `id`, at temperature 1.
double logProbability(std::span<const float> logits, TokenId id);

} // namespace waste
