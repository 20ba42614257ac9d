#pragma once

#include <span>
#include <vector>

namespace waste::benchmark {

using Distributions = std::vector<std::vector<float>>; // [positions][vocabulary], as logarithms

std::vector<float> logProbabilities(std::span<const float> logits);

// Of Kullback and Leibler, from the exact distribution to the other one, in nats.
double divergence(std::span<const float> exact, std::span<const float> other);

} // namespace waste::benchmark
