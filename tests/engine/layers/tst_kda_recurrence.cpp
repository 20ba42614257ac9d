// The parallel form of a KDA head against the recurrence in f64, over decays from none to saturated and
// chunks of every raggedness (spec: model 6.5 and 13.3).

#include "engine/layers/layer_fixture.h"
#include "layers/kda_recurrence.h"

#include <QTest>

#include <random>

using namespace waste;
using namespace waste::test;
using kernels::KernelTable;

namespace {

// One head's inputs, and what the recurrence in f64 makes of them.
struct HeadCase {
    std::uint32_t dim;
    std::uint32_t tokens;
    KdaDecay decay;
    std::vector<float> query, key, value, z, beta, state;
    std::vector<double> output, stateAfter;

    HeadCase(std::uint32_t dimension, std::uint32_t tokenCount, KdaDecay headDecay, float zMean, float zSpread)
        : dim(dimension)
        , tokens(tokenCount)
        , decay(headDecay)
    {
        std::mt19937 generator(dim * 1000 + tokens);
        std::normal_distribution<float> normal;
        const auto fill = [&](std::vector<float>& values, std::size_t count, float mean, float spread) {
            values.resize(count);
            for (float& element : values)
                element = mean + spread * normal(generator);
        };
        const std::size_t count = std::size_t{dim} * tokens;
        fill(query, count, 0, 1);
        fill(key, count, 0, 1);
        fill(value, count, 0, 1);
        fill(z, count, zMean, zSpread);
        fill(beta, tokens, 0, 1);
        for (float& b : beta)
            b = 1 / (1 + std::exp(-b));
        fill(state, std::size_t{dim} * dim, 0, 0.3F);
    }

    void evaluate()
    {
        stateAfter.assign(state.begin(), state.end());
        for (std::size_t token = 0; token < tokens; ++token) {
            const std::size_t row = token * dim;
            double querySquare = 0;
            double keySquare = 0;
            for (std::size_t d = 0; d < dim; ++d) {
                querySquare += double{query[row + d]} * query[row + d];
                keySquare += double{key[row + d]} * key[row + d];
            }
            const double queryFactor = 1 / std::sqrt((querySquare + 1e-6) * dim);
            const double keyFactor = 1 / std::sqrt(keySquare + 1e-6);
            for (std::size_t d = 0; d < dim; ++d) {
                const double x = z[row + d];
                const double g = decay.lowerBound < 0
                    ? double{decay.lowerBound} / (1 + std::exp(-double{decay.rate} * x))
                    : -double{decay.rate} * (x > 20 ? x : std::log1p(std::exp(x)));
                for (std::size_t j = 0; j < dim; ++j)
                    stateAfter[d * dim + j] *= std::exp(g);
            }
            for (std::size_t j = 0; j < dim; ++j) {
                double recalled = 0;
                for (std::size_t d = 0; d < dim; ++d)
                    recalled += keyFactor * key[row + d] * stateAfter[d * dim + j];
                const double update = beta[token] * (value[row + j] - recalled);
                double out = 0;
                for (std::size_t d = 0; d < dim; ++d) {
                    stateAfter[d * dim + j] += keyFactor * key[row + d] * update;
                    out += queryFactor * query[row + d] * stateAfter[d * dim + j];
                }
                output.push_back(out);
            }
        }
    }
};

} // namespace

class TestKdaRecurrence : public QObject {
    Q_OBJECT

private:
    static void verify(const KernelTable& table, HeadCase c, std::uint32_t chunk, double limit = 1e-6)
    {
        const auto carve = [&](auto& arena) { return KdaHeadScratch::carve(arena, c.dim, chunk); };
        Arena arena = arenaFor(carve);
        const KdaHeadScratch scratch = carve(arena);
        std::vector<float> output(c.value.size());
        for (std::uint32_t first = 0; first < c.tokens; first += chunk) {
            const std::size_t offset = std::size_t{first} * c.dim;
            runKdaHead(table,
                {.dim = c.dim,
                    .tokens = std::min(chunk, c.tokens - first),
                    .stride = c.dim,
                    .query = c.query.data() + offset,
                    .key = c.key.data() + offset,
                    .value = c.value.data() + offset,
                    .decayInput = c.z.data() + offset,
                    .output = output.data() + offset,
                    .beta = c.beta.data() + first,
                    .betaStride = 1,
                    .decay = c.decay,
                    .state = c.state.data()},
                scratch);
        }
        const double outputError = relativeErrorTo(output, c.output);
        const double stateError = relativeErrorTo(c.state, c.stateAfter);
        QVERIFY2(outputError <= limit && stateError <= limit,
            qPrintable(QString("chunk %1: output %2, state %3").arg(chunk).arg(outputError).arg(stateError)));
    }

private Q_SLOTS:
    void everyPartitionAgreesWithTheRecurrenceInDouble_data()
    {
        QTest::addColumn<const KernelTable*>("table");
        QTest::addColumn<double>("rate");
        QTest::addColumn<double>("lowerBound");
        QTest::addColumn<double>("zMean");
        QTest::addColumn<double>("zSpread");
        for (const char* isa : kernels::instructionSets()) {
            const Result<const KernelTable*> table = kernels::selectKernels(isa);
            if (!table)
                continue;
            QTest::addRow("%s, bounded", isa) << *table << 1.6 << -5.0 << 0.0 << 1.0;
            QTest::addRow("%s, saturated at the bound", isa) << *table << 3.0 << -5.0 << 30.0 << 1.0;
            QTest::addRow("%s, softplus", isa) << *table << 1.0 << 0.0 << -1.0 << 1.0;
            QTest::addRow("%s, softplus, strong", isa) << *table << 16.0 << 0.0 << 0.0 << 2.0;
            QTest::addRow("%s, from 1e-4 to 80 per step", isa) << *table << 16.0 << 0.0 << -3.0 << 5.0;
            QTest::addRow("%s, hardly any", isa) << *table << 1.0 << -5.0 << -40.0 << 1.0;
        }
    }
    void everyPartitionAgreesWithTheRecurrenceInDouble()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(double, rate);
        QFETCH(double, lowerBound);
        QFETCH(double, zMean);
        QFETCH(double, zSpread);
        HeadCase c(32, 150, {static_cast<float>(rate), static_cast<float>(lowerBound)}, static_cast<float>(zMean),
            static_cast<float>(zSpread));
        c.evaluate();
        for (const std::uint32_t chunk : {1U, 2U, 15U, 16U, 17U, 33U, 63U, 64U, 65U, 100U, 150U})
            verify(*table, c, chunk);
    }

    void oddWidthsWorkToo_data() { addTableRows(); }
    void oddWidthsWorkToo()
    {
        QFETCH(const KernelTable*, table);
        for (const std::uint32_t dim : {1U, 3U, 24U, 37U}) {
            HeadCase c(dim, 40, {1.5F, -5}, 0, 1);
            c.evaluate();
            for (const std::uint32_t chunk : {1U, 40U})
                verify(*table, c, chunk);
        }
    }

    void nearlyEqualKeysStayAccurate_data() { addTableRows(); }
    void nearlyEqualKeysStayAccurate()
    {
        QFETCH(const KernelTable*, table);
        HeadCase c(32, 96, {1, -5}, -20, 1);
        for (std::size_t token = 0; token < c.tokens; ++token) {
            for (std::size_t d = 0; d < c.dim; ++d)
                c.key[token * c.dim + d] = c.key[d] + 1e-3F * c.key[token * c.dim + d];
            c.beta[token] = 0.999F;
        }
        c.evaluate();
        // Keys that repeat make the recurrence itself sensitive: 2.4e-6 in f32 (spec: model 13.3).
        for (const std::uint32_t chunk : {1U, 64U})
            verify(*table, c, chunk, 5e-6);
    }
};

QTEST_APPLESS_MAIN(TestKdaRecurrence)
#include "tst_kda_recurrence.moc"
