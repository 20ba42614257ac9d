#include "layers/short_convolution.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace waste {

namespace {

constexpr std::uint32_t kKernelMax = 64; // spec: model 2.3

// Samples lie a channel count apart. The newest token is convolved first, so that every output may take the
// place of its sample.
void convolveChannel(const ShortConvolution& convolution, std::size_t channel)
{
    const std::uint32_t past = convolution.kernel - 1;
    float* const window = convolution.window + channel * past;
    const float* const taps = convolution.taps + channel * convolution.kernel;
    float* const samples = convolution.samples + channel;
    const auto sample = [&](std::uint32_t token) -> float& {
        return samples[token * std::size_t{convolution.channels}];
    };

    std::array<float, kKernelMax> before; // the window as the chunk found it
    std::copy_n(window, past, before.begin());
    const std::uint32_t tokens = convolution.tokens;
    for (std::uint32_t i = 0; i < past; ++i) // place i of the next window: `past` − i tokens before its first
        window[i] = tokens + i >= past ? sample(tokens + i - past) : before[tokens + i];
    for (std::uint32_t token = tokens; token-- > 0;) {
        float sum = 0;
        for (std::uint32_t tap = 0; tap < convolution.kernel; ++tap) {
            const std::uint32_t place = token + tap; // in the old window followed by the chunk
            sum += taps[tap] * (place < past ? before[place] : sample(place - past));
        }
        sample(token) = sum;
    }
}

} // namespace

void convolve(const Compute& compute, const ShortConvolution& convolution)
{
    assert(convolution.kernel >= 1 && convolution.kernel <= kKernelMax);
    // An f32 loop without vectors, and a SiLU: some ten times the cost of a multiply-add of a kernel.
    const std::size_t cost = std::size_t{10} * convolution.kernel * convolution.tokens;
    compute.pool.parallelFor(
        convolution.channels, pieceGrain(cost), [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
            for (std::size_t channel = begin; channel < end; ++channel)
                convolveChannel(convolution, channel);
            for (std::size_t token = 0; token < convolution.tokens; ++token)
                compute.kernels.siluInPlace(convolution.samples + token * convolution.channels + begin, end - begin);
        });
}

} // namespace waste
