// Attention over latent rows against its expanded form in f64 (spec: model 6.6), for caches that are cut into tiles and
// spans in every way.

#include "engine/layers/layer_fixture.h"
#include "layers/latent_attention.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace waste;
using namespace waste::test;
using kernels::KernelTable;

namespace {

constexpr LatentShape kSmall = {.heads = 17, .nope = 6, .rope = 2, .value = 5, .latent = 12};
constexpr LatentShape kWide = {.heads = 5, .nope = 6, .rope = 8, .value = 5, .latent = 400}; // scores in three parts
static_assert(kWide.latent + kWide.rope > 2 * kLatentDepth);

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
    LatentShape shape;

    Inputs(std::uint64_t first, std::uint32_t count, const LatentShape& of = kSmall)
        : query(randomFloats(count * of.queryWidth(), 1))
        , rows(randomFloats((first + count) * of.rowWidth(), 2))
        , expand(randomFloats(std::size_t{of.heads} * (of.nope + of.value) * of.latent, 3))
        , position(first)
        , tokens(count)
        , shape(of)
    {
    }
};

std::vector<double> expectedOutput(const Inputs& in)
{
    const LatentShape& shape = in.shape;
    const std::size_t latent = shape.latent;
    std::vector<double> output;
    for (std::uint32_t token = 0; token < in.tokens; ++token) {
        for (std::uint32_t head = 0; head < shape.heads; ++head) {
            const float* const q = &in.query[token * shape.queryWidth() + head * (shape.nope + shape.rope)];
            const float* const keys = &in.expand[head * (shape.nope + shape.value) * latent];
            const float* const values = keys + shape.nope * latent;
            std::vector<double> sum(shape.value, 0.0);
            double total = 0;
            for (std::uint64_t s = 0; s <= in.position + token; ++s) {
                const float* const row = &in.rows[s * shape.rowWidth()];
                double score = 0;
                for (std::size_t i = 0; i < shape.nope; ++i) {
                    for (std::size_t c = 0; c < latent; ++c)
                        score += double{q[i]} * keys[i * latent + c] * row[c];
                }
                for (std::size_t i = 0; i < shape.rope; ++i)
                    score += double{q[shape.nope + i]} * row[latent + i];
                const double weight = std::exp(score / std::sqrt(static_cast<double>(shape.nope + shape.rope)));
                total += weight;
                for (std::size_t i = 0; i < shape.value; ++i) {
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
    const auto carve = [&](auto& arena) { return LatentScratch::carve(arena, in.shape, in.tokens, threads); };
    Arena arena = arenaFor(carve);
    const LatentScratch scratch = carve(arena);
    std::vector<float> output(in.tokens * in.shape.outputWidth());
    const std::uint32_t expandRows = in.shape.heads * (in.shape.nope + in.shape.value);
    attendLatentRows(compute.get(), in.shape, denseView(in.expand, expandRows, in.shape.latent),
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
        for (const std::uint64_t position : {0U, 1U, kLatentTileRows - 2, kLatentTileRows - 1, kLatentTileRows,
                 kLatentSpanRows - 2, kLatentSpanRows - 1, kLatentSpanRows, 2100U, 5000U, 17000U}) {
            for (const std::uint32_t tokens : {1U, 3U}) {
                if (tokens > 1 && position > 3000)
                    continue;
                const Inputs in(position, tokens);
                const double error = relativeErrorTo(attend(*table, in, 1), expectedOutput(in));
                QVERIFY2(error < 2e-6, qPrintable(QString("%1 at %2: %3").arg(tokens).arg(position).arg(error)));
            }
        }
    }

    void wideRowsAreScoredInParts_data() { addTableRows(); }
    void wideRowsAreScoredInParts()
    {
        QFETCH(const KernelTable*, table);
        for (const std::uint32_t tokens : {1U, 14U}) {
            // Scores are sums of ten times as many terms, and an exponential makes a relative error of an absolute one.
            const Inputs in(kLatentTileRows + 7, tokens, kWide);
            const double error = relativeErrorTo(attend(*table, in, 2), expectedOutput(in));
            QVERIFY2(error < 1e-5, qPrintable(QString("%1: %2").arg(tokens).arg(error)));
        }
    }

    void rowsThatAreNoNumbersStayWithThoseWhoSeeThem_data() { addTableRows(); }
    void rowsThatAreNoNumbersStayWithThoseWhoSeeThem()
    {
        QFETCH(const KernelTable*, table);
        for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            Inputs in(40, 5);
            const std::vector<float> expected = attend(*table, in, 1);
            in.rows[in.rows.size() - in.shape.rowWidth()] = value;
            const auto width = static_cast<std::ptrdiff_t>(in.shape.outputWidth());
            for (const std::uint32_t threads : {1U, 2U, 3U, 7U}) {
                const std::vector<float> output = attend(*table, in, threads);
                QVERIFY(std::equal(output.begin(), output.end() - width, expected.begin()));
                QVERIFY(std::none_of(output.end() - width, output.end(), [](float y) { return std::isfinite(y); }));
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
