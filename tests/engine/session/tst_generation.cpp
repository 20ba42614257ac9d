// Writing through the facade: the reference's greedy texts, and every way in which a run can end.

#include "session_fixture.h"

#include <cmath>

using namespace waste;
using namespace waste::test;

namespace {

constexpr TokenId kEndOfMessage = 2818;

GenerateOptions greedy(std::uint32_t tokensMax, std::vector<TokenId> stopIds = {})
{
    GenerateOptions options;
    options.tokensMax = tokensMax;
    options.stopIds = std::move(stopIds);
    return options;
}

GenerateOptions sampled(std::uint32_t tokensMax, std::uint64_t seed)
{
    GenerateOptions options;
    options.tokensMax = tokensMax;
    options.sampling = {.temperature = 1.2, .topP = 0.95, .topK = 0, .minP = 0, .seed = seed};
    return options;
}

} // namespace

class TestGeneration : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void writesTheReferencesTexts_data()
    {
        QTest::addColumn<qsizetype>("index");
        for (std::size_t i = 0; i < textPrompts().size(); ++i)
            QTest::newRow(textPrompts()[i].name.c_str()) << static_cast<qsizetype>(i);
    }

    void writesTheReferencesTexts()
    {
        QFETCH(const qsizetype, index);
        const GoldenPrompt prompt = textPrompts()[static_cast<std::size_t>(index)];
        const std::unique_ptr<Session> session = openSession(k3Mini());
        WASTE_VERIFY_OK(session->append(prompt.ids));
        GenerateResult result;
        const std::vector<TokenId> ids = generateIds(*session, greedy(96, {kEndOfMessage}), &result);
        QVERIFY(ids == prompt.greedy);
        const bool stopped = ids.back() == kEndOfMessage;
        QCOMPARE(result.reason, stopped ? FinishReason::StopId : FinishReason::Limit);
        QCOMPARE(result.tokenCount, ids.size());
    }

    void writesTheGoldenContinuationsOfEveryContainer_data()
    {
        QTest::addColumn<QString>("model");
        for (const char* model :
            {"kl-mini", "k3-odd", "kl-vq3r-q4g", "kl-vq2r-q8g", "kl-vq4p-q3g", "kl-vq4p-mixed", "kl-rows-f32"})
            QTest::newRow(model) << QString(model);
    }

    void writesTheGoldenContinuationsOfEveryContainer()
    {
        QFETCH(const QString, model);
        const std::string name = model.toStdString();
        const std::filesystem::path data = WASTE_TEST_DATA;
        const QJsonObject golden = name == "kl-mini"
            ? readJson(data / "kl-mini" / "golden.json")["prompts"].toArray()[0].toObject()
            : readJson(data / "containers" / (name + ".json"));
        const std::vector<TokenId> expected = idsFromJson(golden["greedy"].toArray());
        QVERIFY(!expected.empty());
        const std::unique_ptr<Engine> engine = openEngine(openModel(name));
        const std::unique_ptr<Session> session = openSession(*engine);
        WASTE_VERIFY_OK(session->append(samplePrompt(name)));
        QVERIFY(generateIds(*session, greedy(static_cast<std::uint32_t>(expected.size()))) == expected);
    }

    void evaluatesAStopTokenBeforeItEndsTheRun()
    {
        const GoldenPrompt prompt = textPrompts().front();
        const std::unique_ptr<Session> session = openSession(k3Mini());
        WASTE_VERIFY_OK(session->append(prompt.ids));
        const std::vector<TokenId> ids = generateIds(*session, greedy(96, {kEndOfMessage}));
        QCOMPARE(session->position(), prompt.ids.size() + ids.size());
        QCOMPARE(session->tokens().back(), kEndOfMessage);
        QVERIFY(!session->pendingToken().has_value());
    }

    void leavesTheLastTokenPendingAtTheLimit()
    {
        const GoldenPrompt prompt = textPrompts().front();
        const std::unique_ptr<Session> session = openSession(k3Mini());
        WASTE_VERIFY_OK(session->append(prompt.ids));
        GenerateResult result;
        std::vector<TokenId> ids = generateIds(*session, greedy(5), &result);
        QCOMPARE(result.reason, FinishReason::Limit);
        QCOMPARE(session->position(), prompt.ids.size() + 4);
        QCOMPARE(session->pendingToken(), std::optional<TokenId>(ids.back()));

        const std::vector<TokenId> rest = generateIds(*session, greedy(96, {kEndOfMessage}));
        ids.insert(ids.end(), rest.begin(), rest.end());
        QVERIFY(ids == prompt.greedy);
    }

    void evaluatesAPendingTokenBeforeWhatIsAppended()
    {
        const GoldenPrompt prompt = textPrompts().front();
        const std::unique_ptr<Session> session = openSession(k3Mini());
        WASTE_VERIFY_OK(session->append(prompt.ids));
        const std::vector<TokenId> ids = generateIds(*session, greedy(5));
        WASTE_VERIFY_OK(session->append(std::vector<TokenId>{46}));
        QCOMPARE(session->position(), prompt.ids.size() + 6);
        QCOMPARE(session->tokens()[prompt.ids.size() + 4], ids.back());
        QCOMPARE(session->tokens().back(), 46);
    }

    void stopsWhereTheSinkSays()
    {
        const GoldenPrompt prompt = textPrompts().front();
        const std::unique_ptr<Session> session = openSession(k3Mini());
        WASTE_VERIFY_OK(session->append(prompt.ids));
        std::vector<TokenId> ids;
        const Result<GenerateResult> result = session->generate(greedy(96), [&ids](const TokenEvent& event) {
            ids.push_back(event.id);
            return ids.size() == 3 ? TokenAction::Stop : TokenAction::Continue;
        });
        WASTE_VERIFY_OK(result);
        QCOMPARE(result->reason, FinishReason::Sink);
        QCOMPARE(result->tokenCount, 3U);
        QCOMPARE(session->pendingToken(), std::optional<TokenId>(ids.back()));
    }

    void endsAtOnceWhenThePendingTokenIsAStopToken()
    {
        const GoldenPrompt prompt = textPrompts().front();
        const std::unique_ptr<Session> session = openSession(k3Mini());
        WASTE_VERIFY_OK(session->append(prompt.ids));
        const Result<GenerateResult> cut = session->generate(greedy(96), [](const TokenEvent& event) {
            return event.id == kEndOfMessage ? TokenAction::Stop : TokenAction::Continue;
        });
        WASTE_VERIFY_OK(cut);
        GenerateResult result;
        QVERIFY(generateIds(*session, greedy(96, {kEndOfMessage}), &result).empty());
        QCOMPARE(result.reason, FinishReason::StopId);
        QCOMPARE(session->tokens().back(), kEndOfMessage);
    }

    void endsWhenTheContextIsFull()
    {
        const GoldenPrompt prompt = textPrompts().front();
        const auto context = static_cast<std::uint32_t>(prompt.ids.size() + 6);
        const std::unique_ptr<Engine> engine = openEngine(openModel("k3-mini"), {.contextTokens = context});
        const std::unique_ptr<Session> session = openSession(*engine);
        WASTE_VERIFY_OK(session->append(prompt.ids));
        GenerateResult result;
        const std::vector<TokenId> ids = generateIds(*session, greedy(96), &result);
        QCOMPARE(result.reason, FinishReason::ContextFull);
        QCOMPARE(ids.size(), 6U);
        QCOMPARE(session->position(), std::uint64_t{context});
        QVERIFY(generateIds(*session, greedy(96), &result).empty());
        QCOMPARE(result.reason, FinishReason::ContextFull);
    }

    void needsSomethingToContinue()
    {
        const std::unique_ptr<Session> session = openSession(k3Mini());
        const Result<GenerateResult> result = session->generate(greedy(1), {});
        QVERIFY(!result.has_value());
        QCOMPARE(result.error().code, ErrorCode::InvalidArgument);
    }

    void refusesSamplingThatMakesNoSense()
    {
        const std::unique_ptr<Session> session = openSession(k3Mini());
        WASTE_VERIFY_OK(session->append(textPrompts().front().ids));
        for (const SamplingOptions& wrong : {SamplingOptions{.temperature = -1}, SamplingOptions{.temperature = NAN},
                 SamplingOptions{.temperature = 1, .topP = 0}, SamplingOptions{.temperature = 1, .topP = 1.5},
                 SamplingOptions{.temperature = 1, .minP = -0.5}}) {
            GenerateOptions options = greedy(1);
            options.sampling = wrong;
            const Result<GenerateResult> result = session->generate(options, {});
            QVERIFY(!result.has_value());
            QCOMPARE(result.error().code, ErrorCode::InvalidArgument);
        }
    }

    void repeatsARunWithItsSeed()
    {
        std::vector<std::vector<TokenId>> runs;
        for (const std::uint64_t seed : {7U, 7U, 8U}) {
            const std::unique_ptr<Session> session = openSession(k3Mini());
            WASTE_VERIFY_OK(session->append(textPrompts().front().ids));
            runs.push_back(generateIds(*session, sampled(40, seed)));
            QCOMPARE(runs.back().size(), 40U);
        }
        QVERIFY(runs[0] == runs[1]);
        QVERIFY(runs[0] != runs[2]);
    }

    void drawsFromOneStreamAcrossRuns()
    {
        const std::unique_ptr<Session> whole = openSession(k3Mini());
        WASTE_VERIFY_OK(whole->append(textPrompts().front().ids));
        const std::vector<TokenId> expected = generateIds(*whole, sampled(40, 7));
        whole->reset();

        WASTE_VERIFY_OK(whole->append(textPrompts().front().ids));
        std::vector<TokenId> ids;
        for (const std::uint32_t count : {1U, 9U, 30U}) {
            const std::vector<TokenId> part = generateIds(*whole, sampled(count, 7));
            ids.insert(ids.end(), part.begin(), part.end());
        }
        QVERIFY(ids == expected);
    }

    void reportsIndexProbabilityAndTimeOfEveryToken()
    {
        const std::unique_ptr<Session> session = openSession(k3Mini());
        WASTE_VERIFY_OK(session->append(textPrompts().front().ids));
        std::uint32_t next = 0;
        const Result<GenerateResult> result = session->generate(greedy(8), [&](const TokenEvent& event) {
            const std::span<const float> logits = session->logits();
            double sum = 0;
            for (const float logit : logits)
                sum += std::exp(double{logit});
            const double expected = double{logits[static_cast<std::size_t>(event.id)]} - std::log(sum);
            [&] {
                QCOMPARE(event.index, next++);
                QVERIFY(std::abs(event.logProbability - expected) < 1e-4);
                QVERIFY(event.ms >= 0);
            }();
            return TokenAction::Continue;
        });
        WASTE_VERIFY_OK(result);
        QCOMPARE(next, 8U);
        QVERIFY(result->ms > 0);
    }

    void countsHitsMissesAndBytesOfEveryToken()
    {
        const std::string name = "kl-vq3r-q4g"; // 3 MoE layers, 2 experts a token
        const std::shared_ptr<const Container> container = openModel(name);
        const std::unique_ptr<Engine> engine = openEngine(container);
        const std::unique_ptr<Session> session = openSession(*engine);
        WASTE_VERIFY_OK(session->append(samplePrompt(name)));
        const Statistics before = engine->statistics();
        std::uint64_t hits = 0;
        std::uint64_t misses = 0;
        std::uint64_t bytes = 0;
        std::vector<TokenId> ids;
        const Result<GenerateResult> result = session->generate(greedy(8), [&](const TokenEvent& event) {
            ids.push_back(event.id);
            const std::uint32_t accesses = event.index == 0 ? 0 : 6; // the prompt's last logits were there already
            [&] { QCOMPARE(event.expertHits + event.expertMisses, accesses); }();
            hits += event.expertHits;
            misses += event.expertMisses;
            bytes += event.bytesRead;
            return TokenAction::Continue;
        });
        WASTE_VERIFY_OK(result);
        const Statistics after = engine->statistics();
        QCOMPARE(after.expertHits - before.expertHits, hits);
        QCOMPARE(after.expertMisses - before.expertMisses, misses);
        QCOMPARE(after.bytesRead - before.bytesRead, bytes);
        QCOMPARE(bytes, misses * container->info().expertRecordBytes);
        QCOMPARE(after.tokensDecoded, 7U);
        QVERIFY(after.decodeMs > 0 && after.prefillMs > 0);
    }

    void tracesTheExpertsOfWrittenTokens()
    {
        const std::unique_ptr<Session> session = openSession(k3Mini());
        const GoldenPrompt prompt = textPrompts().front();
        WASTE_VERIFY_OK(session->append(prompt.ids));
        std::vector<LayerTrace> traces;
        GenerateOptions options = greedy(4);
        options.layerSink = [&traces](const LayerTrace& trace) { traces.push_back(trace); };
        QCOMPARE(generateIds(*session, options).size(), 4U);
        QCOMPARE(traces.size(), 3U * 8);
        QCOMPARE(traces.front().position, std::uint64_t{prompt.ids.size()});
        QCOMPARE(traces.back().layer, 7U);
        QCOMPARE(traces.back().experts.size(), 4U);
    }

private:
    static Engine& k3Mini()
    {
        static const std::unique_ptr<Engine> engine = openEngine(openModel("k3-mini"));
        return *engine;
    }
};

QTEST_GUILESS_MAIN(TestGeneration)
#include "tst_generation.moc"
