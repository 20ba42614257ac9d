#include "layers/kda_recurrence.h"

#include <algorithm>
#include <cmath>

namespace waste {

namespace {

void normalize(const kernels::KernelTable& kernels, const float* row, std::uint32_t dim, float scale, float* out)
{
    const float factor = scale / std::sqrt(kernels.dot(row, row, dim) + kKdaNormEpsilon);
    for (std::uint32_t i = 0; i < dim; ++i)
        out[i] = row[i] * factor;
}

// Rows of one head lie far apart, a power of two in the models we know, so that they would push each other out of the
// first cache; those that are read often are copied.
void normalizeAll(const kernels::KernelTable& kernels, const KdaHead& head, const KdaHeadScratch& scratch)
{
    const float queryScale = 1.0F / std::sqrt(static_cast<float>(head.dim));
    for (std::size_t token = 0; token < head.tokens; ++token) {
        normalize(kernels, head.query + token * head.stride, head.dim, queryScale, &scratch.query[token * head.dim]);
        normalize(kernels, head.key + token * head.stride, head.dim, 1, &scratch.key[token * head.dim]);
    }
}

void stepToken(const kernels::KernelTable& kernels, const KdaHead& head, const KdaHeadScratch& scratch)
{
    float* const decay = scratch.decay.data();
    kernels.logDecay(head.decay, head.decayInput, decay, head.dim);
    kernels.expAndSum(decay, 0, head.dim);
    kernels.kdaStep({.state = head.state,
        .dim = head.dim,
        .query = scratch.query.data(),
        .key = scratch.key.data(),
        .value = head.value,
        .decay = decay,
        .beta = *head.beta,
        .output = head.output});
}

// The parallel form of spec: model 6.5, whose names the members have. Rows of its own buffers are D apart.
class ChunkForm {
public:
    ChunkForm(const kernels::KernelTable& kernels, const KdaHead& head, const KdaHeadScratch& scratch)
        : m_kernels(kernels)
        , m_head(head)
        , m_scratch(scratch)
        , m_dim(head.dim)
        , m_tokens(head.tokens)
    {
    }

    void run()
    {
        accumulateDecays();
        startFromState();
        std::fill_n(m_scratch.queryProducts.data(), std::size_t{m_tokens} * m_tokens, 0.0F);
        solveRows(0, m_tokens);
        // O += Pq U
        m_kernels.addProduct({.a = m_scratch.queryProducts.data(),
            .aRowStride = m_tokens,
            .aDepthStride = 1,
            .b = m_scratch.update.data(),
            .bStride = m_dim,
            .c = m_head.output,
            .cStride = m_head.stride,
            .rows = m_tokens,
            .depth = m_tokens,
            .columns = m_dim});
        advanceState();
    }

private:
    const float* query(std::uint32_t token) const { return row(m_scratch.query, token); }
    const float* key(std::uint32_t token) const { return row(m_scratch.key, token); }
    float beta(std::uint32_t token) const { return m_head.beta[token * m_head.betaStride]; }
    float* row(std::span<float> buffer, std::uint32_t token) const { return buffer.data() + token * m_dim; }
    float* product(std::span<float> buffer, std::uint32_t token, std::uint32_t earlier) const
    {
        return buffer.data() + std::size_t{token} * m_tokens + earlier;
    }
    // G after `count` tokens, in f64: differences of an f32 sum would lose their digits under strong decay.
    double* cumulative(std::uint32_t count) const { return m_scratch.cumulative.data() + count * m_dim; }

    // out = e^(G after `later` tokens − G after `earlier` tokens) ⊙ factor; later ≥ earlier, so the
    // exponents are ≤ 0.
    void decayed(std::uint32_t later, std::uint32_t earlier, const float* factor, float* out) const
    {
        m_kernels.expOfDifference(cumulative(later), cumulative(earlier), out, m_dim);
        multiply(out, factor, out);
    }

    // The same of query and key of one token, from after it back to after `earlier` tokens.
    void decayQueryAndKey(std::uint32_t token, std::uint32_t earlier) const
    {
        float* const decayedQuery = row(m_scratch.decayedQuery, token);
        float* const decayedKey = row(m_scratch.decayedKey, token);
        m_kernels.expOfDifference(cumulative(token + 1), cumulative(earlier), decayedQuery, m_dim);
        multiply(decayedQuery, key(token), decayedKey);
        multiply(decayedQuery, query(token), decayedQuery);
    }

    void multiply(const float* a, const float* b, float* out) const
    {
        for (std::size_t d = 0; d < m_dim; ++d)
            out[d] = a[d] * b[d];
    }

    void accumulateDecays()
    {
        std::fill_n(cumulative(0), m_dim, 0.0);
        for (std::uint32_t token = 0; token < m_tokens; ++token) {
            float* const g = row(m_scratch.decay, token);
            m_kernels.logDecay(m_head.decay, m_head.decayInput + token * m_head.stride, g, m_dim);
            for (std::size_t d = 0; d < m_dim; ++d)
                cumulative(token + 1)[d] = cumulative(token)[d] + double{g[d]};
        }
    }

    // What the incoming state contributes: O = (Q ⊙ e^G) S0 and U = R = diag(β) (V − (K ⊙ e^G) S0).
    void startFromState()
    {
        for (std::uint32_t token = 0; token < m_tokens; ++token) {
            decayQueryAndKey(token, 0);
            std::fill_n(m_head.output + token * m_head.stride, m_dim, 0.0F);
            std::fill_n(row(m_scratch.update, token), m_dim, 0.0F);
        }
        multiplyByState(m_scratch.decayedQuery, m_head.output, m_head.stride);
        multiplyByState(m_scratch.decayedKey, m_scratch.update.data(), m_dim);
        for (std::uint32_t token = 0; token < m_tokens; ++token) {
            const float* const value = m_head.value + token * m_head.stride;
            float* const u = row(m_scratch.update, token);
            for (std::size_t j = 0; j < m_dim; ++j)
                u[j] = beta(token) * (value[j] - u[j]);
        }
    }

    void multiplyByState(std::span<float> rows, float* out, std::size_t outStride)
    {
        m_kernels.addProduct({.a = rows.data(),
            .aRowStride = m_dim,
            .aDepthStride = 1,
            .b = m_head.state,
            .bStride = m_dim,
            .c = out,
            .cStride = outStride,
            .rows = m_tokens,
            .depth = m_dim,
            .columns = m_dim});
    }

    // Rows and columns begin..end−1 of −A and Pq, and with them the same rows of (I + A) U = R, by halves.
    void solveRows(std::uint32_t begin, std::uint32_t end)
    {
        if (end - begin == 1) {
            *product(m_scratch.queryProducts, begin, begin) = m_kernels.dot(query(begin), key(begin), m_dim);
            return;
        }
        const std::uint32_t middle = begin + (end - begin) / 2;
        solveRows(begin, middle);
        multiplyHalves(begin, middle, end);
        addUpdates(begin, middle, end);
        solveRows(middle, end);
    }

    // Rows middle..end−1 of −A and Pq for columns begin..middle−1: with the decays split at the middle, the sums
    // factor into one matrix product.
    void multiplyHalves(std::uint32_t begin, std::uint32_t middle, std::uint32_t end)
    {
        for (std::uint32_t token = begin; token < middle; ++token)
            decayed(middle, token + 1, key(token), row(m_scratch.decay, token));
        for (std::uint32_t token = middle; token < end; ++token)
            decayQueryAndKey(token, middle);
        for (const auto& [rows, products] : {std::pair(m_scratch.decayedQuery, m_scratch.queryProducts),
                 std::pair(m_scratch.decayedKey, m_scratch.keyProducts)}) {
            m_kernels.multiplyTokens({.w = row(m_scratch.decay, begin),
                .wStride = m_dim,
                .rows = middle - begin,
                .x = row(rows, middle),
                .xStride = m_dim,
                .tokens = end - middle,
                .columns = m_dim,
                .y = product(products, middle, begin),
                .yStride = m_tokens,
                .accumulate = false});
        }
        for (std::uint32_t token = middle; token < end; ++token) {
            for (std::uint32_t earlier = begin; earlier < middle; ++earlier)
                *product(m_scratch.keyProducts, token, earlier) *= -beta(token);
        }
    }

    // U[middle..end) −= A[.., begin..middle) U[begin..middle)
    void addUpdates(std::uint32_t begin, std::uint32_t middle, std::uint32_t end)
    {
        m_kernels.addProduct({.a = product(m_scratch.keyProducts, middle, begin),
            .aRowStride = m_tokens,
            .aDepthStride = 1,
            .b = row(m_scratch.update, begin),
            .bStride = m_dim,
            .c = row(m_scratch.update, middle),
            .cStride = m_dim,
            .rows = end - middle,
            .depth = middle - begin,
            .columns = m_dim});
    }

    // S = diag(e^G_n) S0 + (K ⊙ e^(G_n − G))ᵀ U
    void advanceState()
    {
        float* const kept = m_scratch.decay.data();
        m_kernels.expOfDifference(cumulative(m_tokens), cumulative(0), kept, m_dim);
        for (std::size_t d = 0; d < m_dim; ++d) {
            for (std::size_t j = 0; j < m_dim; ++j)
                m_head.state[d * m_dim + j] *= kept[d];
        }
        for (std::uint32_t token = 0; token < m_tokens; ++token)
            decayed(m_tokens, token + 1, key(token), row(m_scratch.decayedKey, token));
        m_kernels.addProduct({.a = m_scratch.decayedKey.data(),
            .aRowStride = 1,
            .aDepthStride = m_dim,
            .b = m_scratch.update.data(),
            .bStride = m_dim,
            .c = m_head.state,
            .cStride = m_dim,
            .rows = m_dim,
            .depth = m_tokens,
            .columns = m_dim});
    }

    const kernels::KernelTable& m_kernels;
    const KdaHead& m_head;
    const KdaHeadScratch& m_scratch;
    const std::size_t m_dim;
    const std::uint32_t m_tokens;
};

} // namespace

void runKdaHead(const kernels::KernelTable& kernels, const KdaHead& head, const KdaHeadScratch& scratch)
{
    for (std::uint32_t begin = 0; begin < head.tokens; begin += kKdaChunkTokens) {
        KdaHead part = head;
        part.tokens = std::min(kKdaChunkTokens, head.tokens - begin);
        part.query += begin * head.stride;
        part.key += begin * head.stride;
        part.value += begin * head.stride;
        part.decayInput += begin * head.stride;
        part.output += begin * head.stride;
        part.beta += begin * head.betaStride;
        normalizeAll(kernels, part, scratch);
        if (part.tokens == 1)
            stepToken(kernels, part, scratch);
        else
            ChunkForm(kernels, part, scratch).run();
    }
}

} // namespace waste
