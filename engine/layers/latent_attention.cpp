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
        const std::uint64_t positions = m_input.position + m_tokens;
        const std::uint64_t spanRows = spanRowsOf(positions);
        const auto spans = static_cast<std::uint32_t>(ceilDivide(positions, spanRows));
        const std::uint32_t blockQueries = blockQueriesOf(queries, spans);
        const std::uint32_t blocks = ceilDivide(queries, blockQueries);
        const std::size_t multiplyAdds = std::min(positions, spanRows) * (m_rowWidth + m_shape.latent) * blockQueries;
        m_compute.pool.parallelFor(blocks * spans, pieceGrain(multiplyAdds),
            [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
                for (std::uint32_t item = begin; item < end; ++item) {
                    const std::uint32_t first = item % blocks * blockQueries;
                    const std::uint64_t from = item / blocks * spanRows;
                    attendBlock({first, std::min(first + blockQueries, queries)}, item / blocks * queries, from,
                        std::min(from + spanRows, positions), m_scratch.workers[worker]);
                }
            });
        m_compute.pool.parallelFor(queries, pieceGrain(spans * std::size_t{m_shape.latent}),
            [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
                for (std::uint32_t query = begin; query < end; ++query)
                    joinSpans(query, spans, queries);
            });
    }

    // Large blocks read the latent rows less often, but every worker should have some: a query's result does not depend
    // on its block.
    [[nodiscard]] std::uint32_t blockQueriesOf(std::uint32_t queries, std::uint32_t spans) const
    {
        const std::size_t itemsWanted = 2 * m_scratch.workers.size();
        std::uint32_t count = kLatentQueryBlock;
        while (count > kLatentLanes && std::size_t{ceilDivide(queries, count)} * spans < itemsWanted)
            count /= 2;
        return count;
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
    void attendBlock(const Queries& queries, std::uint32_t firstRow, std::uint64_t begin, std::uint64_t end,
        const LatentScratch::Worker& buffers)
    {
        const std::size_t latent = m_shape.latent;
        const std::size_t count = queries.last - queries.first;
        const std::size_t lanes = roundUp<std::size_t>(count, kLatentLanes);
        float* const scores = buffers.scores.data();
        const Sums sums{.maxima = m_scratch.maxima.data() + firstRow + queries.first,
            .sums = m_scratch.sums.data() + firstRow + queries.first,
            .output = m_scratch.latentOutput.data() + std::size_t{firstRow + queries.first} * latent};
        std::fill_n(sums.maxima, count, -std::numeric_limits<float>::infinity());
        std::fill_n(sums.sums, count, 0.0F);
        std::fill_n(sums.output, count * latent, 0.0F);
        turnQueries(queries, lanes, buffers.turned.data());
        end = std::min(end, positionsSeen(queries.last - 1));
        for (std::uint64_t position = begin; position < end; position += kLatentTileRows) {
            const auto rowCount = static_cast<std::uint32_t>(std::min<std::uint64_t>(kLatentTileRows, end - position));
            const float* const rows = m_input.rows + position * m_rowWidth;
            scoreTile(rows, rowCount, buffers.turned.data(), lanes, scores);
            hideLaterRows(queries, position, rowCount, lanes, scores);
            weighTile({scores, rowCount * lanes}, lanes, count, sums);
            addRows(queries, rows, position, rowCount, scores, lanes, sums.output);
        }
    }

    // Of the rows that a token may see: others, which may be no numbers, never meet its queries, whoever shares the
    // block.
    void addRows(const Queries& queries, const float* rows, std::uint64_t position, std::uint32_t rowCount,
        const float* scores, std::size_t lanes, float* output) const
    {
        for (std::uint32_t first = queries.first; first < queries.last;) {
            const std::uint64_t seen = positionsSeen(first);
            const bool isWhole = seen >= position + rowCount; // and so it is for all that follow
            const std::uint32_t last =
                isWhole ? queries.last : std::min(queries.last, (first / m_shape.heads + 1) * m_shape.heads);
            const std::size_t lane = first - queries.first;
            if (seen > position)
                m_compute.kernels.addProduct({.a = scores + lane,
                    .aRowStride = 1,
                    .aDepthStride = lanes,
                    .b = rows,
                    .bStride = m_rowWidth,
                    .c = output + lane * m_shape.latent,
                    .cStride = m_shape.latent,
                    .rows = last - first,
                    .depth = isWhole ? rowCount : static_cast<std::size_t>(seen - position),
                    .columns = m_shape.latent});
            first = last;
        }
    }

    // turned [kl+r][lanes]; lanes without a query are zeros.
    void turnQueries(const Queries& queries, std::size_t lanes, float* turned) const
    {
        const std::size_t count = queries.last - queries.first;
        const float* const absorbed = m_scratch.absorbedQuery.data() + queries.first * m_rowWidth;
        for (std::size_t i = 0; i < m_rowWidth; ++i) {
            for (std::size_t lane = 0; lane < lanes; ++lane)
                turned[i * lanes + lane] = lane < count ? absorbed[lane * m_rowWidth + i] : 0.0F;
        }
    }

    // scores [tile rows][lanes]
    void scoreTile(
        const float* rows, std::uint32_t rowCount, const float* turned, std::size_t lanes, float* scores) const
    {
        std::fill_n(scores, rowCount * lanes, 0.0F);
        for (std::size_t column = 0; column < m_rowWidth; column += kLatentDepth) {
            m_compute.kernels.addProduct({.a = rows + column,
                .aRowStride = m_rowWidth,
                .aDepthStride = 1,
                .b = turned + column * lanes,
                .bStride = lanes,
                .c = scores,
                .cStride = lanes,
                .rows = rowCount,
                .depth = std::min<std::size_t>(kLatentDepth, m_rowWidth - column),
                .columns = lanes});
        }
    }

    // Scores become −∞ where a query may not look.
    void hideLaterRows(
        const Queries& queries, std::uint64_t position, std::uint32_t rowCount, std::size_t lanes, float* scores) const
    {
        for (std::uint32_t query = queries.first; query < queries.last; ++query) {
            const std::uint64_t seen = positionsSeen(query);
            for (std::uint64_t row = seen > position ? seen - position : 0; row < rowCount; ++row)
                scores[row * lanes + query - queries.first] = -std::numeric_limits<float>::infinity();
        }
    }

    // What the queries of a block have come to so far.
    struct Sums {
        float* maxima;
        float* sums;
        float* output; // [queries][kl]
    };

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

    // Scores become e^(s − maximum), after what was summed so far has been brought to the new maximum. The first tile
    // shows something to every query, so that no maximum stays −∞. Loops over sixteen lanes become vectors.
    void weighTile(std::span<float> scores, std::size_t lanes, std::size_t count, const Sums& sums) const
    {
        for (std::size_t first = 0; first < count; first += kLatentLanes) {
            float tileMaxima[kLatentLanes];
            std::copy_n(scores.data() + first, kLatentLanes, tileMaxima);
            for (std::size_t row = first; row < scores.size(); row += lanes) {
                for (std::size_t i = 0; i < kLatentLanes; ++i)
                    tileMaxima[i] = tileMaxima[i] < scores[row + i] ? scores[row + i] : tileMaxima[i];
            }
            float shifts[kLatentLanes] = {};
            for (std::size_t i = 0; i < std::min<std::size_t>(kLatentLanes, count - first); ++i)
                shifts[i] = raiseMaximum(first + i, tileMaxima[i], sums);
            for (std::size_t row = first; row < scores.size(); row += lanes) {
                for (std::size_t i = 0; i < kLatentLanes; ++i)
                    scores[row + i] -= shifts[i];
            }
        }
        m_compute.kernels.expAndSum(scores.data(), 0, scores.size());
        for (std::size_t first = 0; first < count; first += kLatentLanes) {
            float tileSums[kLatentLanes] = {};
            for (std::size_t row = first; row < scores.size(); row += lanes) {
                for (std::size_t i = 0; i < kLatentLanes; ++i)
                    tileSums[i] += scores[row + i];
            }
            for (std::size_t i = 0; i < std::min<std::size_t>(kLatentLanes, count - first); ++i)
                sums.sums[first + i] += tileSums[i];
        }
    }

    // Returns the maximum of what the query has seen.
    float raiseMaximum(std::size_t query, float tileMaximum, const Sums& sums) const
    {
        float& maximum = sums.maxima[query];
        if (tileMaximum > maximum) {
            const float factor = std::exp(maximum - tileMaximum);
            multiplyBy(factor, sums.output + query * m_shape.latent, m_shape.latent);
            sums.sums[query] *= factor;
            maximum = tileMaximum;
        }
        return maximum;
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
        constexpr std::size_t kTogether = 8; // which the compiler makes vectors of
        std::size_t i = 0;
        for (; i + kTogether <= count; i += kTogether) {
            for (std::size_t k = 0; k < kTogether; ++k)
                values[i + k] *= factor;
        }
        for (; i < count; ++i)
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
