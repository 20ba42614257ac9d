#include "distributions.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace waste::benchmark {

std::vector<float> logProbabilities(std::span<const float> logits)
{
    const double maximum = static_cast<double>(std::ranges::max(logits));
    double sum = 0;
    for (const float logit : logits)
        sum += std::exp(static_cast<double>(logit) - maximum);
    const double total = maximum + std::log(sum);
    std::vector<float> result(logits.size());
    std::ranges::transform(logits, result.begin(),
        [total](float logit) { return static_cast<float>(static_cast<double>(logit) - total); });
    return result;
}

double divergence(std::span<const float> exact, std::span<const float> other)
{
    double sum = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        const double logarithm = static_cast<double>(exact[i]);
        sum += std::exp(logarithm) * (logarithm - static_cast<double>(other[i]));
    }
    return sum;
}

} // namespace waste::benchmark
