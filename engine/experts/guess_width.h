#pragma once

#include <cstdint>
#include <optional>

namespace waste {

// How many experts of a layer are read on a guess: as many as the drive finds time for, or none where guesses do not
// save reads. How long the drive is idle before a layer needs no measuring (unlike spec: streaming 5): guesses are
// read while nothing announced that has a slot is left to read, on half of a drive's places, and those not begun by
// then are dropped.
class GuessWidth {
public:
    static constexpr std::uint32_t kMax = 8; // of K3's eighth guesses more than half are right (spec: model 11)

    // What became of a guess that was begun.
    struct Outcome {
        bool isRight = false;
        bool isLate = false; // its read was under way when the layer was announced
    };
    // What it saved, in reads. In time, it filled time in which the drive had nothing more urgent to do; wrong, it took
    // memory's bandwidth, and the slot of a record with some chance of its own: assumed to be a quarter of a read.
    // Late, with f of its time past, it saves f if it is right and costs 1 − f if it is wrong: f is assumed to be half.
    static constexpr double saving(const Outcome& outcome)
    {
        if (outcome.isLate)
            return outcome.isRight ? 0.5 : -0.5;
        return outcome.isRight ? 1 : -0.25;
    }

    struct Options {
        std::optional<std::uint32_t> fixed = {}; // 0: off; empty: from what is measured
        std::uint32_t layerCount = 0;
        std::uint32_t limit = kMax; // what the cache has room for, and a token chooses
    };
    explicit GuessWidth(const Options& options);

    [[nodiscard]] bool isOff() const { return m_options.fixed == 0U; }
    [[nodiscard]] std::uint32_t widthForNextLayer();

    void noteOutcome(const Outcome& outcome);

private:
    static constexpr std::uint32_t kOutcomesJudged = 64; // together
    static constexpr std::uint32_t kTokensPaused = 16; // before guesses that saved nothing are tried again

    const Options m_options;
    double m_saved = 0; // since guesses were judged last
    std::uint32_t m_outcomes = 0; // the same
    std::uint32_t m_layersPaused = 0; // still to pass
};

} // namespace waste
