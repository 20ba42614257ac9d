// Placement decides speed and never results: whatever the cache, its policy, the guesses and the way of reading,
// every logit keeps its bits.

#include "session_fixture.h"

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
};

QTEST_GUILESS_MAIN(TestPlacement)
#include "tst_placement.moc"
