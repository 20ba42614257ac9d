#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace waste {

// How many experts of a layer are worth reading on a guess (spec: streaming 5): as many as the drive reads
// while it would otherwise be idle, as long as enough of them turn out to be right.
class GuessWidth {
public:
    static constexpr std::uint32_t kMax = 8;
    // A wrong guess delays what is announced next, so most have to be right.
    static constexpr double kUsefulMin = 0.6;

    struct Options {
        std::optional<std::uint32_t> fixed = {}; // 0: off; empty: from what is measured
        std::uint32_t layerCount = 0;
        std::uint32_t limit = kMax; // what the cache has room for
    };
    explicit GuessWidth(const Options& options);

    [[nodiscard]] std::uint32_t width(std::uint32_t layer) const;

    // The drive had nothing announced to read for that long before this layer was announced.
    void noteWindow(std::uint32_t layer, std::chrono::nanoseconds window);
    void noteReads(std::chrono::nanoseconds busy, std::uint32_t count);
    void noteOutcome(std::uint32_t useful, std::uint32_t wasted);

private:
    static constexpr std::uint32_t kOutcomesJudged = 32; // together
    static constexpr std::uint32_t kTokensPaused = 16; // after guessing was given up, before it is tried again

    const Options m_options;
    std::vector<double> m_windowNs; // [layers], running means; 0: not measured yet
    double m_readNs = 0; // one record's share of the drive's time, a running mean
    std::uint32_t m_ceiling; // the most that recent outcomes justify
    std::uint32_t m_useful = 0;
    std::uint32_t m_wasted = 0;
    std::uint32_t m_windowsPaused = 0; // still to pass
};

} // namespace waste
