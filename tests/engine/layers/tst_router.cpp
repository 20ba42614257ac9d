// The choice of experts beyond the one vector of the specification: ties, groups, weights, damage.

#include "layers/router.h"

#include <QTest>

#include <limits>
#include <set>
#include <vector>

using namespace waste;

namespace {

struct Choice {
    std::vector<std::uint16_t> experts;
    std::vector<float> weights;
};

Choice route(const ModelConfig& config, const std::vector<float>& scores, const std::vector<float>& bias = {})
{
    Choice result;
    result.experts.resize(config.expertsPerToken);
    result.weights.resize(config.expertsPerToken);
    std::vector<float> choice(scores.size());
    std::vector<float> groups(config.expertGroupCount);
    routeToken(config, {scores, bias.empty() ? nullptr : bias.data(), choice, groups}, result.experts, result.weights);
    return result;
}

ModelConfig makeConfig(std::uint32_t experts, std::uint32_t perToken)
{
    ModelConfig config;
    config.expertCount = experts;
    config.expertsPerToken = perToken;
    return config;
}

using Ids = std::vector<std::uint16_t>;
using Weights = std::vector<float>;

} // namespace

class TestRouter : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tiesGoToTheSmallerIndex()
    {
        QCOMPARE(route(makeConfig(6, 3), {0.5F, 0.25F, 0.5F, 0.5F, 0.5F, 0.25F}).experts, (Ids{0, 2, 3}));
    }

    void theBiasDecidesTheChoiceAndNotTheWeights()
    {
        const Choice choice = route(makeConfig(4, 2), {0.75F, 0.5F, 0.25F, 0.125F}, {0, -1, 0, 1});
        QCOMPARE(choice.experts, (Ids{0, 3}));
        QCOMPARE(choice.weights, (Weights{0.75F / 0.875F, 0.125F / 0.875F}));
    }

    void weightsAreRenormalizedThenScaled()
    {
        ModelConfig config = makeConfig(2, 2);
        config.routedScaling = 2;
        QCOMPARE(route(config, {0.25F, 0.75F}).weights, (Weights{0.5F, 1.5F}));
        config.renormalizeWeights = false;
        QCOMPARE(route(config, {0.25F, 0.5F}).weights, (Weights{0.5F, 1}));
    }

    void aSingleExpertKeepsItsScore()
    {
        QCOMPARE(route(makeConfig(3, 1), {0.25F, 0.5F, 0.125F}).weights, (Weights{0.5F}));
    }

    void onlyExpertsOfTheBestGroupsAreChosen()
    {
        ModelConfig config = makeConfig(8, 3);
        config.expertGroupCount = 4;
        config.expertGroupsKept = 2;
        // Sums of the two best: 0.9, 1.0, 1.0, 0.8. The best single expert is in the last group.
        QCOMPARE(route(config, {0.5F, 0.4F, 0.6F, 0.4F, 0.7F, 0.3F, 0.8F, 0}).experts, (Ids{2, 3, 4}));
        config.expertGroupsKept = 1; // equal groups: the first
        QCOMPARE(config.expertGroupCount, 4U);
        config.expertsPerToken = 2;
        QCOMPARE(route(config, {0.5F, 0.4F, 0.5F, 0.5F, 0.75F, 0.25F, 0.8F, 0}).experts, (Ids{2, 3}));
    }

    void damagedScoresStillGiveDifferentExperts()
    {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        const Choice choice = route(makeConfig(5, 4), {nan, nan, 0.5F, nan, nan});
        QCOMPARE(std::set<std::uint16_t>(choice.experts.begin(), choice.experts.end()).size(), std::size_t{4});
    }
};

QTEST_APPLESS_MAIN(TestRouter)
#include "tst_router.moc"
