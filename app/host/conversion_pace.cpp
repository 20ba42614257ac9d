#include "host/conversion_pace.h"

#include <cmath>
#include <type_traits>

namespace waste::host {
namespace {

using namespace std::chrono_literals;

// What is older counts for less than a third: the rate follows a machine that becomes slower, and does not jump.
constexpr std::chrono::duration<double> kMemory = 5min;
constexpr std::chrono::duration<double> kMeasuredMin = 1s; // less is no rate

double share(std::uint64_t part, std::uint64_t whole)
{
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

} // namespace

void ConversionPace::Stage::advance(std::uint64_t nowDone, TimePoint now)
{
    if (measuredTo && nowDone >= done) {
        const Seconds time = now - *measuredTo;
        const double kept = std::exp(-(time / kMemory));
        recentBytes = recentBytes * kept + static_cast<double>(nowDone - done);
        recentTime = recentTime * kept + time;
    }
    done = nowDone;
    measuredTo = now;
}

double ConversionPace::Stage::bytesPerSecond() const
{
    return recentTime >= kMeasuredMin ? recentBytes / recentTime.count() : 0;
}

std::optional<ConversionPace::Seconds> ConversionPace::Stage::remaining() const
{
    if (done >= total)
        return Seconds(0);
    const double rate = bytesPerSecond();
    return rate > 0 ? std::optional(Seconds(static_cast<double>(total - done) / rate)) : std::nullopt;
}

void ConversionPace::observe(const ConvertEvent& event, TimePoint now)
{
    std::visit(
        [&](const auto& what) {
            using What = std::decay_t<decltype(what)>;
            if constexpr (std::is_same_v<What, ConvertPlan>) {
                observe(what);
            } else if constexpr (std::is_same_v<What, Progress>) {
                observe(what, now);
            } else if constexpr (std::is_same_v<What, ConvertLayerStart>) {
                m_layersToBegin -= m_layersToBegin > 0 ? 1 : 0;
                m_layerBegan = now;
            } else if constexpr (std::is_same_v<What, ConvertWaiting>) {
                m_layerBegan.reset();
                enter(nullptr);
            } else if constexpr (std::is_same_v<What, ConvertLayerDone>) {
                enter(nullptr);
            }
        },
        event);
}

void ConversionPace::observe(const ConvertPlan& plan)
{
    const std::uint64_t layers = plan.layers.size() + plan.layersKept.size();
    m_expertCount = plan.expertCount;
    m_layersToBegin = plan.layers.size();
    m_trunk = {.total = plan.trunkBytes, .done = plan.trunkBytesKept};
    m_experts = {.total = plan.expertBytes};
    if (layers > 0)
        m_experts.done = plan.expertBytes / layers * plan.layersKept.size();
    enter(nullptr);
}

void ConversionPace::observe(const Progress& progress, TimePoint now)
{
    Stage* stage = progress.stage == "trunk" ? &m_trunk : progress.stage == "experts" ? &m_experts : &m_checking;
    enter(stage);
    stage->total = progress.total;
    if (m_layerBegan && stage == &m_experts && progress.done > stage->done) {
        m_layerPreparation = now - *m_layerBegan;
        m_layerBegan.reset();
        stage->measuredTo.reset();
    }
    if (!m_layerBegan)
        stage->advance(progress.done, now);
}

// Stages may take turns; each is measured while it is the one in work.
void ConversionPace::enter(Stage* stage)
{
    if (m_current != nullptr && m_current != stage)
        m_current->measuredTo.reset();
    m_current = stage;
}

double ConversionPace::bytesPerSecond() const
{
    return m_current != nullptr ? m_current->bytesPerSecond() : 0;
}

std::optional<std::chrono::seconds> ConversionPace::remaining() const
{
    const auto trunk = m_trunk.remaining();
    const auto experts = m_experts.remaining();
    if (m_expertCount == 0 && m_trunk.total == 0) // before the plan
        return std::nullopt;
    if (!trunk || !experts || (m_layersToBegin > 0 && !m_layerPreparation))
        return std::nullopt;
    const Seconds preparation = m_layerPreparation.value_or(Seconds(0)) * static_cast<double>(m_layersToBegin);
    return std::chrono::ceil<std::chrono::seconds>(*trunk + *experts + preparation);
}

double ConversionPace::finishedShare() const
{
    if (m_current == &m_checking)
        return share(m_checking.done, m_checking.total);
    return share(m_trunk.done + m_experts.done, m_trunk.total + m_experts.total);
}

std::uint64_t ConversionPace::expertsDone() const
{
    return static_cast<std::uint64_t>(
        std::llround(share(m_experts.done, m_experts.total) * static_cast<double>(m_expertCount)));
}

} // namespace waste::host
