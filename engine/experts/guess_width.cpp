#include "experts/guess_width.h"

#include <algorithm>
#include <utility>

namespace waste {

GuessWidth::GuessWidth(const Options& options)
    : m_options(options)
    , m_ceiling(std::min(kMax / 2, options.limit))
{
}

std::uint32_t GuessWidth::widthForNextLayer()
{
    if (m_options.fixed)
        return std::min(*m_options.fixed, m_options.limit);
    if (m_layersPaused > 0 && --m_layersPaused == 0)
        m_ceiling = std::min(1U, m_options.limit);
    return m_ceiling;
}

// The better a guess is ranked, the more often it is right: fewer of them come before none.
void GuessWidth::noteOutcome(std::uint32_t useful, std::uint32_t wasted)
{
    m_useful += useful;
    m_wasted += wasted;
    const std::uint32_t judged = m_useful + m_wasted;
    if (judged < kOutcomesJudged)
        return;
    const double share = static_cast<double>(std::exchange(m_useful, 0)) / judged;
    m_wasted = 0;
    if (share < kUsefulMin)
        m_ceiling /= 2;
    else
        m_ceiling = std::min({m_ceiling + 1, kMax, m_options.limit});
    if (m_ceiling == 0)
        m_layersPaused = kTokensPaused * m_options.layerCount;
}

} // namespace waste
