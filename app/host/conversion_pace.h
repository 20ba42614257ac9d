#pragma once

#include "waste/converter.h"

#include <chrono>
#include <cstdint>
#include <optional>

namespace waste::host {

// How fast a conversion goes and how long it will still take, from its events. What earlier runs have finished, and
// time in which it waited for room or for the download, count for nothing. Time is the caller's.
class ConversionPace {
public:
    using TimePoint = std::chrono::steady_clock::time_point;

    void observe(const ConvertEvent& event, TimePoint now);

    // Bytes of the container, by the stage in work over its last minutes; 0: not known yet.
    [[nodiscard]] double bytesPerSecond() const;
    // Of trunk and experts together; empty while either was not measured yet.
    [[nodiscard]] std::optional<std::chrono::seconds> remaining() const;
    [[nodiscard]] double finishedShare() const; // of the stage, while earlier work is checked; else of everything
    [[nodiscard]] std::uint64_t expertsDone() const; // with those of earlier runs
    [[nodiscard]] std::uint64_t expertCount() const { return m_expertCount; }

private:
    using Seconds = std::chrono::duration<double>;

    // Bytes and the time they took, old ones counting less and less.
    struct Stage {
        std::uint64_t total = 0;
        std::uint64_t done = 0;
        double recentBytes = 0;
        Seconds recentTime{0};
        std::optional<TimePoint> measuredTo = std::nullopt; // empty: the next report only begins a measurement

        void advance(std::uint64_t nowDone, TimePoint now);
        [[nodiscard]] double bytesPerSecond() const;
        [[nodiscard]] std::optional<Seconds> remaining() const;
    };

    void observe(const ConvertPlan& plan);
    void observe(const Progress& progress, TimePoint now);
    void enter(Stage* stage);

    Stage m_checking;
    Stage m_trunk;
    Stage m_experts;
    Stage* m_current = nullptr;
    std::uint64_t m_expertCount = 0;
    std::uint64_t m_layersToBegin = 0;
    // A layer begins with work that makes no bytes: its codebooks.
    std::optional<TimePoint> m_layerBegan;
    std::optional<Seconds> m_layerPreparation;
};

} // namespace waste::host
