#pragma once

#include "experts/expert_source.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

// A source for which order means nothing: experts are handed out as they were announced, and guesses help
// nobody. Whoever derives from it has only to say how one expert is acquired.
class SequentialExperts : public ExpertSource {
public:
    void announce(std::uint16_t layer, std::span<const std::uint16_t> experts) override
    {
        m_layer = layer;
        m_announced = experts;
    }

    Result<Arrival> acquireNext() override
    {
        assert(!m_announced.empty());
        const std::uint16_t expert = m_announced.front();
        WASTE_TRY(Pin pin, acquire({m_layer, expert}));
        m_announced = m_announced.subspan(1);
        return Arrival{expert, std::move(pin)};
    }

    Result<std::optional<Arrival>> tryAcquireNext() override
    {
        if (m_announced.empty())
            return std::optional<Arrival>();
        WASTE_TRY(Arrival arrival, acquireNext());
        return std::optional<Arrival>(std::move(arrival));
    }

    [[nodiscard]] std::uint32_t guessesWanted() override { return 0; }
    void prefetch(std::uint16_t, std::span<const std::uint16_t>, GuessFor) override { }

private:
    std::uint16_t m_layer = 0;
    std::span<const std::uint16_t> m_announced; // those not handed out yet
};

} // namespace waste
