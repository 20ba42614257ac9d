#include "cli/expected_hits.h"

#include "cli/printf_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace waste::cli {

namespace {

// The cache's default policy on 300 tokens of Kimi-Linear, whose layers are announced and not guessed: 201, 402, 805
// and 1,610 slots (`waste_benchmark --only routes`).
struct Point {
    double tokens; // worth of experts in the cache
    double hitRate;
};
constexpr Point kMeasured[] = {{0, 0}, {0.97, 0.349}, {1.93, 0.474}, {3.87, 0.606}, {7.74, 0.742}};

} // namespace

double expectedHitRate(const MemoryPlan& plan)
{
    if (plan.expertSlotCount >= plan.recordCount)
        return 1;
    const double tokens = static_cast<double>(plan.expertCacheBytes)
        / static_cast<double>(std::max<std::uint64_t>(plan.workingSetBytes, 1));
    const auto* above = std::find_if(
        std::begin(kMeasured), std::end(kMeasured), [&](const Point& point) { return tokens < point.tokens; });
    if (above == std::end(kMeasured))
        return kMeasured[std::size(kMeasured) - 1].hitRate;
    const Point& below = *std::prev(above);
    return std::lerp(below.hitRate, above->hitRate, (tokens - below.tokens) / (above->tokens - below.tokens));
}

std::string expectedHitsText(const MemoryPlan& plan)
{
    const double rate = expectedHitRate(plan);
    if (rate >= 1)
        return "all";
    const double steps = std::round(rate * 20); // of five percent: more would be a promise
    return steps < 2 ? "few" : printfText("about %.0f %%", 5 * steps);
}

} // namespace waste::cli
