// Attention over latent rows against its expanded form in f64 (spec: model 6.6), for caches that are cut into tiles and
// spans in every way.

#include "engine/layers/layer_fixture.h"
#include "layers/latent_attention.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace waste;
using namespace waste::test;
using kernels::KernelTable;

namespace {

constexpr LatentShape kShape = {.heads = 17, .nope = 6, .rope = 2, .value = 5, .latent = 12};

std::vector<float> randomFloats(std::size_t count, std::uint32_t seed)
{
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values)
        value = normal(generator);
    return values;
}

struct Inputs {
    std::vector<float> query; // [tokens][heads][n+r]
    std::vector<float> rows; // [positions][kl+r]
    std::vector<float> expand; // [heads·(n+v)][kl]
    std::uint64_t position = 0;
    std::uint32_t tokens = 1;

    Inputs(std::uint64_t first, std::uint32_t count)
        : query(randomFloats(count * kShape.queryWidth(), 1))
        , rows(randomFloats((first + count) * kShape.rowWidth(), 2))
        , expand(randomFloats(std::size_t{kShape.heads} * (kShape.nope + kShape.value) * kShape.latent, 3))
        , position(first)
        , tokens(count)
    {
    }
};

std::vector<double> expectedOutput(const Inputs& in)
{
    const std::size_t latent = kShape.latent;
    std::vector<double> output;
    for (std::uint32_t token = 0; token < in.tokens; ++token) {
        for (std::uint32_t head = 0; head < kShape.heads; ++head) {
            const float* const q = &in.query[token * kShape.queryWidth() + head * (kShape.nope + kShape.rope)];
            const float* const keys = &in.expand[head * (kShape.nope + kShape.value) * latent];
            const float* const values = keys + kShape.nope * latent;
            std::vector<double> sum(kShape.value, 0.0);
            double total = 0;
            for (std::uint64_t s = 0; s <= in.position + token; ++s) {
                const float* const row = &in.rows[s * kShape.rowWidth()];
                double score = 0;
                for (std::size_t i = 0; i < kShape.nope; ++i) {
                    for (std::size_t c = 0; c < latent; ++c)
                        score += double{q[i]} * keys[i * latent + c] * row[c];
                }
                for (std::size_t i = 0; i < kShape.rope; ++i)
                    score += double{q[kShape.nope + i]} * row[latent + i];
                const double weight = std::exp(score / std::sqrt(double{kShape.nope + kShape.rope}));
                total += weight;
                for (std::size_t i = 0; i < kShape.value; ++i) {
                    for (std::size_t c = 0; c < latent; ++c)
                        sum[i] += weight * values[i * latent + c] * row[c];
                }
            }
            for (const double value : sum)
                output.push_back(value / total);
        }
    }
    return output;
}

std::vector<float> attend(const KernelTable& table, const Inputs& in, std::uint32_t threads)
{
    const TestCompute compute(table, threads);
    const auto carve = [&](auto& arena) { return LatentScratch::carve(arena, kShape, in.tokens, threads); };
    Arena arena = arenaFor(carve);
    const LatentScratch scratch = carve(arena);
    std::vector<float> output(in.tokens * kShape.outputWidth());
    const std::uint32_t expandRows = kShape.heads * (kShape.nope + kShape.value);
    attendLatentRows(compute.get(), kShape, denseView(in.expand, expandRows, kShape.latent),
        {.query = in.query.data(), .rows = in.rows.data(), .position = in.position, .tokens = in.tokens}, scratch,
        output.data());
    return output;
}

} // namespace

class TestLatentAttention : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void agreesWithTheExpandedFormAtEveryPosition_data() { addTableRows(); }
    void agreesWithTheExpandedFormAtEveryPosition()
    {
        QFETCH(const KernelTable*, table);
        for (const std::uint64_t position : {0U, 1U, 94U, 95U, 96U, 958U, 959U, 960U, 2100U, 5000U, 17000U}) {
            for (const std::uint32_t tokens : {1U, 3U}) {
                if (tokens > 1 && position > 3000)
                    continue;
                const Inputs in(position, tokens);
                const double error = relativeErrorTo(attend(*table, in, 1), expectedOutput(in));
                QVERIFY2(error < 2e-6, qPrintable(QString("%1 at %2: %3").arg(tokens).arg(position).arg(error)));
            }
        }
    }

    void anyNumberOfThreadsGivesTheSameBits_data() { addTableRows(); }
    void anyNumberOfThreadsGivesTheSameBits()
    {
        QFETCH(const KernelTable*, table);
        for (const std::uint64_t position : {10U, 1500U, 20000U}) {
            for (const std::uint32_t tokens : {1U, 5U}) {
                const Inputs in(position, tokens);
                const std::vector<float> expected = attend(*table, in, 1);
                for (const std::uint32_t threads : {2U, 3U, 7U})
                    QCOMPARE(attend(*table, in, threads), expected);
            }
        }
    }

    void aTokenOfAPromptDoesNotDependOnThoseAfterIt_data() { addTableRows(); }
    void aTokenOfAPromptDoesNotDependOnThoseAfterIt()
    {
        QFETCH(const KernelTable*, table);
        for (const std::uint64_t position : {0U, 92U, 500U}) {
            Inputs in(position, 9);
            const std::vector<float> all = attend(*table, in, 1);
            for (in.tokens = 2; in.tokens < 9; ++in.tokens) {
                const std::vector<float> some = attend(*table, in, 1);
                QVERIFY(std::equal(some.begin(), some.end(), all.begin()));
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestLatentAttention)
#include "tst_latent_attention.moc"
