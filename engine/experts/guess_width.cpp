#include "experts/guess_width.h"

#include <algorithm>

namespace waste {

GuessWidth::GuessWidth(const Options& options)
    : m_options(options)
{
}

std::uint32_t GuessWidth::widthForNextLayer()
{
    if (m_options.fixed)
        return std::min(*m_options.fixed, m_options.limit);
    if (m_layersPaused > 0) {
        --m_layersPaused;
        return 0;
    }
    return std::min(kMax, m_options.limit);
}

void GuessWidth::noteOutcome(const Outcome& outcome)
{
    m_saved += saving(outcome);
    if (++m_outcomes < kOutcomesJudged)
        return;
    if (m_saved <= 0)
        m_layersPaused = kTokensPaused * m_options.layerCount;
    m_saved = 0;
    m_outcomes = 0;
}

} // namespace waste
