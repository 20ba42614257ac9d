// What layers compute besides products with weights, on one core: delta attention, latent attention, norms, softmax
// and activations.

#include "benchmark_kernels.h"

#include "layers/kda_recurrence.h"
#include "layers/latent_attention.h"
#include "layers/norm.h"
#include "memory/arena.h"
#include "platform/pages.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace waste::benchmark {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPieceFloats = std::size_t{1} << 20;
constexpr std::size_t kPieceCount = 64; // together more than any last-level cache here
constexpr std::uint32_t kHeadDim = 128;
constexpr std::size_t kRowWidth = 7168; // K3's hidden state

std::vector<float> randomValues(std::size_t count, float low, float high)
{
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(low, high);
    std::vector<float> values(count);
    for (float& value : values)
        value = uniform(random);
    return values;
}

// Floats that come from memory, as each piece is used once: what changes them in place never meets its own results.
class Stream {
public:
    static Result<Stream> make(float low, float high)
    {
        Stream stream;
        WASTE_TRY(stream.m_pages, Pages::allocate(kPieceCount * kPieceFloats * sizeof(float), "a benchmark"));
        const std::vector<float> values = randomValues(kPieceFloats, low, high);
        for (std::size_t i = 0; i < kPieceCount; ++i)
            std::ranges::copy(values, stream.piece(i).begin());
        return stream;
    }
    [[nodiscard]] std::span<float> piece(std::size_t index) const
    {
        return {reinterpret_cast<float*>(m_pages.bytes().data()) + index * kPieceFloats, kPieceFloats};
    }

private:
    Pages m_pages;
};

// Of the piece that was disturbed least.
template<typename Work>
double fastestPiece(Work&& work)
{
    double best = 1e9;
    for (std::size_t i = 0; i < kPieceCount; ++i) {
        const auto start = Clock::now();
        work(i);
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return best;
}

class LayerBenchmark {
public:
    explicit LayerBenchmark(const KernelRun& run)
        : m_run(run)
    {
    }

    Status measure()
    {
        WASTE_TRY_STATUS(measureRows());
        WASTE_TRY_STATUS(measureActivations());
        WASTE_TRY_STATUS(measureStep());
        WASTE_TRY_STATUS(measureChunk());
        return measureAttention();
    }

private:
    // Each value of a piece is moved `transfers` times: read, or written back.
    void addStream(const std::string& name, double transfers, double seconds)
    {
        const double bytes = transfers * kPieceFloats * sizeof(float);
        m_run.table.add({name, bytes / seconds / 1e9, "GB/s", m_run.memory.oneThread});
    }

    Status measureRows()
    {
        WASTE_TRY(const Stream stream, Stream::make(-1, 1));
        const std::vector<float> weights(kRowWidth, 1.0F);
        addStream("RMS norm of 7168 values", 2,
            fastestPiece([&](std::size_t i) {
                const std::span<float> piece = stream.piece(i);
                for (std::size_t at = 0; at + kRowWidth <= piece.size(); at += kRowWidth)
                    rmsNorm(m_run.kernels, &piece[at], weights.data(), 1e-5F, &piece[at], kRowWidth);
            }) * kPieceFloats
                / (kPieceFloats / kRowWidth * kRowWidth));
        constexpr std::size_t kScores = 32768;
        WASTE_TRY(const Stream scores, Stream::make(-1, 1));
        float sum = 0;
        addStream("softmax of 32768 scores, exponentials and sum", 2, fastestPiece([&](std::size_t i) {
            for (std::size_t at = 0; at < kPieceFloats; at += kScores)
                sum += m_run.kernels.expAndSum(&scores.piece(i)[at], 1, kScores);
        }));
        return sum > 0 ? Status() : Error{ErrorCode::Internal, "", "a softmax without a sum"};
    }

    Status measureActivations()
    {
        WASTE_TRY(const Stream gate, Stream::make(-4, 4));
        WASTE_TRY(const Stream up, Stream::make(-4, 4));
        const auto add = [&](const std::string& name, auto&& apply) {
            addStream(name, 3, fastestPiece([&](std::size_t i) { apply(gate.piece(i).data(), up.piece(i).data()); }));
        };
        add("activation SiLU, gate and up",
            [this](float* gates, const float* ups) { m_run.kernels.silu(gates, ups, kPieceFloats); });
        add("activation SiTU, gate and up", [this](float* gates, const float* ups) {
            m_run.kernels.situ({.beta = 4, .linearBeta = 4}, gates, ups, kPieceFloats);
        });
        add("gate by a sigmoid",
            [this](float* values, const float* gates) { m_run.kernels.multiplySigmoid(gates, values, kPieceFloats); });
        return {};
    }

    // Each state comes from memory and goes back there.
    Status measureStep()
    {
        WASTE_TRY(const Stream states, Stream::make(-1, 1));
        const std::vector<float> x = randomValues(std::size_t{3} * kHeadDim, -0.1F, 0.1F);
        const std::vector<float> decay(kHeadDim, 0.9F);
        std::vector<float> output(kHeadDim);
        addStream("delta attention, step of a head of 128 x 128", 2, fastestPiece([&](std::size_t i) {
            for (std::size_t at = 0; at < kPieceFloats; at += kHeadDim * kHeadDim) {
                m_run.kernels.kdaStep({.state = &states.piece(i)[at],
                    .dim = kHeadDim,
                    .query = x.data(),
                    .key = x.data() + kHeadDim,
                    .value = x.data() + 2 * kHeadDim,
                    .decay = decay.data(),
                    .beta = 0.5F,
                    .output = output.data()});
            }
        }));
        return {};
    }

    Status measureChunk()
    {
        constexpr std::uint32_t kTokens = kKdaChunkTokens;
        ArenaSize size;
        KdaHeadScratch::carve(size, kHeadDim, kTokens);
        WASTE_TRY(Arena arena, Arena::create(size.bytes(), "a benchmark"));
        const KdaHeadScratch scratch = KdaHeadScratch::carve(arena, kHeadDim, kTokens);
        std::vector<float> query = randomValues(std::size_t{kTokens} * kHeadDim, -0.1F, 0.1F);
        std::vector<float> key = query;
        const std::vector<float> value = query;
        const std::vector<float> decayInput = query;
        const std::vector<float> beta(kTokens, 0.5F);
        std::vector<float> output(query.size());
        std::vector<float> state(std::size_t{kHeadDim} * kHeadDim);
        const KdaHead head{.dim = kHeadDim,
            .tokens = kTokens,
            .stride = kHeadDim,
            .query = query.data(),
            .key = key.data(),
            .value = value.data(),
            .decayInput = decayInput.data(),
            .output = output.data(),
            .beta = beta.data(),
            .betaStride = 1,
            .decay = {.rate = 1, .lowerBound = -5},
            .state = state.data()};
        const double seconds = bestSeconds(64, [&] { runKdaHead(m_run.kernels, head, scratch); });
        // Three products with the state, and four triangles of tokens by tokens (spec: model 6.5).
        constexpr double kMultiplyAdds =
            3.0 * kTokens * kHeadDim * kHeadDim + 4.0 / 2 * double{kTokens} * kTokens * kHeadDim;
        m_run.table.add({"delta attention, 64 tokens of a head of 128 x 128", kMultiplyAdds / seconds / 1e9, "GMAC/s",
            m_run.multiplyAdds});
        return {};
    }

    // Kimi-Linear's heads, for a lone token and for a piece of a prompt.
    Status measureAttention()
    {
        constexpr LatentShape kShape = {.heads = 32, .nope = 128, .rope = 64, .value = 128, .latent = 512};
        constexpr std::uint64_t kPosition = 8192;
        ThreadPool pool({.threadCount = 1});
        std::vector<float> tiles(kernels::kTileFloats);
        const Compute compute{m_run.kernels, pool, tiles};
        ArenaSize size;
        LatentScratch::carve(size, kShape, kPieceTokens, 1);
        WASTE_TRY(Arena arena, Arena::create(size.bytes(), "a benchmark"));
        const LatentScratch scratch = LatentScratch::carve(arena, kShape, kPieceTokens, 1);
        const std::uint32_t expandRows = kShape.heads * (kShape.nope + kShape.value);
        const std::vector<float> expand = randomValues(std::size_t{expandRows} * kShape.latent, -0.1F, 0.1F);
        kernels::MatrixView matrix;
        matrix.format = kernels::WeightFormat::F32;
        matrix.rows = expandRows;
        matrix.columns = kShape.latent;
        matrix.rowBytes = std::uint64_t{kShape.latent} * sizeof(float);
        matrix.payload = reinterpret_cast<const std::byte*>(expand.data());
        const std::vector<float> rows = randomValues((kPosition + kPieceTokens) * kShape.rowWidth(), -0.1F, 0.1F);
        const std::vector<float> query = randomValues(kPieceTokens * kShape.queryWidth(), -0.1F, 0.1F);
        std::vector<float> output(kPieceTokens * kShape.outputWidth());
        for (const std::uint32_t tokens : {1U, kPieceTokens}) {
            const double seconds = bestSeconds(2, [&] {
                attendLatentRows(
                    compute, kShape, matrix, {query.data(), rows.data(), kPosition, tokens}, scratch, output.data());
            });
            const double perPosition = static_cast<double>(kShape.rowWidth() + kShape.latent);
            const double positions = static_cast<double>(kPosition) + (tokens + 1) / 2.0; // seen by one, on the average
            const double multiplyAdds =
                tokens * (positions * kShape.heads * perPosition + double{expandRows} * kShape.latent);
            m_run.table.add({"latent attention, 32 heads at position 8192, " + std::to_string(tokens)
                    + (tokens == 1 ? " token" : " tokens"),
                multiplyAdds / seconds / 1e9, "GMAC/s", m_run.multiplyAdds});
        }
        return {};
    }

    const KernelRun& m_run;
};

} // namespace

void measureLayers(const KernelRun& run)
{
    if (const Status status = LayerBenchmark(run).measure(); !status)
        run.table.note(status.error().message);
}

} // namespace waste::benchmark
