#pragma once

#include "container/model_config.h"

#include <cstdint>
#include <span>

namespace waste {

// Chooses experts for one token (spec: model 6.9 steps 2 to 4). `scores` are the router's logits after the
// sigmoid [E], `bias` [E] or null. Fills `experts` [k], ascending by id, and their weights. `choice` [E] and
// `groupScores` [groups] are scratch.
struct RoutingInput {
    std::span<const float> scores;
    const float* bias = nullptr;
    std::span<float> choice;
    std::span<float> groupScores;
};
// The experts of the highest choice, best first: the first half of routeToken().
void rankExperts(const ModelConfig& config, const RoutingInput& input, std::span<std::uint16_t> ranked);
void routeToken(
    const ModelConfig& config, const RoutingInput& input, std::span<std::uint16_t> experts, std::span<float> weights);

} // namespace waste
