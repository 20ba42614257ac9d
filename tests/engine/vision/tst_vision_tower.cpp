// The tower and its parts against the vectors of spec vision 8 and the embeddings of the golden pictures,
// from the exact weights of the built-in model's checkpoint.

#include "checkpoint/checkpoint_files.h"
#include "kernels/kernels.h"
#include "support/golden.h"
#include "vision/image_patches.h"
#include "vision/vision_math.h"
#include "vision/vision_tower.h"

#include <nlohmann/json.hpp>

#include <QFile>
#include <QTest>

#include <map>
#include <numeric>

using namespace waste;

namespace {

const QString kData = QStringLiteral(WASTE_TEST_DATA "/k3-mini/");

// Tower and projector as f32 in memory.
struct Model {
    VisionConfig config;
    std::map<std::string, std::vector<float>, std::less<>> tensors;
    const kernels::KernelTable* kernels = nullptr;
    VisionWeights weights;

    static Model load(const char* isa = "")
    {
        auto opened = CheckpointFiles::open(WASTE_K3_MINI_CHECKPOINT);
        const auto& checkpoint = opened.value();
        auto json = checkpoint->config()["vision_config"];
        json["media_placeholder_token_id"] = checkpoint->config()["media_placeholder_token_id"];
        json["in_patch_limit"] = 144;
        json["transparent_bg_fill_stage"] = "after_resize";
        json["transparent_bg_config"] = {{"pattern", "chessboard"}, {"chessboard_square_size", 8},
            {"chessboard_white_value", 255}, {"chessboard_gray_value", 180}};
        Model model;
        model.config = VisionConfig::parse(json, 256, 3072, "config.json").value();
        model.kernels = kernels::selectKernels(isa).value();
        for (const CheckpointTensor& tensor : checkpoint->tensors()) {
            if (tensor.name.starts_with("vision_tower.") || tensor.name.starts_with("mm_projector.")) {
                std::vector<float> values(tensor.elements());
                if (!checkpoint->read(tensor, 0, values))
                    qFatal("cannot read a vision tensor");
                model.tensors[tensor.name] = std::move(values);
            }
        }
        model.weights = bindVisionWeights(
            model.config, [&](std::string_view name) { return model.find(name); }, *model.kernels)
                            .value();
        return model;
    }

    std::optional<kernels::MatrixView> find(std::string_view name) const
    {
        const auto found = tensors.find(name);
        if (found == tensors.end())
            return std::nullopt;
        kernels::MatrixView view;
        for (const VisionTensor& tensor : visionTensors(config)) {
            if (tensor.name == name)
                view.columns = tensor.columns;
        }
        view.rows = static_cast<std::uint32_t>(found->second.size() / view.columns);
        view.rowBytes = std::uint64_t{view.columns} * sizeof(float);
        view.payload = reinterpret_cast<const std::byte*>(found->second.data());
        return view;
    }

    std::vector<float> encode(const QString& picture, ThreadPool& pool, const CancelFlag* cancel = nullptr,
        const ProgressSink& progress = {}) const
    {
        QFile file(kData + picture);
        if (!file.open(QIODevice::ReadOnly))
            return {};
        const QByteArray bytes = file.readAll();
        const auto image =
            decodeImage(std::as_bytes(std::span(bytes.constData(), static_cast<std::size_t>(bytes.size()))), "picture");
        const ImagePlan plan = planImage(image->width, image->height, config.patchBudget(), config.patchLimitPerSide);
        const auto patches = makePatches(*image, plan, config);
        auto rows = VisionTower({config, weights, *kernels, pool}).encode(patches, plan, progress, cancel);
        return rows ? *rows : std::vector<float>();
    }
};

} // namespace

class TestVisionTower : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void geluFormsMatchTheirVectors()
    {
        const std::array<double, 3> tanhForm{-0.158808009, 0.345714010, 2.691112405};
        const std::array<double, 3> exactForm{-0.158655254, 0.345731231, 2.690639171};
        std::array<float, 3> values{};
        for (const char* isa : {"", "scalar"}) {
            values = {-1, 0.5F, 2.7F};
            kernels::selectKernels(isa).value()->geluTanh(values.data(), values.size());
            for (std::size_t i = 0; i < 3; ++i)
                QVERIFY(std::abs(double{values[i]} - tanhForm[i]) < 3e-7);
        }
        values = {-1, 0.5F, 2.7F};
        geluErf(values);
        for (std::size_t i = 0; i < 3; ++i)
            QVERIFY(std::abs(double{values[i]} - exactForm[i]) < 3e-7);
    }

    void gridResizeMatchesItsVector()
    {
        std::vector<float> grid(9);
        std::iota(grid.begin(), grid.end(), 1.0F);
        QCOMPARE(resizeGrid(grid, 1, 3, 3, 2, 4),
            (std::vector<float>{1.75F, 2.375F, 3.125F, 3.75F, 6.25F, 6.875F, 7.625F, 8.25F}));
    }

    void rotationMatchesItsVector()
    {
        std::vector<float> head(8);
        std::iota(head.begin(), head.end(), 1.0F);
        PatchRotation(8, 6, 4).apply(head, 5, 3);
        const std::array<double, 8> expected{
            -1.272232513, -1.838864985, 4.686683655, -1.742124082, 4.817777168, 6.147277704, 6.591418469, 8.339856268};
        for (std::size_t i = 0; i < 8; ++i)
            QVERIFY(std::abs(double{head[i]} - expected[i]) < 1e-6);
    }

    void embeddingsOfTheGoldenPicturesAgree_data()
    {
        QTest::addColumn<QString>("picture");
        for (const char* name : {"red_circle", "star", "tiny", "two_shapes", "odd_size", "big", "transparent"})
            QTest::newRow(name) << name;
    }
    void embeddingsOfTheGoldenPicturesAgree()
    {
        QFETCH(QString, picture);
        const auto golden = test::readFloats((kData + picture + ".embed.f32").toStdString());
        QVERIFY(!golden.empty());
        ThreadPool pool({.threadCount = 2});
        for (const char* isa : {"", "scalar"}) {
            const Model model = Model::load(isa);
            const double error = test::relativeError(model.encode(picture + ".png", pool), golden);
            qInfo("%s: %.2g", model.kernels->name, error);
            QVERIFY(error < 3e-6);
        }
    }

    void anyNumberOfThreadsGivesTheSameBits()
    {
        const Model model = Model::load();
        ThreadPool one({.threadCount = 1});
        ThreadPool three({.threadCount = 3});
        QVERIFY(model.encode("big.png", one) == model.encode("big.png", three));
    }

    void progressCountsBlocksAndCancelStops()
    {
        const Model model = Model::load();
        ThreadPool pool({.threadCount = 1});
        CancelFlag cancel;
        std::uint64_t last = 0;
        QVERIFY(
            !model.encode("tiny.png", pool, &cancel, [&](const Progress& progress) { last = progress.done; }).empty());
        QCOMPARE(last, std::uint64_t{model.config.layerCount});
        cancel.cancel();
        QVERIFY(model.encode("tiny.png", pool, &cancel).empty());
    }

    void missingAndMisshapenTensorsAreNamed()
    {
        const Model model = Model::load();
        for (const VisionTensor& tensor : visionTensors(model.config)) {
            const auto without = [&](std::string_view name) {
                return name == tensor.name ? std::nullopt : model.find(name);
            };
            const auto missing = bindVisionWeights(model.config, without, *model.kernels);
            QVERIFY(!missing);
            QVERIFY(missing.error().message.find(tensor.name) != std::string::npos);
            const auto cut = [&](std::string_view name) {
                auto view = model.find(name);
                if (view && name == tensor.name)
                    view->columns -= 1;
                return view;
            };
            QVERIFY(!bindVisionWeights(model.config, cut, *model.kernels));
        }
    }
};

QTEST_GUILESS_MAIN(TestVisionTower)
#include "tst_vision_tower.moc"
