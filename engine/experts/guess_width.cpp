#include "experts/guess_width.h"

#include <algorithm>
#include <utility>

namespace waste {
namespace {

// One value among about eight, so that a change shows within a few tokens.
constexpr double kShareOfTheLast = 1.0 / 8;

void addTo(double& mean, double value)
{
    mean += mean == 0 ? value : (value - mean) * kShareOfTheLast;
}

} // namespace

GuessWidth::GuessWidth(const Options& options)
    : m_options(options)
    , m_windowNs(options.layerCount)
    , m_ceiling(std::min(kMax / 2, options.limit))
{
}

std::uint32_t GuessWidth::width(std::uint32_t layer) const
{
    if (m_options.fixed)
        return std::min(*m_options.fixed, m_options.limit);
    if (m_readNs == 0)
        return 0;
    return static_cast<std::uint32_t>(std::min<double>(m_windowNs[layer] / m_readNs, m_ceiling));
}

void GuessWidth::noteWindow(std::uint32_t layer, std::chrono::nanoseconds window)
{
    addTo(m_windowNs[layer], static_cast<double>(window.count()));
    if (m_windowsPaused > 0 && --m_windowsPaused == 0)
        m_ceiling = std::min(1U, m_options.limit);
}

void GuessWidth::noteReads(std::chrono::nanoseconds busy, std::uint32_t count)
{
    if (count > 0)
        addTo(m_readNs, static_cast<double>(busy.count()) / count);
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
        m_windowsPaused = kTokensPaused * m_options.layerCount;
}

} // namespace waste
