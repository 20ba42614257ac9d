// Reading prompts through the facade: the golden logits, whatever the chunks, the threads and the cache.

#include "session_fixture.h"
#include "support/golden.h"

#include <algorithm>
#include <array>

using namespace waste;
using namespace waste::test;

namespace {

constexpr double kTolerance = 1e-5; // of exact kernels (spec: model 10)
// Of reduced ones: these models are so small and so random that 15 bits of an activation show.
constexpr double kReducedTolerance = 2e-3;

double toleranceOf(bool exact)
{
    return exact ? kTolerance : kReducedTolerance;
}

constexpr std::array<const char*, 2> kCheckpoints = {"k3-mini", "kl-mini"};
constexpr std::array<const char*, 6> kContainers = {
    "k3-odd", "kl-vq3r-q4g", "kl-vq2r-q8g", "kl-vq4p-q3g", "kl-vq4p-mixed", "kl-rows-f32"};

void addModels(std::span<const char* const> names)
{
    for (const char* name : names)
        QTest::newRow(name) << QString(name);
}

std::vector<float> logitsAfter(const std::string& model, const TestOptions& options, std::span<const TokenId> ids)
{
    const std::unique_ptr<Engine> engine = openEngine(openModel(model), options);
    const std::unique_ptr<Session> session = openSession(*engine);
    const Status status = session->append(ids);
    if (!status)
        qWarning("%s", status.error().message.c_str());
    return copyLogits(*session);
}

} // namespace

class TestPrefill : public QObject {
    Q_OBJECT

private:
    static void verifyEveryPosition(
        const std::string& name, std::span<const TokenId> ids, const std::vector<float>& golden, bool exact)
    {
        const std::unique_ptr<Engine> engine = openEngine(openModel(name), {.exact = exact});
        const std::unique_ptr<Session> session = openSession(*engine);
        std::vector<float> logits;
        AppendOptions options;
        options.logitsSink = [&](std::uint64_t position, std::span<const float> row) {
            QCOMPARE(position * row.size(), logits.size());
            logits.insert(logits.end(), row.begin(), row.end());
        };
        WASTE_VERIFY_OK(session->append(ids, options));
        QCOMPARE(logits.size(), golden.size());
        const std::size_t vocabulary = session->logits().size();
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto row = std::span(logits).subspan(i * vocabulary, vocabulary);
            const double error = relativeError(row, std::span(golden).subspan(i * vocabulary, vocabulary));
            QVERIFY2(error < toleranceOf(exact), qPrintable(QString("position %1: %2").arg(i).arg(error)));
        }
        QVERIFY(sameBits(session->logits(), std::span(logits).last(vocabulary)));
    }

private Q_SLOTS:
    void givesTheGoldenLogitsOfPublishedWeights_data()
    {
        QTest::addColumn<qsizetype>("index");
        for (std::size_t i = 0; i < textPrompts().size(); ++i)
            QTest::newRow(textPrompts()[i].name.c_str()) << static_cast<qsizetype>(i);
    }

    void givesTheGoldenLogitsOfPublishedWeights()
    {
        QFETCH(const qsizetype, index);
        const GoldenPrompt prompt = textPrompts()[static_cast<std::size_t>(index)];
        static const std::unique_ptr<Engine> engine = openEngine(openModel("k3-mini"));
        const std::unique_ptr<Session> session = openSession(*engine);
        WASTE_VERIFY_OK(session->append(prompt.ids));
        QCOMPARE(session->position(), prompt.ids.size());
        const double error = relativeError(session->logits(), readFloats(prompt.logitsFile));
        QVERIFY2(error < kTolerance, qPrintable(QString::number(error)));
    }

    void givesTheGoldenLogitsOfEveryContainerAtEveryPosition_data()
    {
        QTest::addColumn<QString>("model");
        addModels(std::span(kCheckpoints).last(1)); // the prompts of K3-mini are rows of their own
        addModels(kContainers);
    }

    void givesTheGoldenLogitsOfEveryContainerAtEveryPosition()
    {
        QFETCH(const QString, model);
        const std::filesystem::path data = WASTE_TEST_DATA;
        const std::string name = model.toStdString();
        const std::vector<float> golden = readFloats(name == "kl-mini" ? data / "kl-mini" / "short.all_logits.f32"
                                                                       : data / "containers" / (name + ".logits.f32"));
        const std::vector<TokenId> ids = samplePrompt(name);
        for (const bool exact : {true, false})
            verifyEveryPosition(name, ids, golden, exact);
    }

    void givesTheSameLogitsForEveryChunkSize_data()
    {
        QTest::addColumn<QString>("model");
        addModels(kCheckpoints);
        addModels(kContainers);
    }

    void givesTheSameLogitsForEveryChunkSize()
    {
        QFETCH(const QString, model);
        const std::string name = model.toStdString();
        const std::vector<TokenId> ids = samplePrompt(name);
        for (const bool exact : {true, false}) {
            const std::vector<float> expected = logitsAfter(name, {.chunkTokens = 1, .exact = exact}, ids);
            QVERIFY(!expected.empty());
            for (const std::uint32_t chunk : {2U, 7U, 16U, 64U}) {
                const double error =
                    relativeError(logitsAfter(name, {.chunkTokens = chunk, .exact = exact}, ids), expected);
                QVERIFY2(error < toleranceOf(exact), qPrintable(QString("chunk %1: %2").arg(chunk).arg(error)));
            }
        }
    }

    void givesTheSameBitsForEveryNumberOfThreads_data()
    {
        QTest::addColumn<QString>("model");
        addModels(kCheckpoints);
        addModels(kContainers);
    }

    void givesTheSameBitsForEveryNumberOfThreads()
    {
        QFETCH(const QString, model);
        const std::string name = model.toStdString();
        const std::vector<TokenId> ids = samplePrompt(name);
        for (TestOptions options : {TestOptions{.chunkTokens = 1, .exact = true}, TestOptions{.exact = true},
                 TestOptions{.chunkTokens = 1}, TestOptions{}}) {
            options.threadCount = 1;
            const std::vector<float> expected = logitsAfter(name, options, ids);
            QVERIFY(!expected.empty());
            for (const std::uint32_t threads : {2U, 3U, 7U}) {
                options.threadCount = threads;
                QVERIFY(sameBits(logitsAfter(name, options, ids), expected));
            }
        }
    }

    void givesTheSameBitsForEveryCacheSize_data()
    {
        QTest::addColumn<QString>("model");
        addModels(kContainers); // of checkpoints everything is in memory
    }

    void givesTheSameBitsForEveryCacheSize()
    {
        QFETCH(const QString, model);
        const std::string name = model.toStdString();
        const std::shared_ptr<const Container> container = openModel(name);
        const std::vector<TokenId> ids = samplePrompt(name);
        for (const std::uint32_t chunk : {1U, 64U}) {
            const std::vector<float> everythingCached = logitsAfter(name, {.chunkTokens = chunk}, ids);
            QVERIFY(!everythingCached.empty());
            const Result<MemoryPlan> plan = MemoryPlan::compute(
                *container, {.contextTokens = 512, .threadCount = 1, .prefillChunkTokens = chunk}, Machine::detect());
            WASTE_VERIFY_OK(plan);
            for (const std::uint64_t records : {0U, 1U, 3U, 10U}) {
                const std::uint64_t budget = plan->floorBytes + records * container->info().expertRecordBytes;
                const TestOptions options{.budgetBytes = budget, .chunkTokens = chunk};
                QVERIFY(sameBits(logitsAfter(name, options, ids), everythingCached));
            }
        }
    }

    void tracesNormsAndExpertsOfEveryLayerAndPosition()
    {
        const std::unique_ptr<Engine> engine = openEngine(openModel("k3-mini"), {.chunkTokens = 7});
        for (const GoldenPrompt& prompt : textPrompts()) {
            if (!prompt.json.contains("layer_norms"))
                continue;
            const std::unique_ptr<Session> session = openSession(*engine);
            std::vector<LayerTrace> traces;
            AppendOptions options;
            options.layerSink = [&traces](const LayerTrace& trace) { traces.push_back(trace); };
            WASTE_VERIFY_OK(session->append(prompt.ids, options));
            QCOMPARE(traces.size(), prompt.ids.size() * 8);
            for (const LayerTrace& trace : traces) {
                const auto position = static_cast<qsizetype>(trace.position);
                const auto layer = static_cast<qsizetype>(trace.layer);
                const double norm = prompt.json["layer_norms"].toArray()[layer].toArray()[position].toDouble();
                QVERIFY(std::abs(trace.norm - norm) <= 1e-5 * norm + 1e-5);
                QCOMPARE(trace.experts.size(), trace.weights.size());
                QCOMPARE(trace.experts.empty(), trace.layer == 0);
                if (trace.layer == 0)
                    continue;
                const QJsonArray expected = prompt.json["experts"].toArray()[layer - 1].toArray()[position].toArray();
                QCOMPARE(static_cast<qsizetype>(trace.experts.size()), expected.size());
                for (std::size_t i = 0; i < trace.experts.size(); ++i)
                    QCOMPARE(static_cast<int>(trace.experts[i]), expected[static_cast<qsizetype>(i)].toInt());
            }
        }
    }

    void readsAPictureFromItsRows()
    {
        const std::filesystem::path folder = std::filesystem::path(WASTE_TEST_DATA) / "k3-mini";
        for (const auto& value : readJson(folder / "prompts.json")["prompts"].toArray()) {
            const QJsonObject prompt = value.toObject();
            const QJsonArray images = prompt["images"].toArray();
            if (images.isEmpty())
                continue;
            const QString picture = images[0].toObject()["file"].toString().chopped(4);
            const std::vector<float> rows = readFloats(folder / (picture + ".embed.f32").toStdString());
            const std::vector<float> golden = readFloats(folder / prompt["logits_file"].toString().toStdString());
            for (const std::uint32_t chunk : {5U, 64U}) {
                const std::unique_ptr<Engine> engine = openEngine(openModel("k3-mini"), {.chunkTokens = chunk});
                const std::unique_ptr<Session> session = openSession(*engine);
                AppendOptions options;
                options.pictureRows = rows;
                WASTE_VERIFY_OK(session->append(idsFromJson(prompt["ids"].toArray()), options));
                QVERIFY(relativeError(session->logits(), golden) < kTolerance);
            }
        }
    }

    void refusesPicturesThatDoNotFitTheirPlaces()
    {
        const std::unique_ptr<Engine> engine = openEngine(openModel("k3-mini"));
        const std::unique_ptr<Session> session = openSession(*engine);
        const std::vector<float> rows(256);
        AppendOptions options;
        options.pictureRows = rows;
        const Status status = session->append(std::vector<TokenId>{1, 2, 3}, options);
        QVERIFY(!status.has_value());
        QCOMPARE(status.error().code, ErrorCode::InvalidArgument);
        QCOMPARE(session->position(), 0U);
    }

    void refusesIdsOutsideTheVocabularyBeforeAnythingIsEvaluated()
    {
        const std::unique_ptr<Engine> engine = openEngine(openModel("kl-vq3r-q4g"));
        const std::unique_ptr<Session> session = openSession(*engine);
        for (const TokenId id : {-1, 264, INT32_MAX, INT32_MIN}) {
            const Status status = session->append(std::vector<TokenId>{1, id});
            QVERIFY(!status.has_value());
            QCOMPARE(status.error().code, ErrorCode::InvalidArgument);
            QVERIFY(QString::fromStdString(status.error().message).contains(QString::number(id)));
            QCOMPARE(session->position(), 0U);
            QVERIFY(!session->isUnfinished());
        }
        QVERIFY(session->logits().empty());
    }

    void refusesAPromptThatDoesNotFitTheContext()
    {
        const std::unique_ptr<Engine> engine = openEngine(openModel("kl-vq3r-q4g"), {.contextTokens = 8});
        const std::unique_ptr<Session> session = openSession(*engine);
        const std::vector<TokenId> ids = samplePrompt("kl-vq3r-q4g");
        const Status tooLong = session->append(std::span(ids).first(9));
        QVERIFY(!tooLong.has_value());
        QCOMPARE(tooLong.error().code, ErrorCode::InvalidArgument);
        QCOMPARE(session->position(), 0U);
        WASTE_VERIFY_OK(session->append(std::span(ids).first(8)));
        QVERIFY(!session->append(std::span(ids).first(1)).has_value());
        WASTE_VERIFY_OK(session->append({}));
        QCOMPARE(session->position(), 8U);
    }

    void continuesAtAnyCut()
    {
        const std::vector<TokenId> ids = samplePrompt("kl-mini");
        const std::unique_ptr<Engine> engine = openEngine(openModel("kl-mini"));
        const std::vector<float> expected = logitsAfter("kl-mini", {}, ids);
        for (const std::size_t cut : {1U, 5U, 23U}) {
            const std::unique_ptr<Session> session = openSession(*engine);
            WASTE_VERIFY_OK(session->append(std::span(ids).first(cut)));
            WASTE_VERIFY_OK(session->append(std::span(ids).subspan(cut)));
            QVERIFY(std::equal(ids.begin(), ids.end(), session->tokens().begin(), session->tokens().end()));
            QVERIFY(relativeError(session->logits(), expected) < kTolerance);
        }
    }

    void reportsItsProgressAfterEveryLayer()
    {
        const std::unique_ptr<Engine> engine = openEngine(openModel("kl-mini"), {.chunkTokens = 10});
        const std::unique_ptr<Session> session = openSession(*engine);
        std::vector<std::uint64_t> steps;
        AppendOptions options;
        options.progress = [&steps](std::uint64_t done, std::uint64_t total) {
            QCOMPARE(total, 24U);
            steps.push_back(done);
        };
        WASTE_VERIFY_OK(session->append(samplePrompt("kl-mini"), options));
        const std::size_t layers = engine->container().info().layerCount;
        QCOMPARE(steps.size(), 3 * layers);
        QVERIFY(std::is_sorted(steps.begin(), steps.end()));
        QCOMPARE(steps[layers / 2 - 1], 10 * (layers / 2) / layers);
        QCOMPARE(steps[layers - 1], 10U);
        QCOMPARE(steps[2 * layers - 1], 20U);
        QCOMPARE(steps.back(), 24U);
        QCOMPARE(engine->statistics().tokensPrefilled, 24U);
        QCOMPARE(engine->statistics().tokensDecoded, 0U);
    }
};

QTEST_GUILESS_MAIN(TestPrefill)
#include "tst_prefill.moc"
