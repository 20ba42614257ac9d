#pragma once

#include <cstdint>
#include <optional>

namespace waste {

// How many experts of a layer are worth reading on a guess (spec: streaming 5): as many as turn out to be right often
// enough. How long the drive is idle before a layer needs no measuring: guesses are read while nothing announced
// that has a slot is left to read, on half of a drive's places, and those not begun by then are dropped.
class GuessWidth {
public:
    static constexpr std::uint32_t kMax = 8;
    // A guess that is still under way when the layer is announced, with f of its time past, saves f of a read if it is
    // right and costs 1 − f if it is wrong; f is anything, so more than half have to be right.
    static constexpr double kUsefulMin = 0.6;

    struct Options {
        std::optional<std::uint32_t> fixed = {}; // 0: off; empty: from what is measured
        std::uint32_t layerCount = 0;
        std::uint32_t limit = kMax; // what the cache has room for
    };
    explicit GuessWidth(const Options& options);

    [[nodiscard]] bool isOff() const { return m_options.fixed == 0U; }
    [[nodiscard]] std::uint32_t widthForNextLayer();

    void noteOutcome(std::uint32_t useful, std::uint32_t wasted);

private:
    static constexpr std::uint32_t kOutcomesJudged = 32; // together
    static constexpr std::uint32_t kTokensPaused = 16; // after guessing was given up, before it is tried again

    const Options m_options;
    std::uint32_t m_ceiling; // the most that recent outcomes justify
    std::uint32_t m_useful = 0;
    std::uint32_t m_wasted = 0;
    std::uint32_t m_layersPaused = 0; // still to pass
};

} // namespace waste
