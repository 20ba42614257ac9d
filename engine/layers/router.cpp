#include "layers/router.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace waste {

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// Index of the largest value that is not taken, ties to the smaller index. Comparisons with NaN are false,
// so that even then `count` calls return different indices.
template<typename IsTaken>
std::size_t largest(std::span<const float> values, const IsTaken& isTaken)
{
    std::size_t best = values.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!isTaken(i) && (best == values.size() || values[i] > values[best]))
            best = i;
    }
    return best;
}

// Sum of the two largest values.
float groupScore(std::span<const float> choice)
{
    float first = kNever;
    float second = kNever;
    for (const float value : choice) {
        second = std::max(second, std::min(first, value));
        first = std::max(first, value);
    }
    return choice.size() == 1 ? first : first + second;
}

// Only experts of the best groups may be chosen.
void maskGroups(const ModelConfig& config, std::span<float> choice, std::span<float> groupScores)
{
    const std::size_t groupCount = config.expertGroupCount;
    const std::size_t groupSize = choice.size() / groupCount;
    for (std::size_t group = 0; group < groupCount; ++group)
        groupScores[group] = groupScore(choice.subspan(group * groupSize, groupSize));
    const auto isBetter = [&](std::size_t a, std::size_t b) {
        return groupScores[a] > groupScores[b] || (groupScores[a] == groupScores[b] && a < b);
    };
    for (std::size_t group = 0; group < groupCount; ++group) {
        std::size_t betterCount = 0;
        for (std::size_t other = 0; other < groupCount; ++other)
            betterCount += isBetter(other, group) ? 1 : 0;
        if (betterCount >= config.expertGroupsKept)
            std::fill_n(choice.begin() + static_cast<std::ptrdiff_t>(group * groupSize), groupSize, kNever);
    }
}

} // namespace

void rankExperts(const ModelConfig& config, const RoutingInput& input, std::span<std::uint16_t> ranked)
{
    assert(input.scores.size() == config.expertCount && input.choice.size() == input.scores.size());
    for (std::size_t e = 0; e < input.scores.size(); ++e)
        input.choice[e] = input.scores[e] + (input.bias != nullptr ? input.bias[e] : 0.0F);
    if (config.expertGroupCount > config.expertGroupsKept)
        maskGroups(config, input.choice, input.groupScores);

    for (std::size_t rank = 0; rank < ranked.size(); ++rank) {
        const auto chosen = ranked.first(rank);
        ranked[rank] = static_cast<std::uint16_t>(largest(
            input.choice, [&](std::size_t e) { return std::find(chosen.begin(), chosen.end(), e) != chosen.end(); }));
    }
}

void routeToken(
    const ModelConfig& config, const RoutingInput& input, std::span<std::uint16_t> experts, std::span<float> weights)
{
    assert(experts.size() == config.expertsPerToken && weights.size() == experts.size());
    rankExperts(config, input, experts);
    std::sort(experts.begin(), experts.end());

    // The bias takes part in the choice and not in the weights.
    float sum = 0;
    for (std::size_t i = 0; i < experts.size(); ++i) {
        weights[i] = input.scores[experts[i]];
        sum += weights[i];
    }
    const bool renormalize = config.renormalizeWeights && experts.size() > 1;
    for (float& weight : weights)
        weight = (renormalize ? weight / (sum + 1e-20F) : weight) * config.routedScaling;
}

} // namespace waste
