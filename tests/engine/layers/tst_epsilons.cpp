// Every epsilon of both families: inputs so small that another constant would move the result by more than
// 1e-3 (tests/data/kl-mini/eps.json).

#include "engine/layers/layer_fixture.h"
#include "engine/layers/model_runner.h"
#include "layers/kda_recurrence.h"
#include "layers/mla_attention.h"
#include "layers/moe_ffn.h"
#include "layers/norm.h"
#include "layers/residual_mix.h"

#include <QTest>

using namespace waste;
using namespace waste::test;
using kernels::KernelTable;
using nlohmann::json;

namespace {

template<typename T>
void flatten(const json& value, std::vector<T>& out)
{
    if (value.is_array())
        for (const json& element : value)
            flatten(element, out);
    else
        out.push_back(value.get<T>());
}

class Case {
public:
    explicit Case(const std::string& name)
    {
        static const json cases = readJson(std::filesystem::path(WASTE_TEST_DATA) / "kl-mini/eps.json");
        for (const json& candidate : cases) {
            if (candidate.at("name") == name)
                m_case = candidate;
        }
    }
    [[nodiscard]] std::vector<float> in(const char* name) const
    {
        std::vector<float> values;
        flatten(m_case.at("in").at(name), values);
        return values;
    }
    [[nodiscard]] float epsilon() const { return m_case.at("epsilon").get<float>(); }

    void verify(const char* name, std::span<const float> actual) const
    {
        std::vector<double> expected;
        flatten(m_case.at("out").at(name), expected);
        const double error = relativeErrorTo(actual, expected);
        QVERIFY2(error <= 1e-6, qPrintable(QString("%1: relative error %2").arg(name).arg(error)));
    }

private:
    json m_case;
};

} // namespace

class TestEpsilons : public QObject {
    Q_OBJECT

private:
    static void verifyKda(const KernelTable& table, const Case& c, float lowerBound)
    {
        constexpr std::uint32_t kTokens = 4;
        constexpr std::uint32_t kHeads = 2;
        constexpr std::uint32_t kDim = 4;
        constexpr std::size_t kStride = kHeads * kDim;
        const auto carve = [](auto& arena) { return KdaHeadScratch::carve(arena, kDim, kTokens); };
        Arena arena = arenaFor(carve);
        const KdaHeadScratch scratch = carve(arena);
        const std::vector<float> decayLog = c.in("A_log");
        for (const std::uint32_t chunk : {1U, 4U}) {
            std::vector<float> query = c.in("q");
            std::vector<float> key = c.in("k");
            const std::vector<float> value = c.in("v");
            std::vector<float> z = c.in("z");
            std::vector<float> beta = c.in("b");
            for (float& b : beta)
                b = 1 / (1 + std::exp(-b));
            std::vector<float> state(kHeads * kDim * kDim);
            for (std::uint32_t head = 0; head < kHeads; ++head) {
                for (std::uint32_t first = 0; first < kTokens; first += chunk) {
                    const std::size_t offset = first * kStride + head * kDim;
                    runKdaHead(table,
                        {.dim = kDim,
                            .tokens = chunk,
                            .stride = kStride,
                            .query = query.data() + offset,
                            .key = key.data() + offset,
                            .value = value.data() + offset,
                            .decayInput = z.data() + offset,
                            .output = z.data() + offset,
                            .beta = beta.data() + first * kHeads + head,
                            .betaStride = kHeads,
                            .decay = {.rate = std::exp(decayLog[head]), .lowerBound = lowerBound},
                            .state = state.data() + std::size_t{head} * kDim * kDim},
                        scratch);
                }
            }
            c.verify("o", z);
            c.verify("S", state);
        }
    }

private Q_SLOTS:
    void ofPlainNorms_data() { addTableRows(); }
    void ofPlainNorms()
    {
        QFETCH(const KernelTable*, table);
        for (const char* name : {"rms_norm", "q_a_layernorm"}) {
            const Case c(name);
            std::vector<float> x = c.in("x");
            rmsNorm(*table, x.data(), c.in("w").data(), c.epsilon(), x.data(), x.size());
            c.verify("out", x);
        }
        QCOMPARE(kLatentNormEpsilon, Case("q_a_layernorm").epsilon());
    }

    void ofTheGatedNorm_data() { addTableRows(); }
    void ofTheGatedNorm()
    {
        QFETCH(const KernelTable*, table);
        const Case c("gated_norm");
        std::vector<float> o = c.in("o");
        gatedRmsNorm(*table, c.in("t").data(), c.in("w").data(), c.epsilon(), o.data(), o.size());
        c.verify("out", o);
    }

    void ofTheKdaRecurrence_data() { addTableRows(); }
    void ofTheKdaRecurrence()
    {
        QFETCH(const KernelTable*, table);
        verifyKda(*table, Case("kda_l2_softplus"), 0);
        verifyKda(*table, Case("kda_l2_bounded"), -5);
    }

    void ofTheLatentRows_data() { addTableRows(); }
    void ofTheLatentRows()
    {
        QFETCH(const KernelTable*, table);
        const TestCompute compute(*table);
        const Case c("mla_latent");
        ModelConfig config;
        config.layerCount = 1;
        config.kdaLayers = {false};
        config.attentionHeadCount = 2;
        config.nopeDim = 3;
        config.ropeDim = 2;
        config.valueDim = 3;
        config.kvLoraRank = 6;
        config.hiddenSize = 18; // the layer's input is [query ; latent ; r values], its matrices pick from it
        const auto pick = [](std::uint32_t rows, std::uint32_t columns, std::uint32_t first) {
            std::vector<float> values(std::size_t{rows} * columns);
            for (std::uint32_t row = 0; row < rows; ++row)
                values[row * columns + first + row] = 1;
            return values;
        };
        const std::vector<float> pickQuery = pick(10, 18, 0);
        const std::vector<float> pickLatent = pick(8, 18, 10);
        const std::vector<float> pass = pick(6, 6, 0);
        const std::vector<float> norm = c.in("w");
        const std::vector<float> expand = c.in("kvb");
        MlaWeights weights;
        weights.query = denseView(pickQuery, 10, 18);
        weights.latent = denseView(pickLatent, 8, 18);
        weights.latentNorm = norm.data();
        weights.expand = denseView(expand, 12, 6);
        weights.output = denseView(pass, 6, 6);
        const std::vector<float> query = c.in("q");
        const std::vector<float> latent = c.in("ck");
        std::vector<float> x;
        for (std::size_t token = 0; token < 3; ++token) {
            x.insert(x.end(), query.begin() + token * 10, query.begin() + (token + 1) * 10);
            x.insert(x.end(), latent.begin() + token * 8, latent.begin() + (token + 1) * 8);
        }
        const auto carve = [&](auto& arena) { return MlaScratch::carve(arena, config, 3, 1); };
        Arena arena = arenaFor(carve);
        const MlaScratch scratch = carve(arena);
        for (const std::uint32_t chunk : {1U, 3U}) {
            std::vector<float> rows(24);
            std::vector<float> output(18);
            for (std::size_t first = 0; first < 3; first += chunk)
                runMlaAttention(compute.get(), config, weights, {x.data() + first * 18, 18, chunk},
                    {.latentRows = rows.data()}, first, scratch, {output.data() + first * 6, 6});
            c.verify("rows", rows);
            c.verify("o", output);
        }
    }

    void ofTheLatentExperts_data() { addTableRows(); }
    void ofTheLatentExperts()
    {
        QFETCH(const KernelTable*, table);
        const TestCompute compute(*table);
        const Case c("latent_moe_norm");
        ModelConfig config;
        config.layerCount = 1;
        config.hiddenSize = 5;
        config.expertCount = 3;
        config.expertsPerToken = 3;
        config.expertWidth = 1;
        config.sharedExpertCount = 1;
        config.latentWidth = 8;
        config.latentNorm = true;
        config.normEpsilon = c.epsilon();

        // The input is the first unit vector, so first columns are what a matrix gives. The router's logits
        // are those of the stated weights, and an expert's hidden value is silu(2) · 1 / silu(2).
        const auto firstColumn = [](const std::vector<float>& values, std::size_t columns) {
            std::vector<float> matrix(values.size() * columns);
            for (std::size_t row = 0; row < values.size(); ++row)
                matrix[row * columns] = values[row];
            return matrix;
        };
        std::vector<float> logits = c.in("weights");
        for (float& weight : logits)
            weight = std::log(weight / (1 - weight));
        const std::vector<float> router = firstColumn(logits, 5);
        const std::vector<float> latentDown = firstColumn({1, 0, 0, 0, 0, 0, 0, 0}, 5);
        const std::vector<float> latentUp = c.in("w_up");
        const std::vector<float> norm = c.in("w");
        const std::vector<float> zeros(5);
        const std::vector<float> gate = firstColumn({2}, 8);
        const std::vector<float> up = firstColumn({(1 + std::exp(-2.0F)) / 2}, 8);
        const std::vector<float> outputs = c.in("experts");
        MoeWeights weights;
        weights.router = denseView(router, 3, 5);
        weights.shared = {denseView(zeros, 1, 5), denseView(zeros, 1, 5), denseView(zeros, 5, 1)};
        weights.latentDown = denseView(latentDown, 8, 5);
        weights.latentUp = denseView(latentUp, 5, 8);
        weights.latentNorm = norm.data();

        class Experts final : public SequentialExperts {
        public:
            std::array<DenseExpert, 3> experts;
            Result<Pin> acquire(ExpertKey key) override { return Pin(nullptr, 0, experts[key.expert]); }

        private:
            void release(std::uint32_t) override { }
        } source;
        for (std::size_t e = 0; e < 3; ++e)
            source.experts[e] = {
                denseView(gate, 1, 8), denseView(up, 1, 8), denseView(std::span(outputs).subspan(e * 8, 8), 8, 1)};

        const auto carve = [&](auto& arena) { return MoeScratch::carve(arena, config, 1); };
        Arena arena = arenaFor(carve);
        const MoeScratch scratch = carve(arena);
        const std::vector<float> x = {1, 0, 0, 0, 0};
        std::vector<float> y(5);
        QVERIFY(runMoe(compute.get(), config, weights, 0, source, {x.data(), 5, 1}, scratch, {y.data(), 5}, nullptr));
        c.verify("y", y);
    }

    void ofTheResidualMix_data() { addTableRows(); }
    void ofTheResidualMix()
    {
        QFETCH(const KernelTable*, table);
        const Case c("attn_res_mix");
        const std::vector<float> blocks = c.in("blocks");
        const std::vector<float> sum = c.in("p");
        std::vector<float> scoring = c.in("w");
        for (std::size_t i = 0; i < scoring.size(); ++i)
            scoring[i] *= c.in("u")[i];
        const float* const candidates[] = {blocks.data(), blocks.data() + 8, sum.data()};
        const MixInput input = {
            .candidates = candidates, .scoring = scoring.data(), .width = 8, .epsilon = c.epsilon()};
        std::vector<float> scores(3);
        mixScores(*table, input, scores);
        c.verify("scores", scores);
        std::vector<float> out(8);
        mix(*table, input, out.data());
        c.verify("out", out);
    }
};

QTEST_APPLESS_MAIN(TestEpsilons)
#include "tst_epsilons.moc"
