#pragma once

#include "layers/compute.h"
#include "memory/arena.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace waste {

// Attention over latent rows in absorbed form (spec: model 6.7): kv_b is applied to queries and results and
// never to cached positions.

// Queries (pairs of token and head) that walk over the latent rows together, in lanes of which there is a multiple of
// kLatentLanes, and rows per step: 96 rows of 576 values stay in the second-level cache while all queries of a block
// use them, and are a multiple of the rows that the products take at once.
inline constexpr std::uint32_t kLatentLanes = 16;
inline constexpr std::uint32_t kLatentQueryBlock = 4 * kLatentLanes;
inline constexpr std::uint32_t kLatentTileRows = 96;
// Columns of a score that are summed at once: those of two registers of a block's queries, 24 KiB, stay in the
// first-level cache of kernels that take all rows before the next registers.
inline constexpr std::uint32_t kLatentDepth = 192;
// One token has few blocks of queries, so its positions are shared out as well: in spans of at least so many, and at
// most so many spans. Where they are cut depends on the number of positions alone.
inline constexpr std::uint32_t kLatentSpanRows = 10 * kLatentTileRows;
inline constexpr std::uint32_t kLatentSpansMax = 16;

struct LatentShape {
    std::uint32_t heads = 0; // nh
    std::uint32_t nope = 0; // n
    std::uint32_t rope = 0; // r
    std::uint32_t value = 0; // v
    std::uint32_t latent = 0; // kl

    [[nodiscard]] std::size_t rowWidth() const { return std::size_t{latent} + rope; }
    [[nodiscard]] std::size_t queryWidth() const { return std::size_t{heads} * (nope + rope); }
    [[nodiscard]] std::size_t outputWidth() const { return std::size_t{heads} * value; }
};

struct LatentScratch {
    std::span<float> absorbedQuery; // [tokens·nh][kl+r], scale included
    std::span<float> latentOutput; // [tokens·nh][kl], of several spans one after another
    std::span<float> maxima, sums; // of the same rows: of scores, and of e^(score − maximum)
    struct Worker {
        std::span<float> keyRows; // [n][kl]: K rows of one head of kv_b as f32
        std::span<float> turned; // [kl+r][kLatentQueryBlock]: queries of a block
        std::span<float> scores; // [kLatentTileRows][kLatentQueryBlock]
    };
    std::vector<Worker> workers;

    template<typename A>
    static LatentScratch carve(A& arena, const LatentShape& shape, std::uint32_t tokensMax, std::uint32_t threadCount)
    {
        const std::size_t queries = std::size_t{tokensMax} * shape.heads;
        LatentScratch scratch;
        scratch.absorbedQuery = arena.template take<float>(queries * shape.rowWidth());
        const std::size_t rows = std::size_t{std::max(tokensMax, kLatentSpansMax)} * shape.heads;
        scratch.latentOutput = arena.template take<float>(rows * shape.latent);
        scratch.maxima = arena.template take<float>(rows);
        scratch.sums = arena.template take<float>(rows);
        for (std::uint32_t worker = 0; worker < threadCount; ++worker) {
            Worker buffers;
            buffers.keyRows = arena.template take<float>(std::size_t{shape.nope} * shape.latent);
            buffers.turned = arena.template take<float>(shape.rowWidth() * kLatentQueryBlock);
            buffers.scores = arena.template take<float>(std::size_t{kLatentTileRows} * kLatentQueryBlock);
            scratch.workers.push_back(buffers);
        }
        return scratch;
    }
};

// Tokens at `position` and after; their own latent rows are in place already.
struct LatentInput {
    const float* query = nullptr; // [tokens][nh][n+r]
    const float* rows = nullptr; // [position + tokens][kl+r]
    std::uint64_t position = 0;
    std::uint32_t tokens = 0;
};
// output [tokens][nh·v]. `expand` is kv_b_proj [nh(n+v)][kl].
void attendLatentRows(const Compute& compute, const LatentShape& shape, const kernels::MatrixView& expand,
    const LatentInput& input, const LatentScratch& scratch, float* output);

} // namespace waste
