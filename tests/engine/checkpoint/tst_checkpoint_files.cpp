// Published directories: the values of the built-in model and of kl-mini against checksums that an
// independent decoder made, then directories that were damaged one way each.

#include "base/crc32.h"
#include "checkpoint/checkpoint_files.h"
#include "support/safetensors_writer.h"

#include <QTemporaryDir>
#include <QTest>

#include <nlohmann/json.hpp>

#include <fstream>
#include <functional>

using namespace waste;
namespace fs = std::filesystem;

namespace {

const fs::path kK3Mini = WASTE_K3_MINI_CHECKPOINT;
const fs::path kKlMini = fs::path(WASTE_TEST_DATA) / "kl-mini";

void writeText(const fs::path& file, const std::string& text)
{
    std::ofstream(file, std::ios::binary) << text;
}

// Two shards: one with a plain tensor, one with an MXFP4 pair.
struct SmallCheckpoint {
    SmallCheckpoint()
    {
        const std::vector<float> values = {1, 2, 3, 4, 5, 6};
        first.addF32("norm.weight", {6}, values);
        first.add("ids", "I64", {1}, std::vector<std::byte>(8));
        second.add("w.weight_packed", "U8", {2, 16}, std::vector<std::byte>(32, std::byte{0x21}));
        second.add("w.weight_scale", "U8", {2, 1}, std::vector<std::byte>(2, std::byte{127}));
        index = {{"weight_map",
            {{"norm.weight", "a.safetensors"}, {"ids", "a.safetensors"}, {"w.weight_packed", "b.safetensors"},
                {"w.weight_scale", "b.safetensors"}}}};
    }
    [[nodiscard]] Result<std::unique_ptr<const CheckpointFiles>> open() const
    {
        first.write(path() / "a.safetensors");
        second.write(path() / "b.safetensors");
        writeText(path() / "config.json", config);
        writeText(path() / "model.safetensors.index.json", index.dump());
        return CheckpointFiles::open(path());
    }
    [[nodiscard]] fs::path path() const { return folder.path().toStdString(); }

    QTemporaryDir folder;
    std::string config = "{}";
    nlohmann::json index;
    test::SafetensorsWriter first;
    test::SafetensorsWriter second;
};

std::vector<float> readAll(const CheckpointFiles& files, const std::string& name)
{
    const CheckpointTensor* tensor = files.find(name);
    if (tensor == nullptr)
        return {};
    std::vector<float> values(tensor->elements());
    return files.read(*tensor, 0, values) ? values : std::vector<float>();
}

} // namespace

class CheckpointFilesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyTensorOfTheBuiltInModelIsThere()
    {
        const auto files = CheckpointFiles::open(kK3Mini);
        QVERIFY2(files.has_value(), files ? "" : files.error().message.c_str());
        QCOMPARE((*files)->tensors().size(), std::size_t{1244 - 504}); // 504 packed pairs are one tensor each
        QCOMPARE((*files)->shardNames().size(), std::size_t{5});
        QVERIFY((*files)->warnings().empty());
        QCOMPARE((*files)->config()["model_type"].get<std::string>(), std::string("kimi_k3"));
        QCOMPARE((*files)->tokenizerFileName(), std::string("tokenizer.model"));
        QCOMPARE((*files)->readSideFile("generation_config.json", 4096)->value().size(), std::size_t{118});
        QVERIFY(!(*files)->readSideFile("no_such_file.json", 4096)->has_value());
        for (const CheckpointTensor& tensor : (*files)->tensors())
            QVERIFY(tensor.isReadable());
    }

    void valuesAreExact_data()
    {
        QTest::addColumn<bool>("k3");
        QTest::addColumn<QString>("name");
        QTest::addColumn<QList<int>>("shape");
        QTest::addColumn<quint32>("checksum"); // of the little-endian f32 bytes
        const QString layers = "language_model.model.layers.";
        QTest::newRow("F32") << true << layers + "0.self_attn.A_log" << QList<int>{32} << 0x7947433FU;
        QTest::newRow("BF16") << true << layers + "3.self_attn.kv_b_proj.weight" << QList<int>{256, 64} << 0x072B32FEU;
        QTest::newRow("more than one read")
            << true << "language_model.model.embed_tokens.weight" << QList<int>{3072, 256} << 0x653B35F1U;
        QTest::newRow("MXFP4, first") << true << layers + "1.block_sparse_moe.experts.0.w1.weight"
                                      << QList<int>{128, 128} << 0x900F9280U;
        QTest::newRow("MXFP4, last") << true << layers + "7.block_sparse_moe.experts.23.w2.weight"
                                     << QList<int>{128, 128} << 0xC0DD5AD0U;
        QTest::newRow("four dimensions") << false << "model.layers.0.self_attn.A_log" << QList<int>{1, 1, 4, 1}
                                         << 0xAEB27C98U;
        QTest::newRow("BF16 expert") << false << "model.layers.6.block_sparse_moe.experts.15.w3.weight"
                                     << QList<int>{40, 144} << 0xFC0B73A5U;
        QTest::newRow("uneven columns") << false << "lm_head.weight" << QList<int>{512, 144} << 0xD9920496U;
    }
    void valuesAreExact()
    {
        QFETCH(bool, k3);
        QFETCH(QString, name);
        QFETCH(QList<int>, shape);
        QFETCH(quint32, checksum);
        const auto files = CheckpointFiles::open(k3 ? kK3Mini : kKlMini);
        QVERIFY2(files.has_value(), files ? "" : files.error().message.c_str());
        const CheckpointTensor* tensor = (*files)->find(name.toStdString());
        QVERIFY(tensor != nullptr);
        QCOMPARE(QList<int>(tensor->shape.begin(), tensor->shape.end()), shape);
        const std::vector<float> values = readAll(**files, name.toStdString());
        QCOMPARE(crc32(std::as_bytes(std::span(values))), checksum);
    }

    void aPartIsReadAsPartOfTheWhole()
    {
        const auto files = CheckpointFiles::open(kK3Mini);
        for (const char* name : {"language_model.model.layers.1.block_sparse_moe.experts.3.w2.weight",
                 "language_model.model.embed_tokens.weight"}) {
            const std::vector<float> whole = readAll(**files, name);
            std::vector<float> part(96);
            QVERIFY((*files)->read(*(*files)->find(name), 640, part).has_value());
            QVERIFY(std::equal(part.begin(), part.end(), whole.begin() + 640));
        }
    }

    void aSmallCheckpointOpens()
    {
        const SmallCheckpoint checkpoint;
        const auto files = checkpoint.open();
        QVERIFY2(files.has_value(), files ? "" : files.error().message.c_str());
        QCOMPARE((*files)->tensors().size(), std::size_t{3});
        QCOMPARE(readAll(**files, "norm.weight"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
        QCOMPARE((*files)->find("w.weight")->shape, (std::vector<std::uint64_t>{2, 32}));
        QCOMPARE(readAll(**files, "w.weight")[63], 1.0F);
        QVERIFY((*files)->find("w.weight_packed") == nullptr);
    }

    void aTypeThatIsNoWeightIsRefusedWhenRead()
    {
        const SmallCheckpoint checkpoint;
        const auto files = checkpoint.open();
        const CheckpointTensor* ids = (*files)->find("ids");
        QVERIFY(!ids->isReadable());
        float value = 0;
        const Status status = (*files)->read(*ids, 0, std::span(&value, 1));
        QVERIFY(!status);
        QCOMPARE(status.error().code, ErrorCode::Unsupported);
        QVERIFY(status.error().message.find("\"ids\"") != std::string::npos);
    }

    void aScaleThatIsNoNumberIsRefusedWithItsShard()
    {
        SmallCheckpoint checkpoint;
        checkpoint.second = {};
        checkpoint.second.add("w.weight_packed", "U8", {2, 16}, std::vector<std::byte>(32));
        checkpoint.second.add("w.weight_scale", "U8", {2, 1}, {std::byte{127}, std::byte{255}});
        const auto files = checkpoint.open();
        std::vector<float> values(64);
        const Status status = (*files)->read(*(*files)->find("w.weight"), 0, values);
        QVERIFY(!status);
        QCOMPARE(status.error().code, ErrorCode::Corrupt);
        QVERIFY(status.error().message.find("b.safetensors") != std::string::npos);
    }

    void damagedDirectoriesAreRefused_data()
    {
        using Damage = std::function<void(SmallCheckpoint&)>;
        QTest::addColumn<Damage>("damage");
        QTest::addColumn<ErrorCode>("code");
        QTest::addColumn<QString>("place");
        const auto row = [](const char* name, Damage damage, ErrorCode code, const char* place) {
            QTest::newRow(name) << std::move(damage) << code << place;
        };
        const auto map = [](SmallCheckpoint& c) -> nlohmann::json& { return c.index["weight_map"]; };
        row(
            "config is no object", [](auto& c) { c.config = "[]"; }, ErrorCode::Corrupt, "config.json");
        row(
            "config is cut off", [](auto& c) { c.config = "{\"a\":"; }, ErrorCode::Corrupt, "config.json");
        row(
            "config without end", [](auto& c) { c.config = std::string(1000, '['); }, ErrorCode::Corrupt,
            "config.json");
        row(
            "config too large", [](auto& c) { c.config = std::string(5 << 20, ' '); }, ErrorCode::Corrupt,
            "config.json");
        row(
            "no weight map",
            [](auto& c) {
                c.index = {{"metadata", 1}};
            },
            ErrorCode::Corrupt, "weight_map");
        row(
            "weight map as list", [](auto& c) { c.index["weight_map"] = {1}; }, ErrorCode::Corrupt, "weight_map");
        row(
            "shard as number", [=](auto& c) { map(c)["ids"] = 1; }, ErrorCode::Corrupt, "\"ids\"");
        for (const char* name : {"", ".", "..", "../a.safetensors", "sub/a.safetensors", "C:a", "x\\a", "a\nb"})
            row(
                qPrintable(QString("shard named \"%1\"").arg(name)), [=](auto& c) { map(c)["ids"] = name; },
                ErrorCode::Corrupt, "\"ids\"");
        row(
            "missing shard", [=](auto& c) { map(c)["more"] = "c.safetensors"; }, ErrorCode::NotFound, "c.safetensors");
        row(
            "tensor not in its shard", [=](auto& c) { map(c)["more"] = "a.safetensors"; }, ErrorCode::Corrupt,
            "\"more\"");
        row(
            "tensor in another shard", [=](auto& c) { map(c)["ids"] = "b.safetensors"; }, ErrorCode::Corrupt,
            "\"ids\"");
        row(
            "scales missing", [=](auto& c) { map(c).erase("w.weight_scale"); }, ErrorCode::Corrupt, "other half");
        row(
            "values missing", [=](auto& c) { map(c).erase("w.weight_packed"); }, ErrorCode::Corrupt, "other half");
        row(
            "plain and packed",
            [=](auto& c) {
                c.second.addF32("w.weight", {1}, std::vector<float>{1});
                map(c)["w.weight"] = "b.safetensors";
            },
            ErrorCode::Corrupt, "both plain and packed");
        const auto repack = [](SmallCheckpoint& c, const char* type, std::vector<std::uint64_t> scaleShape,
                                std::size_t bytes) {
            c.second = {};
            c.second.add("w.weight_packed", "U8", {2, 16}, std::vector<std::byte>(32));
            c.second.add("w.weight_scale", type, std::move(scaleShape), std::vector<std::byte>(bytes));
        };
        row(
            "too many scales",
            [=](auto& c) {
                repack(c, "U8", {2, 2}, 4);
            },
            ErrorCode::Corrupt, "\"w.weight\"");
        row(
            "flat scales", [=](auto& c) { repack(c, "U8", {2}, 2); }, ErrorCode::Corrupt, "\"w.weight\"");
        row(
            "scales of another type",
            [=](auto& c) {
                repack(c, "F16", {2, 1}, 4);
            },
            ErrorCode::Unsupported, "\"w.weight\"");
    }
    void damagedDirectoriesAreRefused()
    {
        QFETCH(std::function<void(SmallCheckpoint&)>, damage);
        QFETCH(ErrorCode, code);
        QFETCH(QString, place);
        SmallCheckpoint checkpoint;
        damage(checkpoint);
        const auto files = checkpoint.open();
        QVERIFY(!files);
        QVERIFY2(QString::fromStdString(files.error().message).contains(place), files.error().message.c_str());
        QCOMPARE(files.error().code, code);
    }

    void aShardCutAnywhereIsRefused()
    {
        const SmallCheckpoint checkpoint;
        const std::vector<std::byte> whole = checkpoint.second.bytes();
        for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
            QVERIFY(checkpoint.open().has_value());
            test::writeBytes(checkpoint.path() / "b.safetensors", std::span(whole).first(bytes));
            const auto files = CheckpointFiles::open(checkpoint.path());
            QVERIFY(!files);
            QVERIFY(files.error().message.find("b.safetensors") != std::string::npos);
        }
    }

    void aFlippedBitNeverCrashesTheReader()
    {
        const SmallCheckpoint checkpoint;
        QVERIFY(checkpoint.open().has_value());
        std::vector<std::byte> bytes = checkpoint.second.bytes();
        for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
            bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
            test::writeBytes(checkpoint.path() / "b.safetensors", bytes);
            if (const auto files = CheckpointFiles::open(checkpoint.path()))
                (void)readAll(**files, "w.weight");
            bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        }
    }

    void anythingElseIsNoCheckpoint()
    {
        const QTemporaryDir empty;
        QVERIFY(!CheckpointFiles::isCheckpoint(empty.path().toStdString()));
        const auto files = CheckpointFiles::open(empty.path().toStdString());
        QVERIFY(!files);
        QCOMPARE(files.error().code, ErrorCode::NotFound);
        QVERIFY(CheckpointFiles::isCheckpoint(kKlMini));
    }

    void aGrownShardIsAWarning()
    {
        const SmallCheckpoint checkpoint;
        QVERIFY(checkpoint.open().has_value());
        std::vector<std::byte> bytes = checkpoint.second.bytes();
        bytes.resize(bytes.size() + 100);
        test::writeBytes(checkpoint.path() / "b.safetensors", bytes);
        const auto files = CheckpointFiles::open(checkpoint.path());
        QVERIFY(files.has_value());
        QCOMPARE((*files)->warnings().size(), std::size_t{1});
    }
};

QTEST_APPLESS_MAIN(CheckpointFilesTest)
#include "tst_checkpoint_files.moc"
