#include "layers/latent_attention.h"

#include "base/checked.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace waste {

namespace {

class LatentAttention {
public:
    LatentAttention(const Compute& compute, const LatentShape& shape, const kernels::MatrixView& expand,
        const LatentInput& input, const LatentScratch& scratch, float* output)
        : m_compute(compute)
        , m_shape(shape)
        , m_expand(expand)
        , m_input(input)
        , m_scratch(scratch)
        , m_output(output)
        , m_rowWidth(shape.rowWidth())
        , m_tokens(input.tokens)
    {
    }

    void run()
    {
        forEachHead(std::size_t{m_shape.nope} * m_shape.latent,
            [this](std::uint32_t head, std::uint32_t worker) { absorbQuery(head, worker); });
        attend();
        forEachHead(std::size_t{m_shape.value} * m_shape.latent,
            [this](std::uint32_t head, std::uint32_t worker) { expandOutput(head, worker); });
    }

private:
    template<typename Body>
    void forEachHead(std::size_t multiplyAddsPerToken, const Body& body)
    {
        m_compute.pool.parallelFor(m_shape.heads, pieceGrain(multiplyAddsPerToken * m_tokens),
            [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
                for (std::uint32_t head = begin; head < end; ++head)
                    body(head, worker);
            });
    }

    // Row of kv_b at which a head begins: n rows of W_K, then v rows of W_V.
    [[nodiscard]] std::uint32_t firstRow(std::uint32_t head) const { return head * (m_shape.nope + m_shape.value); }

    // q̃ = [W_Kᵀ q_nope ; q_rope] · (n+r)^-1/2 for all tokens
    void absorbQuery(std::uint32_t head, std::uint32_t worker)
    {
        const std::size_t latent = m_shape.latent;
        const float scale = 1.0F / std::sqrt(static_cast<float>(m_shape.nope + m_shape.rope));
        const float* const query = m_input.query + std::size_t{head} * (m_shape.nope + m_shape.rope);
        float* const absorbed = m_scratch.absorbedQuery.data() + head * m_rowWidth;
        const std::size_t absorbedStride = m_shape.heads * m_rowWidth;
        float* const keyRows = m_scratch.workers[worker].keyRows.data();
        for (std::uint32_t i = 0; i < m_shape.nope; ++i)
            m_compute.kernels.unpackRow(m_expand, firstRow(head) + i, 0, m_shape.latent, keyRows + i * latent);
        for (std::size_t token = 0; token < m_tokens; ++token) {
            float* const row = absorbed + token * absorbedStride;
            std::fill_n(row, latent, 0.0F);
            std::copy_n(query + token * m_shape.queryWidth() + m_shape.nope, m_shape.rope, row + latent);
        }
        m_compute.kernels.addProduct({.a = query,
            .aRowStride = m_shape.queryWidth(),
            .aDepthStride = 1,
            .b = keyRows,
            .bStride = latent,
            .c = absorbed,
            .cStride = absorbedStride,
            .rows = m_tokens,
            .depth = m_shape.nope,
            .columns = latent});
        for (std::size_t token = 0; token < m_tokens; ++token)
            multiplyBy(scale, absorbed + token * absorbedStride, m_rowWidth);
    }

    // Blocks of queries by spans of positions, then what the spans of a query come to.
    void attend()
    {
        const std::uint32_t queries = m_tokens * m_shape.heads;
        const std::uint32_t blocks = ceilDivide(queries, kLatentQueryBlock);
        const std::uint64_t positions = m_input.position + m_tokens;
        const std::uint64_t spanRows = spanRowsOf(positions);
        const auto spans = static_cast<std::uint32_t>(ceilDivide(positions, spanRows));
        const std::size_t multiplyAdds =
            std::min(positions, spanRows) * (m_rowWidth + m_shape.latent) * kLatentQueryBlock;
        m_compute.pool.parallelFor(blocks * spans, pieceGrain(multiplyAdds),
            [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
                for (std::uint32_t item = begin; item < end; ++item) {
                    const std::uint32_t first = item % blocks * kLatentQueryBlock;
                    const std::uint64_t from = item / blocks * spanRows;
                    attendBlock({first, std::min(first + kLatentQueryBlock, queries)}, item / blocks * queries, from,
                        std::min(from + spanRows, positions), m_scratch.workers[worker].scores.data());
                }
            });
        m_compute.pool.parallelFor(queries, pieceGrain(spans * std::size_t{m_shape.latent}),
            [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
                for (std::uint32_t query = begin; query < end; ++query)
                    joinSpans(query, spans, queries);
            });
    }

    [[nodiscard]] std::uint64_t spanRowsOf(std::uint64_t positions) const
    {
        if (m_tokens > 1)
            return positions;
        std::uint64_t rows = kLatentSpanRows;
        while (rows * kLatentSpansMax < positions)
            rows *= 2;
        return rows;
    }

    struct Queries { // first..last−1, counted token by token and head by head
        std::uint32_t first = 0;
        std::uint32_t last = 0;
    };

    // Some queries over the positions of a span that they may see: a softmax that runs along with the rows. Tiles start
    // at multiples of their size whatever the chunk, so that a query's result does not depend on the chunk. Results go
    // to the rows from `firstRow` on.
    void attendBlock(
        const Queries& queries, std::uint32_t firstRow, std::uint64_t begin, std::uint64_t end, float* scores)
    {
        const auto& [first, last] = queries;
        const std::size_t latent = m_shape.latent;
        float* const maxima = m_scratch.maxima.data() + firstRow + first;
        float* const sums = m_scratch.sums.data() + firstRow + first;
        float* const output = m_scratch.latentOutput.data() + std::size_t{firstRow + first} * latent;
        std::fill_n(maxima, last - first, -std::numeric_limits<float>::infinity());
        std::fill_n(sums, last - first, 0.0F);
        std::fill_n(output, (last - first) * latent, 0.0F);
        end = std::min(end, positionsSeen(last - 1));
        for (std::uint64_t position = begin; position < end; position += kLatentTileRows) {
            const auto rowCount = static_cast<std::uint32_t>(std::min<std::uint64_t>(kLatentTileRows, end - position));
            const float* const rows = m_input.rows + position * m_rowWidth;
            scoreTile(first, last, rows, rowCount, scores);
            for (std::uint32_t query = first; query < last; ++query) {
                const std::size_t i = query - first;
                const std::uint64_t seen = positionsSeen(query);
                const std::uint64_t visible = seen > position ? std::min<std::uint64_t>(rowCount, seen - position) : 0;
                weighTile({scores + i * kLatentTileRows, rowCount}, static_cast<std::size_t>(visible), maxima[i],
                    sums[i], output + i * latent);
            }
            m_compute.kernels.addProduct({.a = scores,
                .aRowStride = kLatentTileRows,
                .aDepthStride = 1,
                .b = rows,
                .bStride = m_rowWidth,
                .c = output,
                .cStride = latent,
                .rows = last - first,
                .depth = rowCount,
                .columns = latent});
        }
    }

    // Brings the spans of a query to one maximum, adds them up in their order, and divides by the sum. Spans lie
    // `stride` rows apart.
    void joinSpans(std::uint32_t query, std::uint32_t spans, std::uint32_t stride)
    {
        const std::size_t latent = m_shape.latent;
        float* const output = m_scratch.latentOutput.data() + query * latent;
        float maximum = m_scratch.maxima[query];
        for (std::uint32_t span = 1; span < spans; ++span)
            maximum = std::max(maximum, m_scratch.maxima[query + span * stride]);
        float sum = 0;
        for (std::uint32_t span = 0; span < spans; ++span) {
            const std::size_t row = query + std::size_t{span} * stride;
            const float factor = std::exp(m_scratch.maxima[row] - maximum);
            sum += factor * m_scratch.sums[row];
            if (span == 0)
                multiplyBy(factor, output, latent);
            else
                m_compute.kernels.addScaled(factor, m_scratch.latentOutput.data() + row * latent, output, latent);
        }
        multiplyBy(1.0F / sum, output, latent);
    }

    [[nodiscard]] std::uint64_t positionsSeen(std::uint32_t query) const
    {
        return m_input.position + query / m_shape.heads + 1;
    }

    // scores [queries][tile rows]
    void scoreTile(
        std::uint32_t first, std::uint32_t last, const float* rows, std::uint32_t rowCount, float* scores) const
    {
        m_compute.kernels.multiplyTokens({.w = rows,
            .wStride = m_rowWidth,
            .rows = rowCount,
            .x = m_scratch.absorbedQuery.data() + first * m_rowWidth,
            .xStride = m_rowWidth,
            .tokens = last - first,
            .columns = m_rowWidth,
            .y = scores,
            .yStride = kLatentTileRows,
            .accumulate = false});
    }

    // One query's part of a tile: its scores become e^(s − maximum), zero where the query may not look, after
    // what was summed so far has been brought to the new maximum.
    void weighTile(std::span<float> scores, std::size_t visible, float& maximum, float& sum, float* output) const
    {
        const auto visibleEnd = scores.begin() + static_cast<std::ptrdiff_t>(visible);
        std::fill(visibleEnd, scores.end(), 0.0F);
        if (visible == 0)
            return;
        const float tileMaximum = *std::max_element(scores.begin(), visibleEnd);
        if (tileMaximum > maximum) {
            const float factor = std::exp(maximum - tileMaximum);
            multiplyBy(factor, output, m_shape.latent);
            sum *= factor;
            maximum = tileMaximum;
        }
        sum += m_compute.kernels.expAndSum(scores.data(), maximum, visible);
    }

    // o_h = W_V c̃ for all tokens
    void expandOutput(std::uint32_t head, std::uint32_t worker)
    {
        const std::size_t latent = m_shape.latent;
        const kernels::MatrixView valueRows = kernels::rowRange(m_expand, firstRow(head) + m_shape.nope, m_shape.value);
        multiply(m_compute.kernels, valueRows,
            {m_scratch.latentOutput.data() + head * latent, m_shape.heads * latent, m_tokens},
            {m_output + std::size_t{head} * m_shape.value, m_shape.outputWidth()}, 0, m_shape.value,
            m_compute.tile(worker));
    }

    static void multiplyBy(float factor, float* values, std::size_t count)
    {
        for (std::size_t i = 0; i < count; ++i)
            values[i] *= factor;
    }

    const Compute& m_compute;
    const LatentShape& m_shape;
    const kernels::MatrixView& m_expand;
    const LatentInput& m_input;
    const LatentScratch& m_scratch;
    float* const m_output;
    const std::size_t m_rowWidth;
    const std::uint32_t m_tokens;
};

} // namespace

void attendLatentRows(const Compute& compute, const LatentShape& shape, const kernels::MatrixView& expand,
    const LatentInput& input, const LatentScratch& scratch, float* output)
{
    LatentAttention(compute, shape, expand, input, scratch, output).run();
}

} // namespace waste
