#pragma once

#include "kernels/kernel_table.h"
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
    double weigh(std::span<const float> logits, float largest);
    double keep(std::span<const float> logits, double mass);
    bool rankMore(std::span<const float> logits, double weightMin);
    template<typename Ids>
    [[nodiscard]] TokenId pick(const Ids& ids, double target) const;
    double nextUniform(); // in [0, 1)

    SamplingOptions m_options;
    std::uint64_t m_randomState = 0;
    std::vector<double> m_weights; // [vocabulary]: exp((logit − largest) / temperature)
    std::vector<TokenId> m_ranked; // the first by rank; capacity: the vocabulary
    double m_rankedDownTo = 0; // all of this weight and more are in it
};

// ln of the softmax of the logits at `id`, at temperature 1. The sum of the other terms in f32: good to 1e-6.
double logProbability(const kernels::KernelTable& kernels, std::span<const float> logits, TokenId id);

} // namespace waste
