// What must hold for the decoder whatever the model: partitions into chunks agree, numbers of threads give
// the same bits, and a chunk that was cut anywhere arrives as if nothing had happened.

#include "engine/layers/layer_fixture.h"
#include "engine/layers/model_runner.h"
#include "support/counted_memory/counted_memory.h"
#include "support/golden.h"

#include <QTest>

#include <atomic>
#include <chrono>
#include <optional>
#include <random>
#include <thread>

using namespace waste;
using namespace waste::test;
using nlohmann::json;

namespace {

const std::filesystem::path kData = WASTE_TEST_DATA;

struct Subject {
    std::unique_ptr<TestModel> model;
    std::vector<TokenId> ids;
};

// "kl-mini": a checkpoint of the one family; "k3-mini": of the other; "k3-odd": a container.
Subject makeSubject(const std::string& name)
{
    Subject subject;
    json golden;
    if (name == "kl-mini") {
        subject.model = std::move(*TestModel::fromCheckpoint(kData / "kl-mini"));
        golden = readJson(kData / "kl-mini/golden.json").at("prompts").at(1);
    } else if (name == "k3-mini") {
        subject.model = std::move(*TestModel::fromCheckpoint(WASTE_K3_MINI_CHECKPOINT));
        const json prompts = readJson(kData / "k3-mini/prompts.json").at("prompts");
        golden = *std::find_if(
            prompts.begin(), prompts.end(), [](const json& prompt) { return prompt.at("name") == "parallel_calls"; });
    } else {
        subject.model = std::move(*TestModel::fromContainer(kData / "containers/k3-odd.waste"));
        golden = readJson(kData / "containers/k3-odd.json");
    }
    subject.ids = golden.at("ids").get<std::vector<TokenId>>();
    return subject;
}

void addSubjects()
{
    QTest::addColumn<QByteArray>("name");
    for (const char* name : {"kl-mini", "k3-mini", "k3-odd"})
        QTest::newRow(name) << QByteArray(name);
}

std::vector<float> copyOf(std::span<const float> values)
{
    return {values.begin(), values.end()};
}

// Passes everything on, records it, and disturbs one acquisition.
class WatchedExperts final : public SequentialExperts {
public:
    explicit WatchedExperts(ExpertSource& inner)
        : m_inner(inner)
    {
    }
    void announce(std::uint16_t layer, std::span<const std::uint16_t> experts) override
    {
        SequentialExperts::announce(layer, experts);
        announcements.push_back({layer, {experts.begin(), experts.end()}, {}});
        m_inner.announce(layer, experts);
    }
    Result<Pin> acquire(ExpertKey key) override
    {
        const std::size_t number = count++;
        if (number == failAt)
            return Error{ErrorCode::Io, "", "the disk is gone"};
        if (number == cancelAt)
            cancel.cancel();
        announcements.back().acquired.push_back(key.expert);
        return m_inner.acquire(key);
    }

    struct Announcement {
        std::uint16_t layer;
        std::vector<std::uint16_t> announced;
        std::vector<std::uint16_t> acquired;
    };
    std::vector<Announcement> announcements;
    std::size_t count = 0;
    std::size_t failAt = SIZE_MAX;
    std::size_t cancelAt = SIZE_MAX; // after this one
    CancelFlag cancel;

private:
    void release(std::uint32_t) override { }
    ExpertSource& m_inner;
};

} // namespace

class TestDecoder : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyPartitionAgreesWithTokenByToken_data() { addSubjects(); }
    void everyPartitionAgreesWithTokenByToken()
    {
        QFETCH(QByteArray, name);
        const Subject subject = makeSubject(name.toStdString());
        const ModelConfig& config = subject.model->config;
        ModelRunner stepped(*subject.model, {.chunkTokensMax = 1});
        QVERIFY(stepped.append(subject.ids));
        const std::span<const float> logits = stepped.lastLogits();
        for (const std::uint32_t chunk : {2U, 7U, 16U, 64U, 150U}) {
            ModelRunner runner(*subject.model, {.chunkTokensMax = chunk});
            QVERIFY(runner.append(subject.ids));
            const double error = relativeError(runner.lastLogits(), logits);
            qInfo("chunks of %u: logits %.2e", chunk, error);
            QVERIFY(error <= 1e-5);
            QCOMPARE(
                std::max_element(runner.lastLogits().begin(), runner.lastLogits().end()) - runner.lastLogits().begin(),
                std::max_element(logits.begin(), logits.end()) - logits.begin());
            const auto verifyPart = [&](const float* actual, const float* expected, std::uint64_t count) {
                QVERIFY(relativeError({actual, count}, {expected, count}) <= 1e-5);
            };
            for (std::uint32_t layer = 0; layer < config.layerCount; ++layer) {
                const LayerState& actual = runner.state().layers[layer];
                const LayerState& expected = stepped.state().layers[layer];
                if (config.isKda(layer)) {
                    verifyPart(actual.kda, expected.kda, kdaStateFloats(config));
                    verifyPart(actual.windows, expected.windows, windowFloats(config));
                } else {
                    verifyPart(actual.latentRows, expected.latentRows, latentRowFloats(config) * subject.ids.size());
                }
            }
        }
    }

    void anyNumberOfThreadsGivesTheSameBits_data() { addSubjects(); }
    void anyNumberOfThreadsGivesTheSameBits()
    {
        QFETCH(QByteArray, name);
        const Subject subject = makeSubject(name.toStdString());
        const std::span<const TokenId> ids(subject.ids);
        for (const std::uint32_t chunk : {1U, 64U}) {
            std::optional<ModelRunner> reference;
            reference.emplace(*subject.model, ModelRunner::Setup{.threadCount = 1, .chunkTokensMax = chunk});
            const std::span<const TokenId> part = ids.first(chunk == 1 ? 12 : ids.size());
            QVERIFY(reference->append(part));
            for (const std::uint32_t threads : {2U, 3U, 5U}) {
                ModelRunner runner(*subject.model, {.threadCount = threads, .chunkTokensMax = chunk});
                QVERIFY(runner.append(part));
                QCOMPARE(copyOf(runner.lastLogits()), copyOf(reference->lastLogits()));
                QCOMPARE(copyOf(runner.stateMemory()), copyOf(reference->stateMemory()));
            }
        }
    }

    void aChunkThatWasCutAnywhereArrivesUnchanged_data()
    {
        QTest::addColumn<QByteArray>("name");
        QTest::addColumn<bool>("fail");
        for (const char* name : {"kl-mini", "k3-odd"}) {
            QTest::addRow("%s, cancelled", name) << QByteArray(name) << false;
            QTest::addRow("%s, unreadable expert", name) << QByteArray(name) << true;
        }
    }
    void aChunkThatWasCutAnywhereArrivesUnchanged()
    {
        QFETCH(QByteArray, name);
        QFETCH(bool, fail);
        const Subject subject = makeSubject(name.toStdString());
        const std::span<const TokenId> ids(subject.ids);
        const auto first = ids.first(3);
        const auto second = ids.subspan(3, 4);
        ModelRunner whole(*subject.model, {.chunkTokensMax = 4});
        QVERIFY(whole.append(first));
        QVERIFY(whole.append(second));

        std::size_t cuts = 0;
        for (std::size_t at = 0;; ++at) {
            WatchedExperts experts(*subject.model->experts);
            ModelRunner runner(*subject.model, {.chunkTokensMax = 4, .experts = &experts});
            QVERIFY(runner.append(first));
            (fail ? experts.failAt : experts.cancelAt) = experts.count + at;
            QVERIFY(runner.decoder().begin(runner.chunk(), runner.state(), second));
            const Status cut = runner.finish(&experts.cancel);
            if (cut)
                break; // the chunk needs fewer experts than that
            ++cuts;
            QCOMPARE(cut.error().code, fail ? ErrorCode::Io : ErrorCode::Cancelled);
            QVERIFY(!runner.chunk().isEmpty());
            QCOMPARE(runner.state().position, std::uint64_t{3});
            experts.cancel.reset();
            QVERIFY(runner.finish());
            QVERIFY(runner.chunk().isEmpty());
            QCOMPARE(runner.state().position, std::uint64_t{7});
            QCOMPARE(copyOf(runner.lastLogits()), copyOf(whole.lastLogits()));
            QCOMPARE(copyOf(runner.stateMemory()), copyOf(whole.stateMemory()));
        }
        QVERIFY(cuts > subject.model->config.moeLayerCount());
    }

    // Cancelled by another thread again and again, until a cut was seen between two pieces of an attention.
    void aChunkThatWasCutBetweenPiecesArrivesUnchanged()
    {
        const Subject subject = makeSubject("kl-mini");
        const std::span<const TokenId> ids = std::span(subject.ids).first(200);
        constexpr std::uint32_t kChunk = 200;
        ModelRunner whole(*subject.model, {.chunkTokensMax = kChunk});
        QVERIFY(whole.append(ids));
        bool wasCutBetweenPieces = false;
        for (int attempt = 0; attempt < 1000 && !wasCutBetweenPieces; ++attempt) {
            ModelRunner runner(*subject.model, {.chunkTokensMax = kChunk});
            QVERIFY(runner.decoder().begin(runner.chunk(), runner.state(), ids));
            CancelFlag cancel;
            std::atomic<bool> done = false;
            std::thread canceller([&] {
                std::mt19937 random(static_cast<std::uint32_t>(attempt));
                while (!done) {
                    std::this_thread::sleep_for(std::chrono::microseconds(random() % 1000));
                    cancel.cancel();
                }
            });
            while (!runner.chunk().isEmpty()) {
                cancel.reset();
                const Status status = runner.finish(&cancel);
                QVERIFY(status || status.error().code == ErrorCode::Cancelled);
                if (!status && runner.chunk().attendedTokens > 0) {
                    wasCutBetweenPieces = true;
                    done = true; // a slow machine would never get through a layer of experts otherwise
                }
            }
            done = true;
            canceller.join();
            QCOMPARE(copyOf(runner.lastLogits()), copyOf(whole.lastLogits()));
            QCOMPARE(copyOf(runner.stateMemory()), copyOf(whole.stateMemory()));
        }
        QVERIFY(wasCutBetweenPieces);
    }

    void aCancelBetweenLayersStopsBeforeTheNextOne()
    {
        const Subject subject = makeSubject("kl-mini");
        const std::span<const TokenId> ids(subject.ids);
        ModelRunner whole(*subject.model, {});
        QVERIFY(whole.append(ids.first(5)));
        for (std::uint32_t last = 0; last + 1 < subject.model->config.layerCount; ++last) {
            ModelRunner runner(*subject.model, {});
            QVERIFY(runner.decoder().begin(runner.chunk(), runner.state(), ids.first(5)));
            CancelFlag cancel;
            std::uint32_t layersDone = 0;
            Decoder::RunOptions options;
            options.cancel = &cancel;
            options.layerSink = [&](const LayerReport& report) {
                ++layersDone;
                if (report.layer == last)
                    cancel.cancel();
            };
            const Status cut = runner.decoder().run(runner.chunk(), runner.state(), options);
            QVERIFY(!cut);
            QCOMPARE(cut.error().code, ErrorCode::Cancelled);
            QCOMPARE(layersDone, last + 1);
            QCOMPARE(runner.chunk().layer, last + 1);
            QVERIFY(runner.finish());
            QCOMPARE(copyOf(runner.lastLogits()), copyOf(whole.lastLogits()));
            QCOMPARE(copyOf(runner.stateMemory()), copyOf(whole.stateMemory()));
        }
    }

    void aDroppedChunkIsForgottenWithItsSequence()
    {
        const Subject subject = makeSubject("kl-mini");
        const std::span<const TokenId> ids(subject.ids);
        ModelRunner whole(*subject.model, {});
        QVERIFY(whole.append(ids.first(9)));
        ModelRunner runner(*subject.model, {});
        CancelFlag cancel;
        cancel.cancel();
        QVERIFY(runner.append(ids.subspan(20, 30)));
        QVERIFY(runner.decoder().begin(runner.chunk(), runner.state(), ids.first(2)));
        QVERIFY(!runner.finish(&cancel));
        runner.chunk().drop();
        runner.state().reset(subject.model->config);
        QVERIFY(runner.append(ids.first(9)));
        QCOMPARE(copyOf(runner.lastLogits()), copyOf(whole.lastLogits()));
    }

    void expertsOfAChunkAreAnnouncedAndAcquiredOnceInAscendingOrder()
    {
        const Subject subject = makeSubject("kl-mini");
        WatchedExperts experts(*subject.model->experts);
        ModelRunner runner(*subject.model, {.experts = &experts});
        runner.collectEverything();
        QVERIFY(runner.append(std::span(subject.ids).first(20)));
        const ModelConfig& config = subject.model->config;
        QCOMPARE(experts.announcements.size(), std::size_t{config.moeLayerCount()});
        for (std::size_t i = 0; i < experts.announcements.size(); ++i) {
            const WatchedExperts::Announcement& announcement = experts.announcements[i];
            QCOMPARE(std::size_t{announcement.layer}, config.denseLayerCount + i);
            std::vector<std::uint16_t> chosen = runner.experts(announcement.layer);
            std::sort(chosen.begin(), chosen.end());
            chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
            QCOMPARE(announcement.announced, chosen);
            QCOMPARE(announcement.acquired, chosen);
        }
    }

    void replacementRowsTakeThePlaceOfEmbeddingsInEveryChunk()
    {
        const Subject subject = makeSubject("kl-mini");
        const std::size_t hidden = subject.model->config.hiddenSize;
        const std::vector<TokenId> ids(subject.ids.begin(), subject.ids.begin() + 17);
        std::vector<TokenId> placeholders = ids;
        std::vector<float> rows(ids.size() * hidden);
        std::vector<const float*> replacements(ids.size(), nullptr);
        for (const std::size_t position : {0U, 5U, 6U, 16U}) { // the last is a chunk of its own for 16 and for 1
            QVERIFY(subject.model->embedding->read(ids[position], std::span(rows).subspan(position * hidden, hidden)));
            replacements[position] = rows.data() + position * hidden;
            placeholders[position] = 511;
        }
        for (const std::uint32_t chunk : {1U, 7U, 16U}) {
            ModelRunner plain(*subject.model, {.chunkTokensMax = chunk});
            ModelRunner replaced(*subject.model, {.chunkTokensMax = chunk});
            QVERIFY(plain.append(ids));
            QVERIFY(replaced.append(placeholders, replacements));
            QCOMPARE(copyOf(replaced.lastLogits()), copyOf(plain.lastLogits()));
        }
    }

    void whatCannotBeEvaluatedIsRefusedAndChangesNothing()
    {
        const Subject subject = makeSubject("kl-mini");
        ModelRunner runner(*subject.model, {.contextTokens = 4});
        const auto refusal = [&](std::vector<TokenId> ids) {
            const Status status = runner.decoder().begin(runner.chunk(), runner.state(), ids);
            return status ? QByteArray("accepted") : QByteArray(status.error().reason.c_str());
        };
        QCOMPARE(refusal({1, 512}), "token");
        QCOMPARE(refusal({-1}), "token");
        QCOMPARE(refusal({1, 2, 3, 4, 5}), "context");
        QVERIFY(runner.chunk().isEmpty());
        const std::vector<TokenId> ids = {1, 2, 3, 4};
        QVERIFY(runner.append(ids));
        QCOMPARE(refusal({5}), "context");
        QVERIFY(runner.chunk().isEmpty());
        QCOMPARE(runner.state().position, std::uint64_t{4});
    }

    void scratchIsWhatThePlanCountsAndNothingIsAllocatedLater_data() { addSubjects(); }
    void scratchIsWhatThePlanCountsAndNothingIsAllocatedLater()
    {
        QFETCH(QByteArray, name);
        const Subject subject = makeSubject(name.toStdString());
        const TestModel& model = *subject.model;
        for (const std::uint32_t threads : {1U, 3U}) {
            for (const std::uint32_t chunkTokens : {1U, 16U, 150U}) {
                ThreadPool pool({.threadCount = threads});
                const std::uint64_t bytes = Decoder::scratchBytes(model.config, chunkTokens, threads);
                Arena arena = std::move(*Arena::create(bytes, "a test"));
                Decoder decoder({.config = model.config,
                                    .weights = model.weights,
                                    .embedding = *model.embedding,
                                    .experts = model.experts.get(),
                                    .kernels = **kernels::selectKernels(),
                                    .pool = pool,
                                    .chunkTokensMax = chunkTokens},
                    arena);
                QCOMPARE(arena.usedBytes(), bytes);

                std::vector<float> memory(sequenceStateBytes(model.config, 64) / sizeof(float));
                SequenceState state = SequenceState::bind(model.config, 64, memory);
                ArenaSize chunkSize;
                ChunkInFlight::carve(chunkSize, model.config, chunkTokens);
                Arena chunkArena = std::move(*Arena::create(chunkSize.bytes(), "a test"));
                ChunkInFlight chunk = ChunkInFlight::carve(chunkArena, model.config, chunkTokens);
                std::vector<float> logits(model.config.vocabularySize);
                Decoder::RunOptions options;
                options.lastLogits = logits;
                options.logitsSink = [](std::uint64_t, std::span<const float>) {};
                options.layerSink = [](const LayerReport&) {};
                const std::uint64_t before = allocationCount();
                QVERIFY(decoder.begin(chunk, state, std::span(subject.ids).first(std::min(chunkTokens, 24U))));
                QVERIFY(decoder.run(chunk, state, options));
                if (name != "k3-odd") // the test's own source of records allocates
                    QCOMPARE(allocationCount(), before);
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestDecoder)
#include "tst_decoder.moc"
