// What a conversion decides before it reads weights: sizes against the figures of the specification, and
// checkpoints that must be refused.

#include "container/tensor_inventory.h"
#include "convert/conversion_plan.h"
#include "support/safetensors_writer.h"
#include "support/tiny_checkpoint.h"

#include <QTemporaryDir>
#include <QTest>

#include <nlohmann/json.hpp>

#include <fstream>
#include <functional>
#include <set>

using namespace waste;
namespace fs = std::filesystem;
using kernels::WeightFormat;

namespace {

const fs::path kK3Mini = WASTE_K3_MINI_CHECKPOINT;
const fs::path kKlMini = fs::path(WASTE_TEST_DATA) / "kl-mini";

struct Planned {
    std::unique_ptr<const CheckpointFiles> files;
    ConversionPlan plan;
};

Result<Planned> planOf(const fs::path& checkpoint, const ConvertOptions& options)
{
    WASTE_TRY(auto files, CheckpointFiles::open(checkpoint));
    WASTE_TRY(ConversionPlan plan, planConversion(*files, options));
    return Planned{std::move(files), std::move(plan)};
}

Result<Planned> planOf(
    const fs::path& checkpoint, ExpertFormat format = ExpertFormat::Vq3r, std::uint32_t trunkBits = 4)
{
    ConvertOptions options;
    options.expertFormat = format;
    options.trunkBits = trunkBits;
    return planOf(checkpoint, options);
}

// Formats and bytes of a part of the trunk.
struct TrunkSum {
    int f32 = 0;
    int q8g = 0;
    int q4g = 0;
    std::uint64_t bytes = 0;

    void add(const TrunkEntry& entry)
    {
        f32 += entry.format == WeightFormat::F32 ? 1 : 0;
        q8g += entry.format == WeightFormat::Q8G ? 1 : 0;
        q4g += entry.format == WeightFormat::Q4G ? 1 : 0;
        bytes += entry.layout.bytes();
    }
};

nlohmann::json readJson(const fs::path& file)
{
    std::ifstream stream(file);
    return nlohmann::json::parse(stream);
}

void writeJson(const fs::path& file, const nlohmann::json& json)
{
    std::ofstream(file) << json.dump();
}

// Adds a tensor in a shard of its own.
void addTensor(const fs::path& checkpoint, const std::string& name, const std::string& type,
    std::vector<std::uint64_t> shape, std::size_t bytes)
{
    const std::string shard = "added.safetensors";
    test::SafetensorsWriter writer;
    writer.add(name, type, std::move(shape), std::vector<std::byte>(bytes));
    writer.write(checkpoint / shard);
    nlohmann::json index = readJson(checkpoint / "model.safetensors.index.json");
    index["weight_map"][name] = shard;
    writeJson(checkpoint / "model.safetensors.index.json", index);
}

void dropTensor(const fs::path& checkpoint, const std::string& name)
{
    nlohmann::json index = readJson(checkpoint / "model.safetensors.index.json");
    index["weight_map"].erase(name);
    writeJson(checkpoint / "model.safetensors.index.json", index);
}

void setConfig(const fs::path& checkpoint, const std::string& key, const nlohmann::json& value)
{
    nlohmann::json config = readJson(checkpoint / "config.json");
    config[key] = value;
    writeJson(checkpoint / "config.json", config);
}

} // namespace

class ConversionPlanTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theBuiltInModelHasTheStatedSizes_data()
    {
        QTest::addColumn<int>("format");
        QTest::addColumn<quint64>("record");
        QTest::addColumn<quint64>("codebooks");
        QTest::newRow("VQ3R") << 0 << quint64{20'480} << quint64{259'056};
        QTest::newRow("VQ4P") << 1 << quint64{20'480} << quint64{87'360};
        QTest::newRow("VQ2R") << 2 << quint64{16'384} << quint64{172'704};
    }
    void theBuiltInModelHasTheStatedSizes()
    {
        QFETCH(int, format);
        QFETCH(quint64, record);
        QFETCH(quint64, codebooks);
        const auto planned = planOf(kK3Mini, static_cast<ExpertFormat>(format));
        QVERIFY2(planned.has_value(), planned ? "" : planned.error().message.c_str());
        const ConversionPlan& plan = planned->plan;
        QCOMPARE(plan.geometry.strideBytes, std::uint64_t{record});
        QCOMPARE(plan.bankBytes(), 7 * 24 * std::uint64_t{record});
        QCOMPARE(plan.codebooksBytes(), std::uint64_t{codebooks});

        TrunkSum text;
        TrunkSum vision;
        for (const TrunkItem& item : plan.trunk)
            (item.entry.name.starts_with("language_model.") ? text : vision).add(item.entry);
        QCOMPARE(text.f32, 186);
        QCOMPARE(text.q8g, 2);
        QCOMPARE(text.q4g, 24);
        QCOMPARE(text.bytes, std::uint64_t{10'142'880});
        QCOMPARE(vision.f32, 8);
        QCOMPARE(vision.q8g, 16);
        QCOMPARE(vision.bytes, std::uint64_t{497'856});
    }

    void klMiniHasTheStatedSizes_data()
    {
        QTest::addColumn<int>("format");
        QTest::addColumn<QList<quint64>>("places"); // three matrices, scales, payload end, record
        QTest::addColumn<quint64>("codebooks");
        QTest::newRow("VQ3R") << 0 << QList<quint64>{48, 3504, 6960, 9840, 10'288, 12'288} << quint64{222'048};
        QTest::newRow("VQ4P") << 1 << QList<quint64>{48, 3504, 6960, 9840, 10'288, 12'288} << quint64{74'880};
        QTest::newRow("VQ2R") << 2 << QList<quint64>{48, 2352, 4656, 6576, 7024, 8192} << quint64{148'032};
    }
    void klMiniHasTheStatedSizes()
    {
        QFETCH(int, format);
        QFETCH(QList<quint64>, places);
        QFETCH(quint64, codebooks);
        const auto planned = planOf(kKlMini, static_cast<ExpertFormat>(format));
        QVERIFY2(planned.has_value(), planned ? "" : planned.error().message.c_str());
        const ExpertGeometry& geometry = planned->plan.geometry;
        QCOMPARE(
            (QList<quint64>{geometry.matrices[0].indexOffset, geometry.matrices[1].indexOffset,
                geometry.matrices[2].indexOffset, geometry.scalesOffset, geometry.payloadEnd, geometry.strideBytes}),
            places);
        QCOMPARE(planned->plan.bankBytes(), 6 * 16 * std::uint64_t{places.back()});
        QCOMPARE(planned->plan.codebooksBytes(), std::uint64_t{codebooks});
        TrunkSum sum;
        for (const TrunkItem& item : planned->plan.trunk)
            sum.add(item.entry);
        QCOMPARE(sum.f32, 130);
        QCOMPARE(sum.q8g, 2);
        QCOMPARE(sum.q4g, 3);
        QCOMPARE(sum.bytes, std::uint64_t{3'422'672});
    }

    void theTrunkIsLaidOutOnPagesWithoutOverlap()
    {
        const auto planned = planOf(kK3Mini);
        std::uint64_t end = 0;
        for (const TrunkItem& item : planned->plan.trunk) {
            QCOMPARE(item.entry.offset % kPageBytes, std::uint64_t{0});
            QCOMPARE(item.entry.scaleOffset % kPageBytes, std::uint64_t{0});
            QVERIFY(item.entry.offset >= end);
            end = item.entry.offset + item.entry.layout.payloadBytes;
            if (item.entry.layout.scaleBytes > 0) {
                QVERIFY(item.entry.scaleOffset >= end);
                end = item.entry.scaleOffset + item.entry.layout.scaleBytes;
            }
        }
        QCOMPARE(planned->plan.trunkFileBytes, end);
    }

    void theRecipeTellsOptionsAndWeightsApart()
    {
        const QTemporaryDir one;
        const QTemporaryDir two;
        test::writeTinyCheckpoint(one.path().toStdString(), {.seed = 1});
        test::writeTinyCheckpoint(two.path().toStdString(), {.seed = 2});
        const fs::path path = one.path().toStdString();
        std::set<std::string> recipes;
        for (const auto& planned : {planOf(path), planOf(path, ExpertFormat::Vq4p), planOf(path, ExpertFormat::Vq2r),
                 planOf(path, ExpertFormat::Vq3r, 8), planOf(two.path().toStdString())})
            recipes.insert(planned->plan.recipe);
        for (const ConvertQuality quality : {ConvertQuality::Fast, ConvertQuality::Best}) {
            ConvertOptions options;
            options.quality = quality;
            recipes.insert(planOf(path, options)->plan.recipe);
        }
        QCOMPARE(recipes.size(), std::size_t{7});
        QCOMPARE(planOf(path)->plan.recipe, planOf(path)->plan.recipe);
    }

    void aRecipeIsReadBackUnlessItIsNotOurs()
    {
        ConvertOptions options;
        options.expertFormat = ExpertFormat::Vq4p;
        options.quality = ConvertQuality::Best;
        const std::string recipe = recipeText(options, "ab");
        QVERIFY(recipe.starts_with(settingsOfRecipe(recipe) + ","));
        QVERIFY(settingsOfRecipe(recipe).starts_with("VQ4P best, trunk 4 bits, version "));
        QCOMPARE(sourceOfRecipe(recipe), std::string("ab"));
        for (const std::string& foreign :
            {std::string(), std::string("greedy"), "\x1b[2J" + recipe, std::string(200, 'x') + recipe})
            QCOMPARE(settingsOfRecipe(foreign), std::string());
    }

    void everyRequiredTensorIsMissed_data()
    {
        QTest::addColumn<int>("family");
        QTest::newRow("Kimi-Linear") << 0;
        QTest::newRow("Kimi K3") << 1;
    }
    void everyRequiredTensorIsMissed()
    {
        QFETCH(int, family);
        const QTemporaryDir folder;
        const fs::path path = folder.path().toStdString();
        test::writeTinyCheckpoint(path, {.family = static_cast<test::TinyFamily>(family), .expertCount = 2});
        const auto planned = planOf(path);
        QVERIFY2(planned.has_value(), planned ? "" : planned.error().message.c_str());
        const nlohmann::json index = readJson(path / "model.safetensors.index.json");
        for (const TensorSpec& spec : requiredTensors(planned->plan.config)) {
            dropTensor(path, spec.name);
            const auto without = planOf(path);
            QCOMPARE(without.has_value(), spec.optional);
            if (!without)
                QVERIFY2(without.error().message.find(spec.name) != std::string::npos, without.error().message.c_str());
            writeJson(path / "model.safetensors.index.json", index);
        }
    }

    void unusableCheckpointsAreRefused_data()
    {
        using Damage = std::function<void(const fs::path&)>;
        QTest::addColumn<Damage>("damage");
        QTest::addColumn<ErrorCode>("code");
        QTest::addColumn<QString>("place");
        const auto row = [](const char* name, Damage damage, ErrorCode code, const char* place) {
            QTest::newRow(name) << std::move(damage) << code << place;
        };
        constexpr const char* kExpert = "model.layers.2.block_sparse_moe.experts.5.w2.weight";
        constexpr const char* kNorm = "model.layers.1.input_layernorm.weight";
        row(
            "a missing expert", [=](const fs::path& p) { dropTensor(p, kExpert); }, ErrorCode::Corrupt, kExpert);
        row(
            "an expert of another shape",
            [=](const fs::path& p) {
                addTensor(p, kExpert, "BF16", {136, 95}, std::size_t{136} * 95 * 2);
            },
            ErrorCode::Corrupt, kExpert);
        row(
            "an expert of another type",
            [=](const fs::path& p) {
                addTensor(p, kExpert, "I8", {136, 96}, std::size_t{136} * 96);
            },
            ErrorCode::Unsupported, kExpert);
        row(
            "an expert too many",
            [](const fs::path& p) {
                addTensor(p, "model.layers.2.block_sparse_moe.experts.6.w2.weight", "BF16", {1}, 2);
            },
            ErrorCode::Unsupported, "experts.6");
        row(
            "experts in a dense layer",
            [](const fs::path& p) {
                addTensor(p, "model.layers.0.block_sparse_moe.experts.0.w1.weight", "BF16", {1}, 2);
            },
            ErrorCode::Unsupported, "layers.0");
        row(
            "a norm of another shape", [=](const fs::path& p) { addTensor(p, kNorm, "BF16", {137}, 274); },
            ErrorCode::Corrupt, kNorm);
        row(
            "a norm of another type", [=](const fs::path& p) { addTensor(p, kNorm, "I16", {136}, 272); },
            ErrorCode::Unsupported, kNorm);
        row(
            "an empty tensor",
            [](const fs::path& p) {
                addTensor(p, "extra.weight", "BF16", {0, 4}, 0);
            },
            ErrorCode::Corrupt, "extra.weight");
        row(
            "five dimensions",
            [](const fs::path& p) {
                addTensor(p, "extra.weight", "F32", {1, 1, 1, 1, 1}, 4);
            },
            ErrorCode::Unsupported, "extra.weight");
        row(
            "a name with a quote", [](const fs::path& p) { addTensor(p, "a\"b", "F32", {1}, 4); },
            ErrorCode::Unsupported, "a\"b");
        row(
            "a name too long", [](const fs::path& p) { addTensor(p, std::string(128, 'x'), "F32", {1}, 4); },
            ErrorCode::Unsupported, "xxx");
        row(
            "tied embeddings", [](const fs::path& p) { setConfig(p, "tie_word_embeddings", true); },
            ErrorCode::Unsupported, "tie_word_embeddings");
        row(
            "no layers", [](const fs::path& p) { setConfig(p, "num_hidden_layers", 0); }, ErrorCode::Corrupt,
            "num_hidden_layers");
    }
    void unusableCheckpointsAreRefused()
    {
        QFETCH(std::function<void(const fs::path&)>, damage);
        QFETCH(ErrorCode, code);
        QFETCH(QString, place);
        const QTemporaryDir folder;
        const fs::path path = folder.path().toStdString();
        test::writeTinyCheckpoint(path);
        damage(path);
        const auto planned = planOf(path);
        QVERIFY(!planned);
        QVERIFY2(QString::fromStdString(planned.error().message).contains(place), planned.error().message.c_str());
        QCOMPARE(planned.error().code, code);
    }

    void otherTrunkBitsAreRefused()
    {
        for (const std::uint32_t bits : {0U, 2U, 5U, 16U})
            QCOMPARE(planOf(kKlMini, ExpertFormat::Vq3r, bits).error().code, ErrorCode::InvalidArgument);
    }
};

QTEST_APPLESS_MAIN(ConversionPlanTest)
#include "tst_conversion_plan.moc"
