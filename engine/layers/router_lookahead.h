#pragma once

#include "experts/expert_source.h"
#include "layers/compute.h"
#include "layers/model_weights.h"

#include <cstdint>
#include <span>

namespace waste {

struct MoeScratch;

// The layer after the current one.
struct NextMoe {
    const MoeWeights* weights = nullptr; // null if it has no experts
    std::uint16_t layer = 0;
};

// Guesses which experts the next layer will choose and has them read while the drive has nothing announced to read.
// Never changes a result. Does nothing where the source wants no guesses. For one layer of one chunk; overwrites scores,
// choice and groupScores in `scratch`, and leaves what has been chosen.
class RouterLookahead {
public:
    // source may be null where next.weights is.
    RouterLookahead(const Compute& compute, const ModelConfig& config, const NextMoe& next, const MoeScratch& scratch,
        ExpertSource* source);

    // The next layer's router on what the current layer's feed-forward network reads (spec: model 11): a lone token's
    // two likeliest experts. Of a chunk of 64 tokens and more those that it likes best on the average, which nearly all
    // are chosen by some token; of a shorter one none. To be called as soon as the current layer's own experts are
    // announced: those that have a slot are read first, and the drive then goes on without a pause.
    void guess(const kernels::TokenInput& input);

    // The same router once the current layer is done, on what it would read if its own attention added nothing: that
    // is right far more often (K3-mini's four ranks 96, 91, 85, 73 % in place of 81, 70, 62, 50), and replaces what has
    // not been begun of the first guess. input [hidden]; for a lone token that has been guessed for.
    void refine(const float* input);
    [[nodiscard]] bool wantsRefining() const { return m_secondGuesses > 0; }

private:
    void prefetch(const kernels::TokenInput& input, std::size_t count, ExpertSource::GuessFor guessFor);
    std::span<float> scores(const kernels::TokenInput& input);

    const Compute& m_compute;
    const ModelConfig& m_config;
    const NextMoe m_next;
    const MoeScratch& m_scratch;
    ExpertSource* const m_source;
    std::size_t m_secondGuesses = 0; // how many refine() makes
};

} // namespace waste
