// Opening and sharing an engine: budgets, cancelling, who may generate when, and what is told about it.

#include "session_fixture.h"
#include "support/golden.h"

#include <atomic>
#include <thread>

using namespace waste;
using namespace waste::test;

namespace {

GenerateOptions greedy(std::uint32_t tokensMax)
{
    GenerateOptions options;
    options.tokensMax = tokensMax;
    return options;
}

Result<MemoryPlan> planOf(const std::string& model, std::uint64_t budgetBytes = 0)
{
    return MemoryPlan::compute(
        *openModel(model), {.budgetBytes = budgetBytes, .contextTokens = 512, .threadCount = 1}, Machine::detect());
}

} // namespace

class TestEngine : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void refusesABudgetBelowTheFloorAndSaysWhatWouldDo_data()
    {
        QTest::addColumn<QString>("model");
        QTest::newRow("container") << "kl-vq3r-q4g";
        QTest::newRow("checkpoint") << "k3-mini";
    }

    void refusesABudgetBelowTheFloorAndSaysWhatWouldDo()
    {
        QFETCH(const QString, model);
        const Result<MemoryPlan> plan = planOf(model.toStdString());
        WASTE_VERIFY_OK(plan);
        EngineOptions options;
        options.contextTokens = 512;
        options.threadCount = 1;
        options.budgetBytes = plan->floorBytes - 1;
        const Result<std::unique_ptr<Engine>> engine = Engine::open(openModel(model.toStdString()), options);
        QVERIFY(!engine.has_value());
        QCOMPARE(engine.error().code, ErrorCode::RamBudget);
        const QString message = QString::fromStdString(engine.error().message);
        QVERIFY2(message.contains("floor") && message.contains("at least"), qPrintable(message));
        if (model == "k3-mini")
            QVERIFY2(message.contains(QString::number(plan->trunkBytes)), qPrintable(message));

        options.budgetBytes = plan->floorBytes;
        WASTE_VERIFY_OK(Engine::open(openModel(model.toStdString()), options));
    }

    void reservesExactlyWhatItPlanned()
    {
        for (const std::uint32_t count : {1U, 3U}) {
            const std::unique_ptr<Engine> engine = openEngine(openModel("kl-vq3r-q4g"), {.conversationCount = count});
            const MemoryPlan& plan = engine->plan();
            QCOMPARE(
                plan.trunkBytes + plan.stateBytes + plan.scratchBytes + plan.minimumExpertCacheBytes, plan.floorBytes);
            std::vector<std::unique_ptr<Session>> sessions;
            for (std::uint32_t i = 0; i < count; ++i)
                sessions.push_back(openSession(*engine));
            const Result<std::unique_ptr<Session>> oneTooMany = engine->createSession();
            QVERIFY(!oneTooMany.has_value());
            QCOMPARE(oneTooMany.error().code, ErrorCode::Busy);
            sessions.pop_back();
            WASTE_VERIFY_OK(engine->createSession());
        }
    }

    void refusesChunksOfTooManyTokens()
    {
        EngineOptions options;
        options.prefillChunkTokens = 1'000'000;
        QCOMPARE(Engine::open(openModel("kl-vq3r-q4g"), options).error().code, ErrorCode::InvalidArgument);
        options = {};
        options.contextTokens = 0;
        QCOMPARE(Engine::open(openModel("kl-vq3r-q4g"), options).error().code, ErrorCode::InvalidArgument);
    }

    void canBeCancelledAtEveryStepOfItsLoading_data()
    {
        QTest::addColumn<QString>("model");
        QTest::newRow("container") << "k3-odd";
        QTest::newRow("checkpoint") << "kl-mini";
    }

    void canBeCancelledAtEveryStepOfItsLoading()
    {
        QFETCH(const QString, model);
        int steps = 0;
        std::vector<std::string> stages;
        EngineOptions options;
        options.contextTokens = 64;
        const auto count = [&](const Progress& progress) {
            ++steps;
            QVERIFY(progress.done <= progress.total);
            if (stages.empty() || stages.back() != progress.stage)
                stages.emplace_back(progress.stage);
        };
        WASTE_VERIFY_OK(Engine::open(openModel(model.toStdString()), options, count));
        QVERIFY(steps >= 5);
        QVERIFY((
            stages == std::vector<std::string>{"trunk", "codebooks"} || stages == std::vector<std::string>{"weights"}));

        const int end = model == "k3-odd" ? steps - 2 : steps - 1; // codebooks and banks take one breath
        for (int cut = 1; cut < end; cut += 1 + end / 20) {
            CancelFlag flag;
            int step = 0;
            const auto cancelAt = [&](const Progress&) {
                if (++step == cut)
                    flag.cancel();
            };
            const Result<std::unique_ptr<Engine>> engine =
                Engine::open(openModel(model.toStdString()), options, cancelAt, &flag);
            QVERIFY2(!engine.has_value(), qPrintable(QString::number(cut)));
            QCOMPARE(engine.error().code, ErrorCode::Cancelled);
        }
    }

    void letsOneConversationGenerateAtATime()
    {
        const std::unique_ptr<Engine> engine = openEngine(openModel("kl-vq3r-q4g"), {.conversationCount = 2});
        const std::unique_ptr<Session> first = openSession(*engine);
        const std::unique_ptr<Session> second = openSession(*engine);
        const std::vector<TokenId> ids = samplePrompt("kl-vq3r-q4g");
        WASTE_VERIFY_OK(first->append(ids));
        WASTE_VERIFY_OK(second->append(ids));
        const std::vector<TokenId> expected = generateIds(*second, greedy(8));
        second->reset();
        WASTE_VERIFY_OK(second->append(ids));

        ErrorCode appendCode = ErrorCode::Internal;
        ErrorCode generateCode = ErrorCode::Internal;
        std::vector<TokenId> written;
        const Result<GenerateResult> result = first->generate(greedy(8), [&](const TokenEvent& event) {
            written.push_back(event.id);
            std::thread([&] {
                appendCode = second->append(ids).error().code;
                generateCode = second->generate(greedy(1), {}).error().code;
            }).join();
            return TokenAction::Continue;
        });
        WASTE_VERIFY_OK(result);
        QCOMPARE(appendCode, ErrorCode::Busy);
        QCOMPARE(generateCode, ErrorCode::Busy);
        QVERIFY(written == expected);
        QVERIFY(generateIds(*second, greedy(8)) == expected);
    }

    void givesConversationsTheirOwnUnfinishedChunks()
    {
        const std::unique_ptr<Engine> engine = openEngine(openModel("k3-odd"), {.conversationCount = 2});
        const std::vector<TokenId> ids = samplePrompt("k3-odd");
        const std::unique_ptr<Session> alone = openSession(*engine);
        WASTE_VERIFY_OK(alone->append(ids));
        const std::vector<float> expected = copyLogits(*alone);

        const std::unique_ptr<Session> cut = openSession(*engine);
        CancelFlag flag;
        AppendOptions options;
        options.cancel = &flag;
        options.layerSink = [&flag](const LayerTrace& trace) {
            if (trace.layer == 2)
                flag.cancel();
        };
        QVERIFY(!cut->append(ids, options).has_value());
        WASTE_VERIFY_OK(alone->append(std::span(ids).first(9))); // another conversation in between
        WASTE_VERIFY_OK(cut->append({}));
        QVERIFY(sameBits(cut->logits(), expected));
    }

    void encodesPicturesAsTheReferenceDoes()
    {
        const std::filesystem::path folder = std::filesystem::path(WASTE_TEST_DATA) / "k3-mini";
        const std::unique_ptr<Engine> seeing = openEngine(openModel("k3-mini"), {.vision = VisionUse::FromTheStart});
        QVERIFY(seeing->plan().visionBytes > 0);
        for (const char* name : {"red_circle", "transparent", "odd_size"}) {
            QFile source(QString::fromStdString((folder / name).string() + ".png"));
            QVERIFY(source.open(QIODevice::ReadOnly));
            const QByteArray bytes = source.readAll();
            const auto rows = seeing->encodePicture(std::as_bytes(std::span(bytes.begin(), bytes.end())), name);
            WASTE_VERIFY_OK(rows);
            const std::vector<float> golden = readFloats(folder / (std::string(name) + ".embed.f32"));
            QVERIFY(relativeError(*rows, golden) < 1e-5);

            // Half of a picture: as many rows as inspect() says, about half of them all.
            const auto file = std::as_bytes(std::span(bytes.begin(), bytes.end()));
            const auto half = seeing->encodePicture(file, name, {}, nullptr, PictureDetail::Half);
            WASTE_VERIFY_OK(half);
            const auto picture = Picture::inspect(seeing->container(), file, name, PictureDetail::Half);
            WASTE_VERIFY_OK(picture);
            QCOMPARE(half->size(), picture->positionCount * seeing->container().info().hiddenSize);
            QVERIFY(half->size() <= rows->size() / 2);
        }
        const std::unique_ptr<Engine> blind = openEngine(openModel("k3-mini"));
        QCOMPARE(blind->encodePicture({}, "nothing").error().code, ErrorCode::Unsupported);
        EngineOptions options;
        options.vision = VisionUse::FromTheStart;
        QCOMPARE(Engine::open(openModel("kl-mini"), options).error().code, ErrorCode::Unsupported);
    }

    void outlivesItselfThroughItsSessions()
    {
        std::unique_ptr<Engine> engine = openEngine(openModel("kl-vq3r-q4g"));
        const std::unique_ptr<Session> session = openSession(*engine);
        engine.reset();
        WASTE_VERIFY_OK(session->append(samplePrompt("kl-vq3r-q4g")));
        QCOMPARE(generateIds(*session, greedy(4)).size(), 4U);
    }

    void tellsStatisticsWhileItGenerates()
    {
        const std::unique_ptr<Engine> engine = openEngine(openModel("kl-vq3r-q4g"));
        const std::unique_ptr<Session> session = openSession(*engine);
        std::atomic<bool> stop = false;
        std::uint64_t seen = 0;
        std::thread watcher([&] {
            while (!stop)
                seen = std::max(seen, engine->statistics().tokensPrefilled);
        });
        WASTE_VERIFY_OK(session->append(samplePrompt("kl-vq3r-q4g")));
        stop = true;
        watcher.join();
        const Statistics statistics = engine->statistics();
        QCOMPARE(statistics.tokensPrefilled, 24U);
        QVERIFY(seen <= 24);
        QVERIFY(statistics.slotsUsed > 0 && statistics.slotsUsed <= statistics.slotCount);
        QVERIFY(statistics.expertMisses > 0);
        QCOMPARE(statistics.bytesRead, statistics.readsIssued * openModel("kl-vq3r-q4g")->info().expertRecordBytes);
    }

    void hasAFingerprintThatTellsConversionsApart()
    {
        std::vector<std::string> fingerprints;
        for (const char* model : {"kl-mini", "k3-mini", "k3-odd", "kl-vq3r-q4g", "kl-vq2r-q8g", "kl-vq4p-q3g",
                 "kl-vq4p-mixed", "kl-rows-f32"}) {
            const std::string fingerprint = openEngine(openModel(model))->fingerprint();
            QCOMPARE(fingerprint.size(), 64U);
            QCOMPARE(openEngine(openModel(model), {.contextTokens = 99})->fingerprint(), fingerprint);
            QVERIFY(std::find(fingerprints.begin(), fingerprints.end(), fingerprint) == fingerprints.end());
            fingerprints.push_back(fingerprint);
        }
    }

    void hasAFingerprintOfTheNumbersAndNotOfThePlace()
    {
        const QTemporaryDir folder;
        const std::filesystem::path copy = std::filesystem::path(folder.path().toStdString()) / "elsewhere.waste";
        std::filesystem::copy(modelPath("kl-vq3r-q4g"), copy);
        const std::string expected = openEngine(openModel("kl-vq3r-q4g"))->fingerprint();
        const auto fingerprint = [&] {
            const Result<std::shared_ptr<const Container>> container = Container::open(copy);
            return container ? openEngine(*container)->fingerprint() : container.error().message;
        };
        QCOMPARE(fingerprint(), expected);

        // One bit of a trunk tensor (the container states no checksums) and of a codebook.
        for (const auto& [file, offset] : {std::pair("trunk.bin", 5000), std::pair("codebooks.bin", 500)}) {
            flipByte(copy / file, offset);
            QVERIFY2(fingerprint() != expected, file);
            flipByte(copy / file, offset);
        }
        QCOMPARE(fingerprint(), expected);
    }

private:
    static void flipByte(const std::filesystem::path& path, int offset)
    {
        QFile file(QString::fromStdString(path.string()));
        QVERIFY(file.open(QIODevice::ReadWrite));
        QVERIFY(file.seek(offset));
        char byte = 0;
        QVERIFY(file.getChar(&byte));
        QVERIFY(file.seek(offset));
        QVERIFY(file.putChar(static_cast<char>(byte ^ 1)));
    }
};

QTEST_GUILESS_MAIN(TestEngine)
#include "tst_engine.moc"
