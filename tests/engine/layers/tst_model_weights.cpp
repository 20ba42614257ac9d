// Every tensor that a model needs, taken away or changed one at a time: each is refused by its name.

#include "container/tensor_inventory.h"
#include "engine/layers/layer_fixture.h"
#include "engine/layers/model_runner.h"
#include "support/safetensors_writer.h"
#include "support/tiny_checkpoint.h"

#include <QTemporaryDir>
#include <QTest>

using namespace waste;
using namespace waste::test;

namespace {

class Checkpoint {
public:
    explicit Checkpoint(TinyFamily family)
        : directory(m_temporary.path().toStdString())
    {
        writeTinyCheckpoint(directory, {.family = family});
        files = std::move(*CheckpointFiles::open(directory));
        config = std::move(*ModelConfig::parse(files->config(), ModelConfig::Origin::Checkpoint, "config.json"));
    }

private:
    QTemporaryDir m_temporary;

public:
    std::filesystem::path directory;
    std::unique_ptr<const CheckpointFiles> files;
    ModelConfig config;
};

void addFamilies()
{
    QTest::addColumn<int>("family");
    QTest::newRow("Kimi-Linear") << static_cast<int>(TinyFamily::KimiLinear);
    QTest::newRow("K3") << static_cast<int>(TinyFamily::KimiK3);
}

} // namespace

class TestModelWeights : public QObject {
    Q_OBJECT

private:
    // What bindWeights says when one tensor is changed; `change` may empty it.
    template<typename Change>
    static Result<ModelWeights> bindChanged(
        const ModelConfig& config, const ExactWeights& weights, const std::string& name, const Change& change)
    {
        return bindWeights(config, [&](std::string_view wanted) {
            std::optional<kernels::MatrixView> view = weights.find(wanted);
            if (wanted == name)
                change(view);
            return view;
        });
    }

private Q_SLOTS:
    void everyTensorIsNeededInItsShape_data() { addFamilies(); }
    void everyTensorIsNeededInItsShape()
    {
        QFETCH(int, family);
        const Checkpoint checkpoint(static_cast<TinyFamily>(family));
        const Result<ExactWeights> weights = ExactWeights::load(*checkpoint.files, checkpoint.config);
        QVERIFY(weights.has_value());
        QVERIFY(bindChanged(checkpoint.config, *weights, "", [](auto&) {}).has_value());
        for (const TensorSpec& spec : requiredTensors(checkpoint.config)) {
            if (spec.name == embeddingName(checkpoint.config))
                continue;
            const auto refusal = [&](const auto& change) {
                const Result<ModelWeights> bound = bindChanged(checkpoint.config, *weights, spec.name, change);
                const bool named = !bound && bound.error().message.find(spec.name) != std::string::npos;
                return named ? bound.error().code : ErrorCode::Internal;
            };
            const auto remove = [](std::optional<kernels::MatrixView>& view) { view.reset(); };
            if (spec.optional)
                QVERIFY(bindChanged(checkpoint.config, *weights, spec.name, remove).has_value());
            else
                QCOMPARE(refusal(remove), ErrorCode::Corrupt);
            QCOMPARE(refusal([](std::optional<kernels::MatrixView>& view) { --view->columns; }), ErrorCode::Corrupt);
            if (spec.f32Only)
                QCOMPARE(refusal([](std::optional<kernels::MatrixView>& view) {
                    view->format = kernels::WeightFormat::Q8G;
                }),
                    ErrorCode::Corrupt);
        }
    }

    void theSizeStatedBeforeLoadingIsWhatIsLoaded_data() { addFamilies(); }
    void theSizeStatedBeforeLoadingIsWhatIsLoaded()
    {
        QFETCH(int, family);
        const Checkpoint checkpoint(static_cast<TinyFamily>(family));
        Progress last;
        const ProgressSink sink = [&](const Progress& progress) {
            QVERIFY(progress.done > last.done);
            last = progress;
        };
        QVERIFY(ExactWeights::load(*checkpoint.files, checkpoint.config, sink).has_value());
        QCOMPARE(last.stage, std::string_view("weights"));
        QCOMPARE(last.total, ExactWeights::residentBytes(checkpoint.config));
        QVERIFY(last.done <= last.total && last.total - last.done < kArenaAlignment);
    }

    void loadingCanBeCancelled()
    {
        const Checkpoint checkpoint(TinyFamily::KimiLinear);
        CancelFlag cancel;
        const ProgressSink sink = [&](const Progress& progress) {
            if (progress.done > progress.total / 2)
                cancel.cancel();
        };
        const Result<ExactWeights> loaded = ExactWeights::load(*checkpoint.files, checkpoint.config, sink, &cancel);
        QVERIFY(!loaded.has_value());
        QCOMPARE(loaded.error().code, ErrorCode::Cancelled);
    }

    void aConfigurationThatDoesNotFitTheTensorsIsRefusedByName()
    {
        const Checkpoint checkpoint(TinyFamily::KimiK3);
        ModelConfig wider = checkpoint.config;
        wider.expertWidth += 32;
        ModelConfig deeper = checkpoint.config;
        deeper.layerCount += 1;
        deeper.kdaLayers.push_back(true);
        ModelConfig more = checkpoint.config;
        more.expertCount += 1;
        for (const ModelConfig& config : {wider, deeper, more}) {
            const Result<ExactWeights> loaded = ExactWeights::load(*checkpoint.files, config);
            QVERIFY(!loaded.has_value());
            QCOMPARE(loaded.error().code, ErrorCode::Corrupt);
            QVERIFY(loaded.error().message.find("model.layers.") != std::string::npos);
        }
    }

    void valuesBehindTheHeadsOfALogAreRefused() // spec: model 12 T1
    {
        const Checkpoint checkpoint(TinyFamily::KimiK3);
        const CheckpointTensor* const tensor =
            checkpoint.files->find(layerPrefix(checkpoint.config, 0) + "self_attn.A_log");
        QVERIFY(tensor != nullptr);
        QVERIFY(tensor->elements() > checkpoint.config.kdaHeadCount);
        const std::filesystem::path shard = checkpoint.directory / checkpoint.files->shardNames()[tensor->values.shard];
        std::vector<std::byte> bytes = readBytes(shard);
        const float value = 0.5F;
        std::memcpy(
            bytes.data() + tensor->values.offsetBytes + tensor->values.bytes - sizeof value, &value, sizeof value);
        writeBytes(shard, bytes);
        const auto changed = std::move(*CheckpointFiles::open(checkpoint.directory));
        const Result<ExactWeights> loaded = ExactWeights::load(*changed, checkpoint.config);
        QVERIFY(!loaded.has_value());
        QCOMPARE(loaded.error().code, ErrorCode::Corrupt);
        QVERIFY(loaded.error().message.find("A_log") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(TestModelWeights)
#include "tst_model_weights.moc"
