#pragma once

#include "layers/compute.h"

#include <cstddef>
#include <cstdint>

namespace waste {

// Causal depthwise convolution, then SiLU (spec: model 6.4 step 2), in place over the tokens of a chunk.
// The window holds the raw samples before the chunk, oldest first, and afterwards those before the next.
struct ShortConvolution {
    float* samples = nullptr; // [tokens][channels], raw in, convolved out
    std::uint32_t tokens = 0;
    std::uint32_t channels = 0;
    std::uint32_t kernel = 0; // taps
    const float* taps = nullptr; // [channels][kernel], the last one for the newest sample
    float* window = nullptr; // [channels][kernel − 1]
};
void convolve(const Compute& compute, const ShortConvolution& convolution);

} // namespace waste
