// The test vectors V2 to V8 of spec: model 14. Inputs are sin(1), sin(2), ... in the order in which the
// arrays are listed. (V1 is with the kernels, V9 with the checkpoint reader.)

#include "engine/layers/layer_fixture.h"
#include "layers/kda_recurrence.h"
#include "layers/latent_attention.h"
#include "layers/norm.h"
#include "layers/residual_mix.h"
#include "layers/router.h"
#include "layers/short_convolution.h"

#include <QTest>

using namespace waste;
using namespace waste::test;
using kernels::KernelTable;

namespace {

constexpr double kLimit = 1e-6;

class Sines {
public:
    std::vector<float> next(std::size_t count, double factor = 1)
    {
        std::vector<float> values(count);
        for (float& value : values)
            value = static_cast<float>(factor * std::sin(++m_counter));
        return values;
    }

private:
    double m_counter = 0;
};

void verifyNear(std::span<const float> actual, const std::vector<double>& expected)
{
    const double error = relativeErrorTo(actual, expected);
    QVERIFY2(error <= kLimit, qPrintable(QString("relative error %1").arg(error)));
}

} // namespace

class TestLayerVectors : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void bothDecaysMatch_data() { addTableRows(); }
    void bothDecaysMatch()
    {
        QFETCH(const KernelTable*, table);
        const std::vector<float> z = {-3, -0.5F, 0, 2, 25};
        std::vector<float> g(z.size());
        table->logDecay({.rate = std::exp(0.5F)}, z.data(), g.data(), z.size());
        verifyNear(g, {-0.080107000, -0.781620808, -1.142806500, -3.506711453, -41.218031768});
        table->logDecay({.rate = std::exp(0.5F), .lowerBound = -5}, z.data(), g.data(), z.size());
        verifyNear(g, {-0.035302151, -1.524194014, -2.5, -4.821704853, -5});
    }

    void theRecurrenceMatchesTokenByTokenAndAsAChunk_data() { addTableRows(); }
    void theRecurrenceMatchesTokenByTokenAndAsAChunk()
    {
        QFETCH(const KernelTable*, table);
        const std::vector<double> outputs = {-0.015300678, 0.088156455, 0.110562949, 0.031318378, -0.130522953,
            -0.187226743, -0.071795129, 0.109644595, 0.282784007, 0.150420851, -0.120238542, -0.280351174};
        const std::vector<double> stateAfter = {0.359314430, 0.180940286, -0.163789523, -0.357932000, -0.001540548,
            0.002695247, 0.004453044, 0.002116733, -0.362349114, -0.178218142, 0.169765768, 0.361667813, -0.442999060,
            -0.274104121, 0.146800883, 0.432737832};
        for (const std::uint32_t chunk : {1U, 2U, 3U}) {
            Sines sines;
            std::vector<float> query = sines.next(12);
            std::vector<float> key = sines.next(12);
            const std::vector<float> value = sines.next(12);
            const std::vector<float> z = sines.next(12);
            std::vector<float> beta = sines.next(3);
            for (float& b : beta)
                b = 1 / (1 + std::exp(-b));
            std::vector<float> output(12);
            std::vector<float> state(16);
            const auto carve = [](auto& arena) { return KdaHeadScratch::carve(arena, 4, 3); };
            Arena arena = arenaFor(carve);
            const KdaHeadScratch scratch = carve(arena);
            for (std::uint32_t first = 0; first < 3; first += chunk) {
                const std::size_t offset = std::size_t{4} * first;
                runKdaHead(*table,
                    {.dim = 4,
                        .tokens = std::min(chunk, 3 - first),
                        .stride = 4,
                        .query = query.data() + offset,
                        .key = key.data() + offset,
                        .value = value.data() + offset,
                        .decayInput = z.data() + offset,
                        .output = output.data() + offset,
                        .beta = beta.data() + first,
                        .betaStride = 1,
                        .decay = {.rate = std::exp(0.5F), .lowerBound = -5},
                        .state = state.data()},
                    scratch);
            }
            verifyNear(output, outputs);
            verifyNear(state, stateAfter);
        }
    }

    void theConvolutionMatchesForEveryPartition_data() { addTableRows(); }
    void theConvolutionMatchesForEveryPartition()
    {
        QFETCH(const KernelTable*, table);
        const TestCompute compute(*table);
        for (const std::uint32_t chunk : {1U, 2U, 3U, 4U, 5U}) {
            Sines sines;
            const std::vector<float> taps = sines.next(8);
            std::vector<float> samples = sines.next(10);
            const std::vector<float> raw = samples;
            std::vector<float> window(6);
            for (std::uint32_t first = 0; first < 5; first += chunk)
                convolve(compute.get(),
                    {.samples = samples.data() + std::size_t{2} * first,
                        .tokens = std::min(chunk, 5 - first),
                        .channels = 2,
                        .kernel = 4,
                        .taps = taps.data(),
                        .window = window.data()});
            verifyNear(samples,
                {-0.131822190, -0.198391700, 0.564896258, -0.258902165, -0.040403646, 0.534448259, -0.268601687,
                    0.766129414, 0.212021226, -0.231273794});
            const std::vector<float> lastThree = {raw[4], raw[6], raw[8], raw[5], raw[7], raw[9]};
            QCOMPARE(window, lastThree); // raw, oldest first
        }
    }

    void theGatedNormMatches_data() { addTableRows(); }
    void theGatedNormMatches()
    {
        QFETCH(const KernelTable*, table);
        Sines sines;
        std::vector<float> x = sines.next(4);
        const std::vector<float> gate = sines.next(4);
        const std::vector<float> w = sines.next(4);
        gatedRmsNorm(*table, gate.data(), w.data(), 1e-5F, x.data(), 4);
        verifyNear(x, {0.131756718, -0.292063839, -0.127432424, 0.405882830});
    }

    void theResidualMixMatches_data() { addTableRows(); }
    void theResidualMixMatches()
    {
        QFETCH(const KernelTable*, table);
        Sines sines;
        const std::vector<float> blocks = sines.next(8);
        const std::vector<float> sum = sines.next(4);
        std::vector<float> scoring = sines.next(4);
        const std::vector<float> projection = sines.next(4);
        for (std::size_t i = 0; i < 4; ++i)
            scoring[i] *= projection[i];
        const float* const candidates[] = {blocks.data(), blocks.data() + 4, sum.data()};
        const MixInput input = {.candidates = candidates, .scoring = scoring.data(), .width = 4, .epsilon = 1e-5F};
        std::vector<float> scores(3);
        mixScores(*table, input, scores);
        verifyNear(scores, {-1.101986428, 0.514510433, 0.425605744});
        std::vector<float> out(4);
        mix(*table, input, out.data());
        verifyNear(out, {-0.196237556, -0.282266689, -0.108781130, 0.164717298});
    }

    void theRouterMatches()
    {
        ModelConfig config;
        config.expertCount = 6;
        config.expertsPerToken = 2;
        config.routedScaling = 2.446F;
        Sines sines;
        std::vector<float> scores = sines.next(6, 3);
        for (float& score : scores)
            score = 1 / (1 + std::exp(-score));
        const std::vector<float> bias = sines.next(6, 0.5);
        std::vector<float> choice(6);
        std::vector<float> groups(1);
        std::vector<std::uint16_t> experts(2);
        std::vector<float> weights(2);
        routeToken(config, {scores, bias.data(), choice, groups}, experts, weights);
        verifyNear(choice, {1.254328935, 1.433331702, 0.810346237, -0.178406921, -0.446681321, 0.033617762});
        QCOMPARE(experts, (std::vector<std::uint16_t>{0, 1})); // chosen 1, then 0; delivered ascending
        verifyNear(weights, {1.214592802, 1.231407198});
    }

    void absorbedAttentionMatches_data() { addTableRows(); }
    void absorbedAttentionMatches()
    {
        QFETCH(const KernelTable*, table);
        const TestCompute compute(*table);
        const LatentShape shape = {.heads = 2, .nope = 2, .rope = 1, .value = 2, .latent = 3};
        Sines sines;
        const std::vector<float> expand = sines.next(24);
        const std::vector<float> query = sines.next(6);
        const std::vector<float> rows = sines.next(12);
        const auto carve = [&](auto& arena) { return LatentScratch::carve(arena, shape, 1, 1); };
        Arena arena = arenaFor(carve);
        const LatentScratch scratch = carve(arena);
        std::vector<float> output(4);
        attendLatentRows(compute.get(), shape, denseView(expand, 8, 3),
            {.query = query.data(), .rows = rows.data(), .position = 2, .tokens = 1}, scratch, output.data());
        verifyNear(output, {-0.701950118, 0.690244457, 0.691753048, -0.603918156});
    }
};

QTEST_APPLESS_MAIN(TestLayerVectors)
#include "tst_layer_vectors.moc"
