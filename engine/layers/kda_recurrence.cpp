#include "layers/kda_recurrence.h"

#include <algorithm>
#include <cmath>

namespace waste {

namespace {

constexpr std::uint32_t kSubBlock = 16; // rows whose mutual decays are evaluated pair by pair

void normalize(const kernels::KernelTable& kernels, float* row, std::uint32_t dim, float scale)
{
    const float factor = scale / std::sqrt(kernels.dot(row, row, dim) + kKdaNormEpsilon);
    for (std::uint32_t i = 0; i < dim; ++i)
        row[i] *= factor;
}

void stepToken(const kernels::KernelTable& kernels, const KdaHead& head, const KdaHeadScratch& scratch)
{
    float* const decay = scratch.decay.data();
    kernels.logDecay(head.decay, head.decayInput, decay, head.dim);
    kernels.expAndSum(decay, 0, head.dim);
    kernels.kdaStep({.state = head.state,
        .dim = head.dim,
        .query = head.query,
        .key = head.key,
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
        for (std::uint32_t begin = 0; begin < m_tokens; begin += kSubBlock) {
            const std::uint32_t end = std::min(begin + kSubBlock, m_tokens);
            productsWithEarlierBlocks(begin, end);
            productsWithinBlock(begin, end);
            solve(begin, end);
        }
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
    const float* query(std::uint32_t token) const { return m_head.query + token * m_head.stride; }
    const float* key(std::uint32_t token) const { return m_head.key + token * m_head.stride; }
    float beta(std::uint32_t token) const { return m_head.beta[token * m_head.betaStride]; }
    float* row(std::span<float> buffer, std::uint32_t token) const { return buffer.data() + token * m_dim; }
    // G after `count` tokens, in f64: differences of an f32 sum would lose their digits under strong decay.
    double* cumulative(std::uint32_t count) const { return m_scratch.cumulative.data() + count * m_dim; }

    // out = e^(G after `later` tokens − G after `earlier` tokens) ⊙ factor; later ≥ earlier, so the
    // exponents are ≤ 0.
    void decayed(std::uint32_t later, std::uint32_t earlier, const float* factor, float* out) const
    {
        m_kernels.expOfDifference(cumulative(later), cumulative(earlier), out, m_dim);
        for (std::size_t d = 0; d < m_dim; ++d)
            out[d] *= factor[d];
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
            decayed(token + 1, 0, query(token), row(m_scratch.decayedQuery, token));
            decayed(token + 1, 0, key(token), row(m_scratch.decayedKey, token));
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

    // Rows begin..end−1 of −A and Pq for columns below `begin`: with the decay up to the block's start split
    // off, the sums factor into one matrix product.
    void productsWithEarlierBlocks(std::uint32_t begin, std::uint32_t end)
    {
        if (begin == 0)
            return;
        for (std::uint32_t token = 0; token < begin; ++token)
            decayed(begin, token + 1, key(token), row(m_scratch.decay, token));
        for (std::uint32_t token = begin; token < end; ++token) {
            decayed(token + 1, begin, query(token), row(m_scratch.decayedQuery, token));
            decayed(token + 1, begin, key(token), row(m_scratch.decayedKey, token));
        }
        for (const auto& [rows, products] : {std::pair(m_scratch.decayedQuery, m_scratch.queryProducts),
                 std::pair(m_scratch.decayedKey, m_scratch.keyProducts)}) {
            m_kernels.multiplyTokens({.w = m_scratch.decay.data(),
                .wStride = m_dim,
                .rows = begin,
                .x = row(rows, begin),
                .xStride = m_dim,
                .tokens = end - begin,
                .columns = m_dim,
                .y = products.data() + std::size_t{begin} * m_tokens,
                .yStride = m_tokens,
                .accumulate = false});
        }
        for (std::uint32_t token = begin; token < end; ++token) {
            float* const products = m_scratch.keyProducts.data() + std::size_t{token} * m_tokens;
            for (std::uint32_t i = 0; i < begin; ++i)
                products[i] *= -beta(token);
        }
    }

    // The same for columns of the block itself, pair by pair. Row `begin` of `decay` is free here.
    void productsWithinBlock(std::uint32_t begin, std::uint32_t end)
    {
        float* const decayedKey = row(m_scratch.decay, begin);
        for (std::uint32_t token = begin; token < end; ++token) {
            float* const queryProducts = m_scratch.queryProducts.data() + std::size_t{token} * m_tokens;
            float* const keyProducts = m_scratch.keyProducts.data() + std::size_t{token} * m_tokens;
            for (std::uint32_t i = begin; i < token; ++i) {
                decayed(token + 1, i + 1, key(i), decayedKey);
                queryProducts[i] = m_kernels.dot(query(token), decayedKey, m_dim);
                keyProducts[i] = -beta(token) * m_kernels.dot(key(token), decayedKey, m_dim);
            }
            queryProducts[token] = m_kernels.dot(query(token), key(token), m_dim);
        }
    }

    // Rows begin..end−1 of (I + A) U = R by forward substitution.
    void solve(std::uint32_t begin, std::uint32_t end)
    {
        addEarlierUpdates(begin, end, 0, begin);
        for (std::uint32_t token = begin + 1; token < end; ++token)
            addEarlierUpdates(token, token + 1, begin, token);
    }

    // U[begin..end) −= A[.., from..to) U[from..to)
    void addEarlierUpdates(std::uint32_t begin, std::uint32_t end, std::uint32_t from, std::uint32_t to)
    {
        m_kernels.addProduct({.a = m_scratch.keyProducts.data() + std::size_t{begin} * m_tokens + from,
            .aRowStride = m_tokens,
            .aDepthStride = 1,
            .b = row(m_scratch.update, from),
            .bStride = m_dim,
            .c = row(m_scratch.update, begin),
            .cStride = m_dim,
            .rows = end - begin,
            .depth = to - from,
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
    const float queryScale = 1.0F / std::sqrt(static_cast<float>(head.dim));
    for (std::uint32_t token = 0; token < head.tokens; ++token) {
        normalize(kernels, head.query + token * head.stride, head.dim, queryScale);
        normalize(kernels, head.key + token * head.stride, head.dim, 1);
    }
    for (std::uint32_t begin = 0; begin < head.tokens; begin += kKdaChunkTokens) {
        KdaHead part = head;
        part.tokens = std::min(kKdaChunkTokens, head.tokens - begin);
        part.query += begin * head.stride;
        part.key += begin * head.stride;
        part.value += begin * head.stride;
        part.decayInput += begin * head.stride;
        part.output += begin * head.stride;
        part.beta += begin * head.betaStride;
        if (part.tokens == 1)
            stepToken(kernels, part, scratch);
        else
            ChunkForm(kernels, part, scratch).run();
    }
}

} // namespace waste
