// Placement decides speed and never results: whatever the cache, its policy, the guesses and the way of reading,
// every logit keeps its bits.

#include "session_fixture.h"

#include "memory/memory_plan.h"

using namespace waste;
using namespace waste::test;

class TestPlacement : public QObject {
    Q_OBJECT

    struct Run {
        std::vector<float> logits;
        std::vector<TokenId> ids;
        Statistics statistics;
    };

    static Run run(const std::shared_ptr<const Container>& model, const std::string& name, const EngineOptions& options)
    {
        Result<std::unique_ptr<Engine>> engine = Engine::open(model, options);
        if (!engine)
            qFatal("%s", engine.error().message.c_str());
        const std::unique_ptr<Session> session = openSession(**engine);
        Run run;
        if (!session->append(samplePrompt(name)))
            qFatal("no prompt");
        GenerateOptions generate;
        generate.tokensMax = 24;
        generate.sampling.temperature = 1;
        const auto sink = [&](const TokenEvent& event) {
            run.ids.push_back(event.id);
            return TokenAction::Continue;
        };
        if (!session->generate(generate, sink))
            qFatal("no reply");
        run.logits.assign(session->logits().begin(), session->logits().end());
        run.statistics = (*engine)->statistics();
        return run;
    }

    // The logits behind every token of a prompt of several chunks; no token is decoded.
    static Run readPrompt(
        const std::shared_ptr<const Container>& model, const std::string& name, const EngineOptions& options)
    {
        constexpr std::size_t kTokens = 200;
        const std::vector<TokenId> sample = samplePrompt(name);
        std::vector<TokenId> prompt;
        while (prompt.size() < kTokens)
            prompt.push_back(sample[prompt.size() % sample.size()]);
        Result<std::unique_ptr<Engine>> engine = Engine::open(model, options);
        if (!engine)
            qFatal("%s", engine.error().message.c_str());
        const std::unique_ptr<Session> session = openSession(**engine);
        Run run;
        AppendOptions append;
        append.logitsSink = [&run](std::uint64_t, std::span<const float> logits) {
            run.logits.insert(run.logits.end(), logits.begin(), logits.end());
        };
        if (!session->append(prompt, append))
            qFatal("no prompt");
        run.statistics = (*engine)->statistics();
        return run;
    }

private Q_SLOTS:
    void changesNoBit_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name : {"kl-vq3r-q4g", "kl-vq4p-mixed", "k3-odd"})
            QTest::newRow(name) << QString(name);
    }
    void changesNoBit()
    {
        QFETCH(const QString, name);
        const std::string model = name.toStdString();
        const std::shared_ptr<const Container> container = openModel(model);
        EngineOptions plain;
        plain.contextTokens = 256;
        plain.threadCount = 1;
        plain.lookahead = 0;
        plain.asyncIo = false;
        const Run reference = run(container, model, plain); // everything cached
        QCOMPARE(reference.statistics.speculativeIssued, 0U);

        const Result<MemoryPlan> plan =
            MemoryPlan::compute(*container, {.contextTokens = 256, .threadCount = 1}, Machine::detect());
        WASTE_VERIFY_OK(plan);
        std::uint64_t guesses = 0;
        for (const CachePolicy policy : {CachePolicy::Age, CachePolicy::Lfru, CachePolicy::Lru}) {
            for (const std::optional<std::uint32_t> lookahead : {std::optional<std::uint32_t>(), std::optional(0U),
                     std::optional(1U), std::optional(4U), std::optional(8U)}) {
                for (const bool asyncIo : {true, false}) {
                    EngineOptions options = plain;
                    options.budgetBytes = plan->floorBytes + (lookahead == 8U ? plan->workingSetBytes / 2 : 0);
                    options.cachePolicy = policy;
                    options.lookahead = lookahead;
                    options.asyncIo = asyncIo;
                    const Run other = run(container, model, options);
                    QCOMPARE(other.ids, reference.ids);
                    QVERIFY(sameBits(other.logits, reference.logits));
                    QVERIFY(other.statistics.expertMisses > reference.statistics.expertMisses);
                    if (lookahead == 0U)
                        QCOMPARE(other.statistics.speculativeIssued, 0U);
                    guesses += other.statistics.speculativeIssued;
                }
            }
        }
        QVERIFY(guesses > 0);
    }

    // Chunks guess by a rule of their own, and only from 64 tokens on.
    void changesNoBitOfAChunk_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<quint32>("chunkTokens");
        for (const char* name : {"kl-vq3r-q4g", "kl-vq4p-mixed", "k3-odd"}) {
            for (const quint32 tokens : {64U, 128U})
                QTest::addRow("%s in chunks of %u", name, tokens) << QString(name) << tokens;
        }
    }
    void changesNoBitOfAChunk()
    {
        QFETCH(const QString, name);
        QFETCH(const quint32, chunkTokens);
        const std::shared_ptr<const Container> container = openModel(name.toStdString());
        EngineOptions plain;
        plain.contextTokens = 256;
        plain.threadCount = 1;
        plain.prefillChunkTokens = chunkTokens;
        plain.lookahead = 0;
        plain.asyncIo = false;
        const Result<MemoryPlan> plan = MemoryPlan::compute(
            *container, {.contextTokens = 256, .threadCount = 1, .prefillChunkTokens = chunkTokens}, Machine::detect());
        WASTE_VERIFY_OK(plan);
        const Run reference = readPrompt(container, name.toStdString(), plain); // everything cached
        QCOMPARE(reference.statistics.speculativeIssued, 0U);
        // Chunks guess where four layers' choices of one token have room; 18 experts and more do not have it.
        plain.budgetBytes =
            plan->floorBytes + plan->largerChunkBytes + 8 * slotBytes(container->info().expertRecordBytes);
        for (const CachePolicy policy : {CachePolicy::Age, CachePolicy::Lfru, CachePolicy::Lru}) {
            for (const bool asyncIo : {true, false}) {
                std::uint64_t guesses = 0;
                for (const std::optional<std::uint32_t> lookahead :
                    {std::optional(0U), std::optional<std::uint32_t>(), std::optional(1U), std::optional(8U)}) {
                    EngineOptions options = plain;
                    options.cachePolicy = policy;
                    options.lookahead = lookahead;
                    options.asyncIo = asyncIo;
                    const Run other = readPrompt(container, name.toStdString(), options);
                    QVERIFY(sameBits(other.logits, reference.logits));
                    QVERIFY(other.statistics.bytesRead > reference.statistics.bytesRead); // some came twice
                    if (lookahead == 0U)
                        QCOMPARE(other.statistics.speculativeIssued, 0U);
                    guesses += other.statistics.speculativeIssued;
                }
                QVERIFY(guesses > 0);
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestPlacement)
#include "tst_placement.moc"
