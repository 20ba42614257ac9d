#pragma once

#include "container/model_config.h"

#include <cstdint>
#include <span>

namespace waste {

// Chooses experts for one token (spec: model 6.9 steps 1 to 4). `scores` holds the router's logits and is
// overwritten; `choice` is scratch of the same length [E]. Fills `experts` [k], ascending by id, and their
// weights. `bias` may be null.
void routeToken(const ModelConfig& config, std::span<float> scores, const float* bias, std::span<float> choice,
    std::span<std::uint16_t> experts, std::span<float> weights);

} // namespace waste
