// The draw against published vectors, against a literal second implementation on random logits, and on
// logits that must be refused.

#include "kernels/kernels.h"
#include "sampling/sampler.h"
#include "support/cpu_time.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

using namespace waste;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// 3 · sin(1), 3 · sin(2), …: the logits of the published vectors.
std::vector<float> vectorLogits()
{
    std::vector<float> logits;
    for (int i = 1; i <= 6; ++i)
        logits.push_back(static_cast<float>(3 * std::sin(static_cast<double>(i))));
    return logits;
}

std::vector<TokenId> drawn(const SamplingOptions& options, const std::vector<float>& logits, int count)
{
    Sampler sampler(static_cast<std::uint32_t>(logits.size()));
    std::vector<TokenId> ids;
    if (!sampler.configure(options))
        return ids;
    for (int i = 0; i < count; ++i)
        ids.push_back(*sampler.draw(logits));
    return ids;
}

// The definition step by step, with full sorts.
TokenId drawnByDefinition(const SamplingOptions& options, const std::vector<float>& logits, std::uint64_t& state)
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    const double u = static_cast<double>(state >> 11) / 9007199254740992.0;
    std::vector<std::size_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0U);
    if (options.topK > 0 || options.topP < 1 || options.minP > 0)
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return logits[a] > logits[b]; });
    if (options.topK > 0)
        order.resize(std::min<std::size_t>(order.size(), options.topK));
    const double largest = *std::max_element(logits.begin(), logits.end());
    const auto weight = [&](std::size_t id) { return std::exp((logits[id] - largest) / options.temperature); };
    std::erase_if(order, [&](std::size_t id) { return weight(id) < options.minP; });
    double mass = 0;
    for (const std::size_t id : order)
        mass += weight(id);
    if (options.topP < 1) {
        double sum = 0;
        std::size_t kept = 0;
        while (kept < order.size() && sum / mass < options.topP)
            sum += weight(order[kept++]);
        order.resize(kept);
        mass = sum;
    }
    double sum = 0;
    for (const std::size_t id : order) {
        sum += weight(id);
        if (sum >= u * mass)
            return static_cast<TokenId>(id);
    }
    return static_cast<TokenId>(order.back());
}

} // namespace

class TestSampler : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void drawsThePublishedVectors()
    {
        QCOMPARE(
            drawn({.temperature = 1}, vectorLogits(), 12), (std::vector<TokenId>{0, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1, 2}));
        QCOMPARE(drawn({.temperature = 1.5, .topP = 0.9, .topK = 4, .seed = 1}, vectorLogits(), 12),
            (std::vector<TokenId>{1, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0}));
    }

    // With 2^20 equal logits the chosen id tells the random number to six digits.
    void theRandomNumbersAreThePublishedOnes()
    {
        const auto ids = drawn({.temperature = 1}, std::vector<float>(1U << 20), 3);
        const double expected[] = {0.007680386, 0.530946254, 0.151120212};
        for (std::size_t i = 0; i < 3; ++i)
            QVERIFY(std::abs((ids[i] + 0.5) / 1048576 - expected[i]) < 1e-6);
    }

    void drawsAsTheDefinitionSays_data()
    {
        QTest::addColumn<double>("temperature");
        QTest::addColumn<double>("topP");
        QTest::addColumn<int>("topK");
        QTest::addColumn<double>("minP");
        QTest::newRow("nothing cut") << 1.0 << 1.0 << 0 << 0.0;
        QTest::newRow("top-k") << 0.8 << 1.0 << 5 << 0.0;
        QTest::newRow("top-k of one") << 2.0 << 1.0 << 1 << 0.0;
        QTest::newRow("top-k beyond the vocabulary") << 1.0 << 1.0 << 1000 << 0.0;
        QTest::newRow("top-p") << 1.0 << 0.95 << 0 << 0.0;
        QTest::newRow("top-p that keeps one") << 1.0 << 1e-9 << 0 << 0.0;
        QTest::newRow("min-p") << 1.3 << 1.0 << 0 << 0.1;
        QTest::newRow("min-p of one") << 1.0 << 1.0 << 0 << 1.0;
        QTest::newRow("all") << 1.1 << 0.7 << 20 << 0.02;
    }
    void drawsAsTheDefinitionSays()
    {
        QFETCH(double, temperature);
        QFETCH(double, topP);
        QFETCH(int, topK);
        QFETCH(double, minP);
        const SamplingOptions options{.temperature = temperature,
            .topP = topP,
            .topK = static_cast<std::uint32_t>(topK),
            .minP = minP,
            .seed = 99};
        Sampler sampler(50);
        QVERIFY(sampler.configure(options));
        std::uint64_t state = 99;
        std::mt19937 random(2);
        for (int round = 0; round < 500; ++round) {
            std::vector<float> logits(50);
            for (float& logit : logits) // quarters, so that ties are common
                logit = static_cast<float>(static_cast<int>(random() % 40)) * 0.25F;
            QCOMPARE(*sampler.draw(logits), drawnByDefinition(options, logits, state));
            QCOMPARE(sampler.randomState(), state); // exactly one random number a draw
        }
    }

    void greedyTakesTheSmallestOfEqualIds()
    {
        Sampler sampler(4);
        QVERIFY(sampler.configure({}));
        const auto before = sampler.randomState();
        QCOMPARE(*sampler.draw(std::vector<float>{1, 3, 3, 2}), 1);
        QCOMPARE(*sampler.draw(std::vector<float>{-kInfinity, -kInfinity, -5, -5}), 2);
        QCOMPARE(sampler.randomState(), before);
    }

    void anImpossibleTokenIsNeverDrawn()
    {
        std::vector<float> logits(100, -kInfinity);
        logits[7] = 1;
        logits[8] = 0;
        for (const auto& options : {SamplingOptions{.temperature = 1}, SamplingOptions{.temperature = 9, .topK = 50},
                 SamplingOptions{.temperature = 1, .topP = 0.999999}, SamplingOptions{.temperature = 1e-300}}) {
            for (const TokenId id : drawn(options, logits, 200))
                QVERIFY(id == 7 || id == 8);
        }
    }

    void aTinyTemperatureIsGreedyAndAHugeOneIsFair()
    {
        for (const TokenId id : drawn({.temperature = 1e-12}, vectorLogits(), 100))
            QCOMPARE(id, 1);
        std::vector<int> counts(6);
        for (const TokenId id : drawn({.temperature = 1e12}, vectorLogits(), 6000))
            ++counts[static_cast<std::size_t>(id)];
        for (const int count : counts)
            QVERIFY(count > 850 && count < 1150);
    }

    void theStateOfTheRandomNumbersContinuesARun()
    {
        const SamplingOptions options{.temperature = 1, .seed = 5};
        const auto all = drawn(options, vectorLogits(), 20);
        Sampler first(6);
        QVERIFY(first.configure(options));
        for (int i = 0; i < 10; ++i)
            QCOMPARE(*first.draw(vectorLogits()), all[static_cast<std::size_t>(i)]);
        Sampler second(6);
        QVERIFY(second.configure(options));
        second.setRandomState(first.randomState());
        for (std::size_t i = 10; i < 20; ++i)
            QCOMPARE(*second.draw(vectorLogits()), all[i]);
    }

    void refusesLogitsThatAreNoNumbers()
    {
        for (const double temperature : {0.0, 1.0}) {
            Sampler sampler(3);
            QVERIFY(sampler.configure({.temperature = temperature}));
            const auto before = sampler.randomState();
            for (const auto& logits : {std::vector<float>{0, kNan, 1}, std::vector<float>{0, kInfinity, 1},
                     std::vector<float>(3, -kInfinity)})
                QCOMPARE(sampler.draw(logits).error().code, ErrorCode::Corrupt);
            QCOMPARE(sampler.randomState(), before);
        }
    }

    void refusesOptionsOutsideTheirRanges()
    {
        Sampler sampler(3);
        const double nan = std::nan("");
        for (const auto& options : {SamplingOptions{.temperature = -1}, SamplingOptions{.temperature = nan},
                 SamplingOptions{.temperature = INFINITY}, SamplingOptions{.topP = 0}, SamplingOptions{.topP = 1.1},
                 SamplingOptions{.topP = nan}, SamplingOptions{.minP = -0.1}, SamplingOptions{.minP = 2},
                 SamplingOptions{.minP = nan}})
            QCOMPARE(sampler.configure(options).error().code, ErrorCode::InvalidArgument);
    }

    // An O(V²) ranking takes tens of seconds a token here.
    void aLargeVocabularyIsDrawnFromQuickly()
    {
        std::mt19937 random(4);
        std::normal_distribution<float> normal(0, 3);
        std::vector<float> logits(163840);
        for (float& logit : logits)
            logit = normal(random);
        const test::CpuTimer timer;
        QCOMPARE(drawn({.temperature = 1, .topP = 0.95}, logits, 20).size(), std::size_t{20});
        const double ms = timer.seconds() * 1000 / 20;
        qInfo("%.1f ms a draw", ms);
        QVERIFY(ms < 1000);
    }

    void logProbabilitiesSumToOne()
    {
        const kernels::KernelTable& table = kernels::scalarTable();
        const auto logits = vectorLogits();
        double sum = 0;
        for (TokenId id = 0; id < 6; ++id)
            sum += std::exp(logProbability(table, logits, id));
        QVERIFY(std::abs(sum - 1) < 1e-6);
        QVERIFY(std::abs(logProbability(table, std::vector<float>{1000, 1000}, 0) + std::log(2.0)) < 1e-6);
    }

    void logProbabilitiesAreThoseOfDoublesForEveryTable()
    {
        std::mt19937 random(6);
        std::normal_distribution<float> normal(0, 4);
        for (const std::size_t count : {std::size_t{1}, std::size_t{1023}, std::size_t{1025}, std::size_t{163840}}) {
            std::vector<float> logits(count);
            for (float& logit : logits)
                logit = normal(random);
            const double largest = *std::max_element(logits.begin(), logits.end());
            double sum = 0;
            for (const float logit : logits)
                sum += std::exp(double{logit} - largest);
            const double expected = double{logits[count / 2]} - largest - std::log(sum);
            for (const char* isa : kernels::instructionSets()) {
                if (const auto table = kernels::selectKernels(isa))
                    QVERIFY(
                        std::abs(logProbability(**table, logits, static_cast<TokenId>(count / 2)) - expected) < 1e-6);
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestSampler)
#include "tst_sampler.moc"
