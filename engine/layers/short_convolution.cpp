#include "layers/short_convolution.h"

#include <algorithm>
#include <cassert>

namespace waste {

namespace {

constexpr std::uint32_t kKernelMax = 64; // spec: model 2.3
constexpr std::uint32_t kLanes = 16; // channels side by side: a cache line of every token

// Samples lie a channel count apart. The newest token is convolved first, so that every output may take the
// place of its sample.
template<std::size_t kCount>
void convolveChannels(const ShortConvolution& convolution, std::size_t first)
{
    const std::uint32_t past = convolution.kernel - 1;
    float* const window = convolution.window + first * past;
    float* const samples = convolution.samples + first;
    const auto sample = [&](std::uint32_t token) { return samples + token * std::size_t{convolution.channels}; };

    float taps[kKernelMax][kCount];
    float before[kKernelMax][kCount]; // the window as the chunk found it
    for (std::size_t lane = 0; lane < kCount; ++lane) {
        for (std::uint32_t i = 0; i < past; ++i)
            before[i][lane] = window[lane * past + i];
        for (std::uint32_t i = 0; i < convolution.kernel; ++i)
            taps[i][lane] = convolution.taps[(first + lane) * convolution.kernel + i];
    }
    const std::uint32_t tokens = convolution.tokens;
    for (std::uint32_t i = 0; i < past; ++i) { // place i of the next window: `past` − i tokens before its first
        const float* const source = tokens + i >= past ? sample(tokens + i - past) : before[tokens + i];
        for (std::size_t lane = 0; lane < kCount; ++lane)
            window[lane * past + i] = source[lane];
    }
    for (std::uint32_t token = tokens; token-- > 0;) {
        float sums[kCount] = {};
        for (std::uint32_t tap = 0; tap < convolution.kernel; ++tap) {
            const std::uint32_t place = token + tap; // in the old window followed by the chunk
            const float* const source = place < past ? before[place] : sample(place - past);
            for (std::size_t lane = 0; lane < kCount; ++lane)
                sums[lane] += taps[tap][lane] * source[lane];
        }
        std::copy_n(sums, kCount, sample(token));
    }
}

} // namespace

void convolve(const Compute& compute, const ShortConvolution& convolution)
{
    assert(convolution.kernel >= 1 && convolution.kernel <= kKernelMax);
    // Plain loops and a SiLU: some four times the cost of a multiply-add of a kernel.
    const std::size_t cost = std::size_t{4} * convolution.kernel * convolution.tokens * kLanes;
    const auto convolveBlocks = [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
        std::size_t channel = std::size_t{begin} * kLanes;
        const std::size_t first = channel;
        const std::size_t last = std::min(std::size_t{end} * kLanes, std::size_t{convolution.channels});
        for (; channel + kLanes <= last; channel += kLanes)
            convolveChannels<kLanes>(convolution, channel);
        for (; channel < last; ++channel)
            convolveChannels<1>(convolution, channel);
        for (std::size_t token = 0; token < convolution.tokens; ++token)
            compute.kernels.siluInPlace(convolution.samples + token * convolution.channels + first, last - first);
    };
    compute.pool.parallelFor(ceilDivide(convolution.channels, kLanes), pieceGrain(cost), convolveBlocks);
}

} // namespace waste
