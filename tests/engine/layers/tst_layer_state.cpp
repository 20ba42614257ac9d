// Sizes of a sequence's memory against the figures of spec: model 9, and how it is laid out.

#include "layers/layer_state.h"

#include <QTest>

#include <algorithm>

using namespace waste;

namespace {

ModelConfig makeConfig(std::uint32_t layers, std::initializer_list<std::uint32_t> mlaLayers, std::uint32_t heads)
{
    ModelConfig config;
    config.layerCount = layers;
    config.kdaLayers.assign(layers, true);
    for (const std::uint32_t layer : mlaLayers)
        config.kdaLayers[layer] = false;
    config.kdaHeadCount = heads;
    config.kdaHeadDim = 128;
    config.kvLoraRank = 512;
    config.ropeDim = 64;
    return config;
}

} // namespace

class TestLayerState : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sizesAreThoseOfTheSpecification()
    {
        const ModelConfig kimiLinear = makeConfig(27, {3, 7, 11, 15, 19, 23, 26}, 32);
        QCOMPARE(sequenceStateBytes(kimiLinear, 0), std::uint64_t{44'892'160});
        QCOMPARE(sequenceStateBytes(kimiLinear, 4096), std::uint64_t{44'892'160} + 4096 * 16'128);
        ModelConfig k3 = makeConfig(93, {92}, 96);
        for (std::uint32_t layer = 3; layer < 93; layer += 4)
            k3.kdaLayers[layer] = false;
        QCOMPARE(sequenceStateBytes(k3, 0), std::uint64_t{464'633'856});
        QCOMPARE(sequenceStateBytes(k3, 1'048'576), std::uint64_t{464'633'856} + std::uint64_t{1'048'576} * 55'296);
    }

    void layersFollowEachOtherWithoutGaps()
    {
        ModelConfig config = makeConfig(4, {2}, 2);
        config.kdaHeadDim = 8;
        config.kvLoraRank = 5;
        config.ropeDim = 3;
        std::vector<float> memory(sequenceStateBytes(config, 10) / sizeof(float));
        const SequenceState state = SequenceState::bind(config, 10, memory);
        const float* next = memory.data();
        for (std::uint32_t layer = 0; layer < 4; ++layer) {
            const LayerState& views = state.layers[layer];
            QCOMPARE(views.kda == nullptr, layer == 2);
            QCOMPARE(views.windows == nullptr, layer == 2);
            QCOMPARE(views.latentRows == nullptr, layer != 2);
            QCOMPARE(static_cast<const float*>(layer == 2 ? views.latentRows : views.kda), next);
            next += layer == 2 ? 10 * 8 : 2 * 8 * 8;
            if (layer == 2)
                continue;
            QCOMPARE(static_cast<const float*>(views.windows), next);
            next += 3 * 16 * 3;
        }
        QCOMPARE(next, static_cast<const float*>(memory.data() + memory.size()));
    }

    void resetClearsWhatAFirstTokenReads()
    {
        ModelConfig config = makeConfig(3, {1}, 1);
        config.kdaHeadDim = 4;
        std::vector<float> memory(sequenceStateBytes(config, 2) / sizeof(float), 7);
        SequenceState state = SequenceState::bind(config, 2, memory);
        state.position = 2;
        state.reset(config);
        QCOMPARE(state.position, std::uint64_t{0});
        for (const std::uint32_t layer : {0U, 2U}) {
            const float* const first = state.layers[layer].kda;
            QVERIFY(std::all_of(first, first + 16 + 36, [](float value) { return value == 0; }));
        }
    }
};

QTEST_APPLESS_MAIN(TestLayerState)
#include "tst_layer_state.moc"
