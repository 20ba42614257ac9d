#include "vision/image_plan.h"

#include <algorithm>
#include <cmath>

namespace waste {
namespace {

constexpr std::uint32_t kPatch = 14;
constexpr std::uint32_t kPair = 2 * kPatch;

std::uint32_t scaledSide(std::uint32_t side, double scale, std::uint32_t sideMax)
{
    const double scaled = std::trunc(static_cast<double>(side) * scale);
    return static_cast<std::uint32_t>(std::min(std::max(scaled, 1.0), static_cast<double>(sideMax)));
}

std::uint32_t gridSide(std::uint32_t side)
{
    return (side + kPair - 1) / kPair * 2;
}

ImagePlan planWithLimit(std::uint32_t width, std::uint32_t height, double limit, std::uint32_t patchLimitPerSide)
{
    const std::uint32_t sideMax = patchLimitPerSide * kPatch;
    const double patches =
        static_cast<double>(std::max(1U, width / kPatch)) * static_cast<double>(std::max(1U, height / kPatch));
    const double byArea = std::sqrt(limit / patches);
    const double byWidth = static_cast<double>(sideMax) / width;
    const double byHeight = static_cast<double>(sideMax) / height;
    const double scale = std::min({1.0, byArea, byWidth, byHeight});
    ImagePlan plan;
    plan.width = scaledSide(width, scale, sideMax);
    plan.height = scaledSide(height, scale, sideMax);
    plan.gridRows = gridSide(plan.height);
    plan.gridColumns = gridSide(plan.width);
    return plan;
}

} // namespace

ImagePlan planImage(
    std::uint32_t width, std::uint32_t height, std::uint32_t patchBudget, std::uint32_t patchLimitPerSide)
{
    // Padding can push the grid above the limit that the scale was computed for: the first limit that
    // fits is taken. Below 1 it goes on by halves and ends at one pair of patches each way at the latest.
    double limit = patchBudget;
    ImagePlan plan = planWithLimit(width, height, limit, patchLimitPerSide);
    while (plan.patchCount() > patchBudget) {
        limit = limit > 1 ? limit - 1 : limit / 2;
        plan = planWithLimit(width, height, limit, patchLimitPerSide);
    }
    return plan;
}

} // namespace waste
