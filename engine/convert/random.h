#pragma once

#include <cstdint>

namespace waste {

// splitmix64: small, well mixed, and the same numbers on every machine, so that a conversion can be repeated.
class Random {
public:
    explicit Random(std::uint64_t seed)
        : m_state(seed)
    {
    }

    std::uint64_t next()
    {
        m_state += 0x9E3779B97F4A7C15U;
        std::uint64_t z = m_state;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    }

    // Uniform below `bound` ≥ 1. The bias is bound / 2^64, far below anything that matters here.
    std::uint64_t below(std::uint64_t bound)
    {
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
    }

    // Uniform in [0, 1).
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    // A generator of its own for one part of the work, whatever other parts draw.
    [[nodiscard]] static Random forPart(
        std::uint64_t seed, std::uint64_t layer, std::uint64_t matrix, std::uint64_t step)
    {
        Random mixed(seed);
        mixed.m_state = mixed.next() ^ layer;
        mixed.m_state = mixed.next() ^ matrix;
        mixed.m_state = mixed.next() ^ step;
        return mixed;
    }

private:
    std::uint64_t m_state;
};

} // namespace waste
