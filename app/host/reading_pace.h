#pragma once

#include "waste/engine.h"
#include "waste/picture.h"

#include <cstdint>

namespace waste::host {

// How long the model that is open takes to read on this machine, so that a price can be said before it is paid
// (spec: desktop 3.1). What it has to compute and to fetch from the disk is known; how fast that goes is taken from
// the opening until something was read, and from what was read last from then on. A value.
class ReadingPace {
public:
    ReadingPace() = default; // of no model: everything takes 0 seconds
    explicit ReadingPace(const Engine& engine);

    void noteReading(std::uint64_t tokens, double seconds); // through the layers
    void noteLooking(std::uint64_t multiplyAdds, double seconds); // of the vision tower

    [[nodiscard]] double secondsToRead(std::uint64_t tokens) const;
    [[nodiscard]] double secondsFor(const Picture& picture) const; // looking at it and reading it
    [[nodiscard]] bool isMeasured() const { return m_hasRead && m_hasLooked; } // false: an estimate

    friend bool operator==(const ReadingPace&, const ReadingPace&) = default;

private:
    double m_multiplyAddsPerSecond = 0;
    double m_towerMultiplyAddsPerSecond = 0;
    double m_bytesPerSecond = 0; // of the disk
    double m_multiplyAddsPerToken = 0;
    double m_expertBytes = 0; // of all layers; those that the cache has no slots for
    double m_shareOfExperts = 0; // that one token needs
    std::uint32_t m_chunkTokens = 1; // an expert is fetched once for so many
    double m_readingFactor = 1; // what reading took, over what it was expected to take
    bool m_hasRead = false;
    bool m_hasLooked = false;
};

} // namespace waste::host
