#pragma once

#include "kernels/kernel_table.h"
#include "memory/arena.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace waste {

inline constexpr float kKdaNormEpsilon = 1e-6F; // of q and k, added to the sum of squares (spec: model 15 D1)
inline constexpr std::uint32_t kKdaChunkTokens = 64; // longer chunks are cut into pieces of this

using KdaDecay = kernels::KernelTable::LogDecay;

// One head of a KDA layer over the tokens of a chunk (spec: model 6.4 steps 4, 6, 7 and 6.5). Rows of all
// buffers are `stride` floats apart and D wide.
struct KdaHead {
    std::uint32_t dim = 0; // D
    std::uint32_t tokens = 0;
    std::size_t stride = 0;
    const float* query = nullptr; // after the convolution
    const float* key = nullptr;
    const float* value = nullptr;
    const float* decayInput = nullptr; // z, dt_bias included
    float* output = nullptr; // may be decayInput
    const float* beta = nullptr; // already between 0 and 1
    std::size_t betaStride = 0;
    KdaDecay decay;
    float* state = nullptr; // S [D][D]
};

// Scratch of one worker.
struct KdaHeadScratch {
    std::span<float> query; // [tokens][D], normalised and scaled
    std::span<float> key; // [tokens][D], normalised
    std::span<float> decay; // [tokens][D]: g, then what is made of it
    std::span<double> cumulative; // [tokens + 1][D]
    std::span<float> decayedQuery; // [tokens][D]
    std::span<float> decayedKey; // [tokens][D]
    std::span<float> update; // U [tokens][D]
    std::span<float> keyProducts; // A [tokens][tokens]
    std::span<float> queryProducts; // Pq [tokens][tokens]

    template<typename A>
    static KdaHeadScratch carve(A& arena, std::uint32_t dim, std::uint32_t chunkTokensMax)
    {
        const std::size_t tokens = chunkTokensMax < kKdaChunkTokens ? chunkTokensMax : kKdaChunkTokens;
        KdaHeadScratch scratch;
        scratch.query = arena.template take<float>(tokens * dim);
        scratch.key = arena.template take<float>(tokens * dim);
        scratch.decay = arena.template take<float>(tokens * dim);
        scratch.cumulative = arena.template take<double>((tokens + 1) * dim);
        scratch.decayedQuery = arena.template take<float>(tokens * dim);
        scratch.decayedKey = arena.template take<float>(tokens * dim);
        scratch.update = arena.template take<float>(tokens * dim);
        scratch.keyProducts = arena.template take<float>(tokens * tokens);
        scratch.queryProducts = arena.template take<float>(tokens * tokens);
        return scratch;
    }
};

// The recurrence for one token, the parallel form for more; equal within 1e-6.
void runKdaHead(const kernels::KernelTable& kernels, const KdaHead& head, const KdaHeadScratch& scratch);

} // namespace waste
