// The built-in model and kl-mini as our own converter writes them: experts stream through caches of every
// size, and what quantisation does to the answers stays small.

#include "session_fixture.h"
#include "waste/converter.h"

using namespace waste;
using namespace waste::test;

namespace {

GenerateOptions greedy(std::uint32_t tokensMax)
{
    GenerateOptions options;
    options.tokensMax = tokensMax;
    return options;
}

TokenId likeliest(std::span<const float> logits)
{
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

} // namespace

class TestConvertedModel : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        for (const char* name : {"k3-mini", "kl-mini"}) {
            const std::filesystem::path target = std::filesystem::path(m_folder.path().toStdString()) / name;
            ConvertOptions options;
            options.source = modelPath(name);
            options.target = target;
            WASTE_VERIFY_OK(convert(options));
            Result<std::shared_ptr<const Container>> container = Container::open(target);
            WASTE_VERIFY_OK(container);
            m_models[name] = std::move(*container);
        }
    }

    void tellsTheFactsOfTheConversion()
    {
        const ModelInfo& info = m_models["k3-mini"]->info();
        const ModelInfo& published = openModel("k3-mini")->info();
        QCOMPARE(info.format, ModelInfo::Format::Container);
        QCOMPARE(info.quantization, std::string("experts VQ4P, trunk Q4G/Q8G/F32"));
        QCOMPARE(info.expertRecordBytes, 20480U);
        QCOMPARE(info.parametersTotal, published.parametersTotal);
        QCOMPARE(info.parametersActive, published.parametersActive);
        QCOMPARE(info.endOfTextId, published.endOfTextId);
        QCOMPARE(info.mediaPlaceholderId, published.mediaPlaceholderId);
        QCOMPARE(info.tokenizerSha256, published.tokenizerSha256);
        QVERIFY(info.hasTokenizer && info.hasVision);
        QVERIFY(!info.created.empty());
    }

    void beginsEveryAnswerLikeTheExactWeights()
    {
        const std::unique_ptr<Engine> engine = openEngine(m_models["k3-mini"]);
        const std::unique_ptr<Session> session = openSession(*engine);
        int sameText = 0;
        for (const GoldenPrompt& prompt : textPrompts()) {
            session->reset();
            WASTE_VERIFY_OK(session->append(prompt.ids));
            QVERIFY2(likeliest(session->logits()) == prompt.greedy.front(), prompt.name.c_str());
            GenerateOptions options = greedy(96);
            options.stopIds = {2818};
            sameText += generateIds(*session, options) == prompt.greedy ? 1 : 0;
        }
        QVERIFY2(sameText >= 14, qPrintable(QString::number(sameText))); // of 17
    }

    void writesTheSameBitsWithEveryCache_data()
    {
        QTest::addColumn<QString>("model");
        QTest::newRow("k3-mini") << "k3-mini";
        QTest::newRow("kl-mini") << "kl-mini";
    }

    void writesTheSameBitsWithEveryCache()
    {
        QFETCH(const QString, model);
        const std::shared_ptr<const Container>& container = m_models[model.toStdString()];
        const std::vector<TokenId> prompt = samplePrompt(model.toStdString());
        const Result<MemoryPlan> plan =
            MemoryPlan::compute(*container, {.contextTokens = 512, .threadCount = 2}, Machine::detect());
        WASTE_VERIFY_OK(plan);
        const std::uint64_t record = container->info().expertRecordBytes;

        std::vector<float> logits;
        std::vector<TokenId> ids;
        std::vector<std::uint64_t> misses;
        const std::uint64_t everything = plan->allExpertsBytes * 2;
        for (const std::uint64_t extra : {everything, std::uint64_t{0}, record, 7 * record, 40 * record}) {
            const std::unique_ptr<Engine> engine =
                openEngine(container, {.budgetBytes = plan->floorBytes + extra, .threadCount = 2});
            const std::unique_ptr<Session> session = openSession(*engine);
            WASTE_VERIFY_OK(session->append(prompt));
            const std::vector<TokenId> written = generateIds(*session, greedy(24));
            QCOMPARE(written.size(), 24U);
            if (ids.empty()) {
                ids = written;
                logits = copyLogits(*session);
            }
            QVERIFY(written == ids);
            QVERIFY(sameBits(session->logits(), logits));
            misses.push_back(engine->statistics().expertMisses);
        }
        QVERIFY(misses[0] < misses[1]); // the caches did differ
    }

    void goesOnFromAFileWithAnotherCache()
    {
        const std::shared_ptr<const Container>& container = m_models["k3-mini"];
        const std::filesystem::path file = std::filesystem::path(m_folder.path().toStdString()) / "state";
        const std::unique_ptr<Engine> engine = openEngine(container);
        const std::unique_ptr<Session> session = openSession(*engine);
        WASTE_VERIFY_OK(session->append(samplePrompt("k3-mini")));
        GenerateOptions options = greedy(10);
        options.sampling.temperature = 1.1;
        QCOMPARE(generateIds(*session, options).size(), 10U);
        WASTE_VERIFY_OK(session->save(file));
        const std::vector<TokenId> expected = generateIds(*session, options);

        const std::unique_ptr<Engine> other = openEngine(container, {.budgetBytes = engine->plan().floorBytes});
        const std::unique_ptr<Session> restored = openSession(*other);
        WASTE_VERIFY_OK(restored->restore(file));
        QVERIFY(generateIds(*restored, options) == expected);
        QVERIFY(sameBits(restored->logits(), session->logits()));

        const std::unique_ptr<Engine> exact = openEngine(openModel("k3-mini"));
        QCOMPARE(openSession(*exact)->restore(file).error().reason, std::string("other_model"));
    }

private:
    QTemporaryDir m_folder;
    std::map<std::string, std::shared_ptr<const Container>> m_models;
};

QTEST_GUILESS_MAIN(TestConvertedModel)
#include "tst_converted_model.moc"
