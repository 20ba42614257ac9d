// Whole models against golden values of an independent evaluation in f64: the small Kimi-Linear checkpoint,
// the built-in model's checkpoint (f32 reference) and the golden containers in every format. From the exact
// weights an evaluation in f32 is within 2e-6; the limit is 1e-5. Measured errors (relative, in the L2 norm) are
// printed.

#include "engine/kernels/kernel_tables.h"
#include "engine/layers/layer_fixture.h"
#include "engine/layers/model_runner.h"
#include "support/golden.h"

#include <QTest>

using namespace waste;
using namespace waste::test;
using nlohmann::json;

namespace {

constexpr double kLimit = 1e-5;
const std::filesystem::path kData = WASTE_TEST_DATA;

std::vector<TokenId> ids(const json& prompt)
{
    return prompt.at("ids").get<std::vector<TokenId>>();
}

// The largest error of a row of [rows][columns].
double worstRow(std::span<const float> actual, std::span<const float> expected, std::size_t columns)
{
    if (actual.size() != expected.size())
        return INFINITY;
    double worst = 0;
    for (std::size_t first = 0; first < expected.size(); first += columns)
        worst = std::max(worst, relativeError(actual.subspan(first, columns), expected.subspan(first, columns)));
    return worst;
}

void verifyError(const char* what, double error)
{
    qInfo("%s: error %.2e", what, error);
    QVERIFY2(error <= kLimit, qPrintable(QString("%1: error %2").arg(what).arg(error)));
}

// `layer_norms` [layer][position], or one value per layer for the last position.
void verifyNorms(const ModelRunner& runner, const json& expected)
{
    double worst = 0;
    for (std::size_t layer = 0; layer < expected.size(); ++layer) {
        const json& row = expected[layer];
        const std::vector<double>& norms = runner.norms(layer);
        for (std::size_t i = 0; i < norms.size(); ++i) {
            if (row.is_array())
                worst = std::max(worst, std::abs(norms[i] / row.at(i).get<double>() - 1));
            else if (i + 1 == norms.size())
                worst = std::max(worst, std::abs(norms[i] / row.get<double>() - 1));
        }
    }
    verifyError("norms of the running sum", worst);
}

// `experts` [MoE layer][position][k] and `expert_weights_last` [MoE layer][k] of [id, weight], which are
// rounded to six places.
void verifyExperts(const ModelRunner& runner, const ModelConfig& config, const json& prompt)
{
    double worst = 0;
    for (std::size_t i = 0; i < prompt.at("experts").size(); ++i) {
        const std::size_t layer = config.denseLayerCount + i;
        std::vector<std::uint16_t> expected;
        for (const json& position : prompt.at("experts")[i])
            for (const json& id : position)
                expected.push_back(id.get<std::uint16_t>());
        QCOMPARE(runner.experts(layer), expected);
        const std::size_t last = runner.weights(layer).size() - config.expertsPerToken;
        for (const json& pair : prompt.at("expert_weights_last")[i]) {
            for (std::size_t k = 0; k < config.expertsPerToken; ++k) {
                if (runner.experts(layer)[last + k] == pair.at(0).get<int>())
                    worst =
                        std::max(worst, std::abs(double{runner.weights(layer)[last + k]} - pair.at(1).get<double>()));
            }
        }
    }
    verifyError("weights of the experts, absolute", worst);
}

void verifyGreedy(ModelRunner& runner, const json& prompt)
{
    const auto expected = prompt.at("greedy").get<std::vector<TokenId>>();
    QCOMPARE(runner.generateGreedily(expected.size()), expected);
}

std::unique_ptr<TestModel> unwrap(Result<std::unique_ptr<TestModel>> model)
{
    if (!model)
        QTest::qFail(model.error().message.c_str(), __FILE__, __LINE__);
    return model ? std::move(*model) : nullptr;
}

} // namespace

class TestGoldenModels : public QObject {
    Q_OBJECT

private:
    static void addTablesAndChunks()
    {
        QTest::addColumn<QByteArray>("isa");
        QTest::addColumn<int>("chunk");
        for (const char* isa : testedSets()) {
            if (!kernels::selectKernels(isa))
                continue;
            QTest::addRow("%s, token by token", isa) << QByteArray(isa) << 1;
            QTest::addRow("%s, chunks of 64", isa) << QByteArray(isa) << 64;
        }
    }

private Q_SLOTS:
    void kimiLinearMatchesAtEveryPosition_data() { addTablesAndChunks(); }
    void kimiLinearMatchesAtEveryPosition()
    {
        QFETCH(QByteArray, isa);
        QFETCH(int, chunk);
        const json golden = readJson(kData / "kl-mini/golden.json");
        const json& prompt = golden.at("prompts").at(0);
        const auto model = unwrap(TestModel::fromCheckpoint(kData / "kl-mini"));
        QVERIFY(model != nullptr);
        ModelRunner runner(
            *model, {.isa = isa.constData(), .chunkTokensMax = static_cast<std::uint32_t>(chunk), .contextTokens = 24});
        runner.collectEverything();
        QVERIFY(runner.append(ids(prompt)));
        QCOMPARE(runner.state().position, std::uint64_t{24});
        verifyError("short, all positions",
            worstRow(
                runner.allLogits(), readFloats(kData / "kl-mini/short.all_logits.f32"), model->config.vocabularySize));
        verifyNorms(runner, prompt.at("layer_norms"));
        verifyExperts(runner, model->config, prompt);

        // The whole state: S, windows, latent rows, in the order in which a sequence lies in memory.
        const std::vector<float> state = readFloats(kData / "kl-mini/short.state.f32");
        QCOMPARE(runner.stateMemory().size(), state.size());
        for (const json& piece : prompt.at("state")) {
            std::size_t count = 1;
            for (const json& extent : piece.at("shape"))
                count *= extent.get<std::size_t>();
            const std::size_t offset = piece.at("offset").get<std::size_t>() / sizeof(float);
            const double error =
                relativeError(runner.stateMemory().subspan(offset, count), std::span(state).subspan(offset, count));
            QVERIFY2(error <= kLimit, qPrintable(QString("%1: %2").arg(piece.dump().c_str()).arg(error)));
        }
    }

    void kimiLinearMatchesAfterTwoHundredTokensAndContinuesAlike_data() { addTablesAndChunks(); }
    void kimiLinearMatchesAfterTwoHundredTokensAndContinuesAlike()
    {
        QFETCH(QByteArray, isa);
        QFETCH(int, chunk);
        const json golden = readJson(kData / "kl-mini/golden.json");
        const auto model = unwrap(TestModel::fromCheckpoint(kData / "kl-mini"));
        QVERIFY(model != nullptr);
        for (const json& prompt : golden.at("prompts")) {
            ModelRunner runner(*model, {.isa = isa.constData(), .chunkTokensMax = static_cast<std::uint32_t>(chunk)});
            runner.collectEverything();
            QVERIFY(runner.append(ids(prompt)));
            if (prompt.at("name") == "long") {
                verifyError("long, last position",
                    relativeError(runner.lastLogits(), readFloats(kData / "kl-mini/long.logits.f32")));
                verifyNorms(runner, prompt.at("layer_norms"));
                verifyExperts(runner, model->config, prompt);
            }
            verifyGreedy(runner, prompt);
        }
    }

    void theBuiltInModelMatchesForEveryPrompt_data()
    {
        QTest::addColumn<int>("index");
        const json golden = readJson(kData / "k3-mini/prompts.json");
        int index = 0;
        for (const json& prompt : golden.at("prompts"))
            QTest::newRow(prompt.at("name").get<std::string>().c_str()) << index++;
    }
    void theBuiltInModelMatchesForEveryPrompt()
    {
        QFETCH(int, index);
        static const json golden = readJson(kData / "k3-mini/prompts.json");
        static const auto model = unwrap(TestModel::fromCheckpoint(WASTE_K3_MINI_CHECKPOINT));
        QVERIFY(model != nullptr);
        const json& prompt = golden.at("prompts").at(static_cast<std::size_t>(index));
        const std::vector<TokenId> tokens = ids(prompt);

        std::vector<float> pictureRows;
        for (const json& image : prompt.at("images")) {
            const std::filesystem::path name =
                image.is_object() ? image.at("file").get<std::string>() : image.get<std::string>();
            const std::vector<float> rows = readFloats(kData / "k3-mini" / (name.stem().string() + ".embed.f32"));
            QVERIFY(!rows.empty());
            pictureRows.insert(pictureRows.end(), rows.begin(), rows.end());
        }
        std::vector<const float*> rows(tokens.size(), nullptr);
        const float* next = pictureRows.data();
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if (tokens[i] != model->config.mediaPlaceholderId)
                continue;
            rows[i] = next;
            next += model->config.hiddenSize;
        }
        QCOMPARE(next, pictureRows.data() + pictureRows.size());

        ModelRunner runner(*model, {.threadCount = 2});
        runner.collectEverything();
        QVERIFY(runner.append(tokens, rows));
        verifyError("last position",
            relativeError(
                runner.lastLogits(), readFloats(kData / "k3-mini" / prompt.at("logits_file").get<std::string>())));
        if (prompt.contains("all_logits_file"))
            verifyError("all positions",
                worstRow(runner.allLogits(),
                    readFloats(kData / "k3-mini" / prompt.at("all_logits_file").get<std::string>()),
                    model->config.vocabularySize));
        if (prompt.contains("layer_norms")) {
            verifyNorms(runner, prompt.at("layer_norms"));
            verifyExperts(runner, model->config, prompt);
        }
        verifyGreedy(runner, prompt);
    }

    void everyContainerFormatGivesTheStatedLogits_data()
    {
        QTest::addColumn<QByteArray>("isa");
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<int>("chunk");
        for (const char* isa : testedSets()) {
            if (!kernels::selectKernels(isa))
                continue;
            for (const char* name :
                {"kl-vq3r-q4g", "kl-vq2r-q8g", "kl-vq4p-q3g", "kl-vq4p-mixed", "kl-rows-f32", "k3-odd"}) {
                for (const int chunk : {1, 7, 64})
                    QTest::addRow("%s %s, chunks of %d", isa, name, chunk)
                        << QByteArray(isa) << QByteArray(name) << chunk;
            }
        }
    }
    void everyContainerFormatGivesTheStatedLogits()
    {
        QFETCH(QByteArray, isa);
        QFETCH(QByteArray, name);
        QFETCH(int, chunk);
        const std::filesystem::path base = kData / "containers";
        const json golden = readJson(base / (name.toStdString() + ".json"));
        const auto model = unwrap(TestModel::fromContainer(base / (name.toStdString() + ".waste")));
        QVERIFY(model != nullptr);
        ModelRunner runner(*model, {.isa = isa.constData(), .chunkTokensMax = static_cast<std::uint32_t>(chunk)});
        runner.collectEverything();
        QVERIFY(runner.append(ids(golden)));
        verifyError("all positions",
            worstRow(runner.allLogits(), readFloats(base / (name.toStdString() + ".logits.f32")),
                model->config.vocabularySize));
        verifyNorms(runner, golden.at("layer_norms"));
        verifyExperts(runner, model->config, golden);
        verifyGreedy(runner, golden);
    }
};

QTEST_APPLESS_MAIN(TestGoldenModels)
#include "tst_golden_models.moc"
