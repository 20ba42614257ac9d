// Guesses at the next layer's experts: the first is that of the reference, the second is right more often, and they are
// made only where they may be.

#include "engine/layers/model_runner.h"

#include <QTest>

#include <algorithm>
#include <set>

using namespace waste;
using namespace waste::test;

namespace {

// Passes everything on and records the guesses.
class GuessRecorder final : public SequentialExperts {
public:
    GuessRecorder(ExpertSource& inner, std::uint32_t wanted)
        : m_inner(inner)
        , m_wanted(wanted)
    {
    }
    void announce(std::uint16_t layer, std::span<const std::uint16_t> experts) override
    {
        SequentialExperts::announce(layer, experts);
        m_inner.announce(layer, experts);
        announced.push_back(layer);
        const auto countNamed = [&](const std::vector<std::uint16_t>& guessed) {
            return static_cast<std::size_t>(std::count_if(guessed.begin(), guessed.end(), [&](std::uint16_t guess) {
                return std::find(experts.begin(), experts.end(), guess) != experts.end();
            }));
        };
        if (!guesses[layer].empty())
            namedCount += countNamed(guesses[layer].back());
        if (!refined[layer].empty())
            refinedNamedCount += countNamed(refined[layer].back());
    }
    Result<Pin> acquire(ExpertKey key) override { return m_inner.acquire(key); }
    std::uint32_t guessesWanted() override { return m_wanted; }
    std::uint32_t chunkGuessesWanted() override { return m_wanted; }
    void prefetch(std::uint16_t layer, std::span<const std::uint16_t> experts, GuessFor) override
    {
        const bool isSecond = layer == m_lastLayer;
        (isSecond ? refined : guesses)[layer].emplace_back(experts.begin(), experts.end());
        m_lastLayer = isSecond ? -1 : layer;
        announcedBefore.push_back(announced.empty() ? 0 : announced.back());
    }

    std::map<int, std::vector<std::vector<std::uint16_t>>> guesses; // [layer][position]
    std::map<int, std::vector<std::vector<std::uint16_t>>> refined; // the same, the second ones
    std::vector<std::uint16_t> announced;
    std::vector<std::uint16_t> announcedBefore; // the guesses, in order
    std::size_t namedCount = 0; // guesses that the announcement named
    std::size_t refinedNamedCount = 0; // of the second ones

private:
    void release(std::uint32_t) override { }
    ExpertSource& m_inner;
    const std::uint32_t m_wanted;
    int m_lastLayer = -1;
};

nlohmann::json shortPrompt()
{
    return readJson(std::filesystem::path(WASTE_TEST_DATA) / "kl-mini/golden.json").at("prompts").at(0);
}

} // namespace

class TestRouterLookahead : public QObject {
    Q_OBJECT

    std::unique_ptr<TestModel> m_model;

private Q_SLOTS:
    void initTestCase()
    {
        m_model = std::move(*TestModel::fromCheckpoint(std::filesystem::path(WASTE_TEST_DATA) / "kl-mini"));
    }

    void guessesAreThoseOfTheReference()
    {
        const nlohmann::json golden = shortPrompt();
        const auto ids = golden.at("ids").get<std::vector<TokenId>>();
        GuessRecorder experts(*m_model->experts, 6);
        ModelRunner runner(*m_model, {.chunkTokensMax = 1, .experts = &experts});
        QVERIFY(runner.append(ids));
        const auto expected = golden.at("lookahead").get<std::vector<std::vector<std::vector<std::uint16_t>>>>();
        QCOMPARE(expected.size(), std::size_t{m_model->config.moeLayerCount()});
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const int layer = static_cast<int>(m_model->config.denseLayerCount + i);
            QCOMPARE(experts.guesses[layer].size(), expected[i].size());
            for (std::size_t position = 0; position < expected[i].size(); ++position) {
                const std::vector<std::uint16_t>& guess = experts.guesses[layer][position];
                QCOMPARE(guess,
                    std::vector<std::uint16_t>(expected[i][position].begin(), expected[i][position].begin() + 2));
            }
        }
    }

    void aLayerIsGuessedAgainWhenTheOneBeforeItIsDone_data()
    {
        QTest::addColumn<bool>("isK3");
        QTest::addColumn<double>("hitsMin"); // of second guesses, two a layer; random weights, and trained ones
        QTest::addRow("kl-mini") << false << 0.5;
        QTest::addRow("K3-mini, whose input is a mix of blocks") << true << 0.9;
    }
    void aLayerIsGuessedAgainWhenTheOneBeforeItIsDone()
    {
        QFETCH(bool, isK3);
        QFETCH(double, hitsMin);
        std::unique_ptr<TestModel> k3;
        auto ids = shortPrompt().at("ids").get<std::vector<TokenId>>();
        if (isK3) {
            k3 = std::move(*TestModel::fromCheckpoint(WASTE_K3_MINI_CHECKPOINT));
            const auto golden = readJson(std::filesystem::path(WASTE_TEST_DATA) / "k3-mini/prompts.json");
            ids = golden.at("prompts").at(0).at("ids").get<std::vector<TokenId>>();
        }
        TestModel& model = isK3 ? *k3 : *m_model;
        GuessRecorder experts(*model.experts, 2); // as many each time
        ModelRunner runner(model, {.chunkTokensMax = 1, .experts = &experts});
        QVERIFY(runner.append(ids));
        std::size_t refinedCount = 0;
        for (const auto& [layer, guesses] : experts.guesses) {
            QCOMPARE(experts.refined[layer].size(), guesses.size());
            refinedCount += 2 * guesses.size();
        }
        QVERIFY(experts.refinedNamedCount > experts.namedCount);
        QVERIFY2(static_cast<double>(experts.refinedNamedCount) >= hitsMin * static_cast<double>(refinedCount),
            qPrintable(QString("%1 of %2, first %3")
                           .arg(experts.refinedNamedCount)
                           .arg(refinedCount)
                           .arg(experts.namedCount)));
    }

    void theCurrentLayersExpertsAreAnnouncedBefore()
    {
        GuessRecorder experts(*m_model->experts, 3);
        ModelRunner runner(*m_model, {.chunkTokensMax = 1, .experts = &experts});
        QVERIFY(runner.append(std::vector<TokenId>{1}));
        QCOMPARE(experts.announcedBefore, (std::vector<std::uint16_t>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
    }

    void aLongChunkGuessesOnceALayerWhatItsTokensThenChoose()
    {
        auto ids = shortPrompt().at("ids").get<std::vector<TokenId>>();
        const std::size_t promptTokens = ids.size();
        while (ids.size() < 70)
            ids.push_back(ids[ids.size() - promptTokens]);
        GuessRecorder experts(*m_model->experts, 12);
        ModelRunner runner(*m_model, {.chunkTokensMax = 70, .experts = &experts});
        QVERIFY(runner.append(ids));
        QCOMPARE(experts.guesses.size(), experts.announced.size());
        for (const auto& [layer, guesses] : experts.guesses) {
            QCOMPARE(guesses.size(), std::size_t{1});
            QVERIFY(experts.refined[layer].empty());
            QCOMPARE(std::set<std::uint16_t>(guesses[0].begin(), guesses[0].end()).size(), std::size_t{12});
        }
        QVERIFY(experts.namedCount >= experts.guesses.size() * 12 * 9 / 10);
    }

    void noGuessIsMadeInAShortChunkOrWhereNoneIsWanted()
    {
        const auto ids = shortPrompt().at("ids").get<std::vector<TokenId>>();
        GuessRecorder chunked(*m_model->experts, 6);
        ModelRunner prefill(*m_model, {.chunkTokensMax = 8, .experts = &chunked});
        QVERIFY(prefill.append(ids));
        QVERIFY(chunked.announcedBefore.empty());
        GuessRecorder unwilling(*m_model->experts, 0);
        ModelRunner decode(*m_model, {.chunkTokensMax = 1, .experts = &unwilling});
        QVERIFY(decode.append(ids));
        QVERIFY(unwilling.announcedBefore.empty());
    }
};

QTEST_APPLESS_MAIN(TestRouterLookahead)
#include "tst_router_lookahead.moc"
