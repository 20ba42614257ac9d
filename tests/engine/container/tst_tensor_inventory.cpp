// The inventory against the published figures of both full-size models (spec: container 14): number of
// tensors, and bytes of the trunk by the plain rule of container 8.

#include "container/format.h"
#include "container/tensor_inventory.h"

#include <QTest>

#include <algorithm>
#include <set>

using namespace waste;

namespace {

ModelConfig kimiLinear()
{
    ModelConfig config;
    config.layerCount = 27;
    config.hiddenSize = 2304;
    config.vocabularySize = 163840;
    config.denseLayerCount = 1;
    config.denseWidth = 9216;
    config.expertCount = 256;
    config.expertsPerToken = 8;
    config.expertWidth = 1024;
    config.sharedExpertCount = 1;
    config.attentionHeadCount = 32;
    config.kvLoraRank = 512;
    config.nopeDim = 128;
    config.ropeDim = 64;
    config.valueDim = 128;
    config.kdaHeadCount = 32;
    config.kdaHeadDim = 128;
    config.kdaLayers.assign(27, true);
    for (const std::size_t layer : {3, 7, 11, 15, 19, 23, 26})
        config.kdaLayers[layer] = false;
    return config;
}

ModelConfig kimiK3()
{
    ModelConfig config;
    config.architecture = ModelConfig::Architecture::KimiK3;
    config.tensorPrefix = "language_model.";
    config.layerCount = 93;
    config.hiddenSize = 7168;
    config.vocabularySize = 163840;
    config.denseLayerCount = 1;
    config.denseWidth = 33792;
    config.expertCount = 896;
    config.expertsPerToken = 16;
    config.expertWidth = 3072;
    config.sharedExpertCount = 2;
    config.latentWidth = 3584;
    config.latentNorm = true;
    config.attentionHeadCount = 96;
    config.queryLoraRank = 1536;
    config.kvLoraRank = 512;
    config.nopeDim = 128;
    config.ropeDim = 64;
    config.valueDim = 128;
    config.attentionOutputGate = true;
    config.residualBlockSize = 12;
    config.kdaHeadCount = 96;
    config.kdaHeadDim = 128;
    config.kdaFullRankGate = true;
    config.gateLowerBound = -5;
    config.kdaLayers.assign(93, true);
    for (std::size_t layer = 3; layer < 92; layer += 4)
        config.kdaLayers[layer] = false;
    config.kdaLayers[92] = false;
    return config;
}

struct TrunkFigures {
    std::size_t f32 = 0;
    std::size_t q8g = 0;
    std::size_t q4g = 0;
    std::uint64_t bytes = 0;
    std::uint64_t residentBytes = 0;
};

// The plain converter's rule. `decayLogElements`: a checkpoint may hold more than the heads need.
TrunkFigures figuresOf(const ModelConfig& config, std::uint64_t decayLogElements)
{
    using kernels::WeightFormat;
    TrunkFigures figures;
    for (const TensorSpec& spec : requiredTensors(config)) {
        const bool isDecayLog = spec.name.ends_with("A_log");
        const std::vector<std::uint64_t> shape = {spec.rows, isDecayLog ? decayLogElements : spec.columns};
        const bool isEmbedding = spec.name == embeddingName(config);
        WeightFormat format = WeightFormat::Q4G;
        if (spec.f32Only || shape[0] * shape[1] < 65536)
            format = WeightFormat::F32;
        else if (isEmbedding || spec.name.ends_with("lm_head.weight"))
            format = WeightFormat::Q8G;
        (format == WeightFormat::F32 ? figures.f32 : format == WeightFormat::Q8G ? figures.q8g : figures.q4g) += 1;
        const std::uint64_t bytes = TrunkLayout::compute(format, shape, 128)->bytes();
        figures.bytes += bytes;
        figures.residentBytes += isEmbedding ? 0 : bytes;
    }
    return figures;
}

} // namespace

class TestTensorInventory : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void kimiLinearHasThePublishedTrunk();
    void k3HasThePublishedTrunk();
    void namesAreUniqueAndCarryThePrefix();
    void parameterCountsAreThoseOfTheNames();
    void shapesAreAcceptedAsStated();
    void theWidestConvolutionIsNotCutTo32Bits();
};

void TestTensorInventory::kimiLinearHasThePublishedTrunk()
{
    const TrunkFigures figures = figuresOf(kimiLinear(), 32);
    QCOMPARE(figures.f32, std::size_t{208});
    QCOMPARE(figures.q8g, std::size_t{2});
    QCOMPARE(figures.q4g, std::size_t{315});
    QCOMPARE(figures.bytes, 1419257600ULL);
    QCOMPARE(figures.residentBytes, 1035872000ULL);
}

void TestTensorInventory::k3HasThePublishedTrunk()
{
    const TrunkFigures figures = figuresOf(kimiK3(), 128);
    QCOMPARE(figures.f32, std::size_t{1207});
    QCOMPARE(figures.q8g, std::size_t{2});
    QCOMPARE(figures.q4g, std::size_t{1251});
    QCOMPARE(figures.bytes, 30486935040ULL);
    QCOMPARE(figures.residentBytes, 29294179840ULL);
}

void TestTensorInventory::namesAreUniqueAndCarryThePrefix()
{
    for (const ModelConfig& config : {kimiLinear(), kimiK3()}) {
        std::set<std::string> names;
        for (const TensorSpec& spec : requiredTensors(config)) {
            QVERIFY2(names.insert(spec.name).second, spec.name.c_str());
            QVERIFY2(spec.name.starts_with(config.tensorPrefix), spec.name.c_str());
        }
        QVERIFY(names.count(layerPrefix(config, 3) + "self_attn.kv_b_proj.weight") == 1);
    }
}

void TestTensorInventory::parameterCountsAreThoseOfTheNames()
{
    const ParameterCount linear = countParameters(kimiLinear()); // "48B-A3B"
    QVERIFY(linear.total > 48'000'000'000 && linear.total < 50'000'000'000);
    QVERIFY(linear.active > 2'500'000'000 && linear.active < 3'500'000'000);
    const std::uint64_t experts = 82432ULL * 33'030'144;
    QVERIFY(countParameters(kimiK3()).total > experts);
    QVERIFY(countParameters(kimiK3()).total < experts + 60'000'000'000);
}

void TestTensorInventory::shapesAreAcceptedAsStated()
{
    using Dims = std::vector<std::uint64_t>;
    const TensorSpec matrix{.rows = 72, .columns = 136};
    QVERIFY(matrix.accepts(Dims{72, 136}));
    QVERIFY(!matrix.accepts(Dims{136, 72}));
    QVERIFY(!matrix.accepts(Dims{1, 72, 136}));
    const TensorSpec vector{.shape = TensorSpec::Shape::Vector, .columns = 136};
    QVERIFY(vector.accepts(Dims{136}));
    QVERIFY(!vector.accepts(Dims{1, 136}));
    const TensorSpec elements{.shape = TensorSpec::Shape::Elements, .columns = 136};
    QVERIFY(elements.accepts(Dims{1, 136}));
    QVERIFY(!elements.accepts(Dims{137}));
    const TensorSpec atLeast{.shape = TensorSpec::Shape::AtLeast, .columns = 96};
    QVERIFY(atLeast.accepts(Dims{128}));
    QVERIFY(atLeast.accepts(Dims{1, 1, 96, 1}));
    QVERIFY(!atLeast.accepts(Dims{95}));
    const std::uint64_t most = 1ULL << 32;
    QVERIFY(!atLeast.accepts(Dims{most, most, 1})); // 2^64 elements are not 0
}

void TestTensorInventory::theWidestConvolutionIsNotCutTo32Bits()
{
    ModelConfig config = kimiLinear();
    config.kdaHeadCount = 1U << 16;
    config.kdaHeadDim = 1U << 10;
    config.convolutionKernel = 64;
    const auto specs = requiredTensors(config);
    const auto found = std::find_if(
        specs.begin(), specs.end(), [](const TensorSpec& spec) { return spec.name.ends_with("q_conv1d.weight"); });
    QVERIFY(found != specs.end());
    QCOMPARE(found->columns, std::uint64_t{1} << 32);
}

QTEST_APPLESS_MAIN(TestTensorInventory)
#include "tst_tensor_inventory.moc"
