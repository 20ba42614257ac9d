// The converter as a whole: the same bytes whatever happens on the way, and targets it must not touch.

#include "container/container_files.h"
#include "container/format.h"
#include "container/part_file.h"
#include "convert/publication.h"
#include "convert/work_folder.h"
#include "platform/volume_space.h"
#include "support/conversion_folder.h"
#include "support/directory_content.h"
#include "support/safetensors_writer.h"
#include "support/tiny_checkpoint.h"
#include "waste/converter.h"

#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include <nlohmann/json.hpp>

#include <fstream>
#include <limits>

using namespace waste;
namespace fs = std::filesystem;

namespace {

void writeText(const fs::path& file, const std::string& text)
{
    std::ofstream(file, std::ios::binary) << text;
}

// Puts a tensor of a tiny checkpoint into a shard of its own, in place of the one that is there.
void replaceTensor(const fs::path& checkpoint, const std::string& name, const test::SafetensorsWriter& shard)
{
    shard.write(checkpoint / "other.safetensors");
    const fs::path indexFile = checkpoint / "model.safetensors.index.json";
    nlohmann::json index = nlohmann::json::parse(std::ifstream(indexFile));
    index["weight_map"][name] = "other.safetensors";
    writeText(indexFile, index.dump());
}

} // namespace

class ConverterTest : public QObject, test::ConversionFolder {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        test::writeTinyCheckpoint(source(), {.expertCount = 3, .expertWidth = 40, .tokenizer = true});
        const auto report = convert(optionsFor(place("reference")));
        QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
        QCOMPARE(report->layersConverted, 3U);
        m_reference = test::readDirectory(place("reference"));
        QVERIFY(m_reference.contains("manifest.json"));
        for (const auto& [name, bytes] : m_reference)
            QVERIFY2(!name.starts_with(".waste-convert") && !name.ends_with(".new"), name.c_str());
    }

    void anyNumberOfThreadsWritesTheSameBytes()
    {
        for (const std::uint32_t threads : {2U, 5U}) {
            ConvertOptions options = optionsFor(place("threads" + std::to_string(threads)));
            options.threadCount = threads;
            QVERIFY(convert(options).has_value());
            compareWithReference(options.target);
        }
    }

    void eventsComeInOrder()
    {
        std::string order;
        std::uint64_t trunkLeft = 1;
        const auto sink = [&](const ConvertEvent& event) {
            if (const auto* plan = std::get_if<ConvertPlan>(&event)) {
                order += 'p';
                QCOMPARE(plan->layers, (std::vector<std::uint32_t>{1, 2, 3}));
                QVERIFY(plan->layersKept.empty());
            } else if (const auto* start = std::get_if<ConvertLayerStart>(&event)) {
                order += std::to_string(start->layer);
            } else if (const auto* done = std::get_if<ConvertLayerDone>(&event)) {
                order += 'd';
                QVERIFY(done->errors.gate > 0 && done->bytes > 0);
            } else if (const auto* progress = std::get_if<Progress>(&event)) {
                QVERIFY(progress->done <= progress->total);
                if (progress->stage == "trunk")
                    trunkLeft = progress->total - progress->done;
            } else {
                order += 'r';
            }
        };
        const auto report = convert(optionsFor(place("events")), sink);
        QCOMPARE(order, std::string("p1d2d3dr"));
        QCOMPARE(trunkLeft, std::uint64_t{0});
        QVERIFY(report->trunkError >= 0 && report->seconds > 0);
    }

    void aSecondRunKeepsEveryLayerAndWritesTheSameBytes()
    {
        ConvertOptions options = copyOfReference("again");
        options.created.clear(); // kept from the first run
        const auto report = convert(options);
        QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
        QCOMPARE(report->layersKept, 3U);
        QCOMPARE(report->layersConverted, 0U);
        compareWithReference(options.target);
    }

    void aCancelledRunIsContinued()
    {
        ConvertOptions options = optionsFor(place("cancelled"));
        CancelFlag cancel;
        const auto sink = [&](const ConvertEvent& event) {
            if (std::holds_alternative<ConvertLayerDone>(event))
                cancel.cancel();
        };
        const auto stopped = convert(options, sink, &cancel);
        QVERIFY(!stopped);
        QCOMPARE(stopped.error().code, ErrorCode::Cancelled);
        QVERIFY(!*ContainerFiles::isContainer(options.target));

        options.created = "2000-01-01T00:00:00Z"; // the first run has decided already
        const auto report = convert(options);
        QCOMPARE(report->layersKept, 1U);
        compareWithReference(options.target);
    }

    void damagedOrMissingPiecesAreMadeAgain_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("position"); // of the byte that is flipped; −1: the file is deleted
        QTest::addColumn<quint32>("kept");
        const int recordBytes = static_cast<int>(m_reference.at("experts-L2.bin").size()) / 3;
        QTest::newRow("header of the first record") << "experts-L2.bin" << 4 << 2U;
        QTest::newRow("payload of the first record") << "experts-L2.bin" << 100 << 2U;
        QTest::newRow("header of a record in the middle") << "experts-L2.bin" << recordBytes + 4 << 2U;
        QTest::newRow("payload of a record in the middle") << "experts-L2.bin" << recordBytes + 100 << 2U;
        QTest::newRow("no bank") << "experts-L3.bin" << -1 << 2U;
        QTest::newRow("codebooks") << "codebooks.bin" << 1000 << 0U;
        QTest::newRow("no codebooks") << "codebooks.bin" << -1 << 0U;
        QTest::newRow("trunk") << "trunk.bin" << 5000 << 3U;
        QTest::newRow("no trunk") << "trunk.bin" << -1 << 3U;
        QTest::newRow("tokenizer") << "tokenizer.model" << 3 << 3U;
    }
    void damagedOrMissingPiecesAreMadeAgain()
    {
        QFETCH(QString, file);
        QFETCH(int, position);
        QFETCH(quint32, kept);
        const ConvertOptions options = copyOfReference("damaged" + std::to_string(m_copies));
        const fs::path path = options.target / file.toStdString();
        if (position < 0) {
            fs::remove(path);
        } else {
            std::vector<std::byte> bytes = test::readBytes(path);
            bytes[static_cast<std::size_t>(position)] ^= std::byte{1};
            test::writeBytes(path, bytes);
        }
        const auto report = convert(options);
        QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
        QCOMPARE(report->layersKept, kept);
        compareWithReference(options.target);
    }

    void aContainerOfOtherSettingsIsReplacedByForceOnly()
    {
        ConvertOptions options = copyOfReference("force");
        writeText(options.target / "chat.json", "mine");
        writeText(options.target / "notes.txt", "also mine");
        writeText(options.target / "experts-L77.bin", "left by a deeper model");
        test::DirectoryContent before = test::readDirectory(options.target);
        options.expertFormat = ExpertFormat::Vq3r;
        const auto refused = convert(options);
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::InvalidArgument);
        QCOMPARE(refused.error().reason, std::string("target_occupied"));
        QCOMPARE(test::difference(test::readDirectory(options.target), before), std::string());

        options.force = true;
        QVERIFY(convert(options).has_value());
        ConvertOptions fresh = optionsFor(place("fresh"));
        fresh.expertFormat = ExpertFormat::Vq3r;
        QVERIFY(convert(fresh).has_value());
        test::DirectoryContent expected = test::readDirectory(fresh.target);
        expected["chat.json"] = before["chat.json"];
        expected["notes.txt"] = before["notes.txt"];
        const test::DirectoryContent actual = test::readDirectory(options.target);
        QVERIFY(actual.at("integrity.json") != expected.at("integrity.json")); // it lists chat.json
        expected["integrity.json"] = actual.at("integrity.json");
        QCOMPARE(test::difference(test::readDirectory(options.target), expected), std::string());
    }

    void anUnfinishedConversionOfOtherWeightsIsReplacedByForceOnly()
    {
        ConvertOptions options = optionsFor(place("unfinished"));
        options.source = place("other-source");
        test::writeTinyCheckpoint(options.source, {.seed = 99, .expertCount = 3, .expertWidth = 40});
        CancelFlag cancel;
        const auto sink = [&](const ConvertEvent& event) {
            if (std::holds_alternative<ConvertLayerDone>(event))
                cancel.cancel();
        };
        QVERIFY(!convert(options, sink, &cancel));
        options.source = source();
        QCOMPARE(convert(options).error().reason, std::string("target_occupied"));
        options.force = true;
        QCOMPARE(convert(options)->layersKept, 0U);
        compareWithReference(options.target);
    }

    void anUnfinishedConversionOfAnotherQualityGoesOnWithItsOwn()
    {
        ConvertOptions options = optionsFor(place("quality"));
        options.quality = ConvertQuality::Fast;
        CancelFlag cancel;
        const auto sink = [&](const ConvertEvent& event) {
            if (const auto* plan = std::get_if<ConvertPlan>(&event))
                QVERIFY(plan->settings.find(" fast, ") != std::string::npos);
            if (std::holds_alternative<ConvertLayerDone>(event))
                cancel.cancel();
        };
        QVERIFY(!convert(options, sink, &cancel));
        options.quality = ConvertQuality::Default;
        const auto refused = convert(options);
        QCOMPARE(refused.error().reason, std::string("target_occupied"));
        for (const char* part : {"unfinished", " fast, ", "; now ", " default, "})
            QVERIFY2(refused.error().message.find(part) != std::string::npos, refused.error().message.c_str());
        options.quality = ConvertQuality::Fast;
        QCOMPARE(convert(options)->layersKept, 1U);
    }

    void aFolderOfOtherThingsIsLeftAlone()
    {
        const ConvertOptions options = optionsFor(place("home"));
        fs::create_directories(options.target);
        writeText(options.target / "tokenizer.model", "something else");
        QCOMPARE(convert(options).error().reason, std::string("target_occupied"));
        QCOMPARE(test::readBytes(options.target / "tokenizer.model").size(), std::size_t{14});
        QVERIFY(!fs::exists(options.target / kConversionFolder));
    }

    void aDamagedManifestIsNobodysContainer()
    {
        ConvertOptions options = copyOfReference("manifest");
        writeText(options.target / "manifest.json", "{");
        QCOMPARE(convert(options).error().reason, std::string("target_occupied"));
        options.force = true;
        QVERIFY(convert(options).has_value());
        compareWithReference(options.target);
    }

    void oneConversionOfATargetAtATime()
    {
        const ConvertOptions options = optionsFor(place("busy"));
        const ConvertSink noSink;
        const ConversionProgress progress(noSink, nullptr);
        const auto holder = WorkFolder::open(options.target, progress);
        QVERIFY(holder.has_value());
        const auto refused = convert(options);
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::Busy);
    }

    void theTargetMayNotContainTheSource()
    {
        for (const fs::path& target : {source(), source().parent_path()}) {
            const auto refused = convert(optionsFor(target));
            QVERIFY(!refused);
            QCOMPARE(refused.error().code, ErrorCode::InvalidArgument);
            QVERIFY(!fs::exists(target / kConversionFolder));
        }
        QVERIFY(convert(optionsFor(source() / "inside.waste")).has_value());
        fs::remove_all(source() / "inside.waste");
    }

    void aMissingSourceIsNotFound()
    {
        ConvertOptions options = optionsFor(place("nothing"));
        options.source = place("does-not-exist");
        QCOMPARE(convert(options).error().code, ErrorCode::NotFound);
        QVERIFY(!fs::exists(options.target));
    }

    void weightsThatCannotBeStoredAreRefusedByName_data()
    {
        QTest::addColumn<QString>("tensor");
        QTest::addColumn<float>("value");
        QTest::addColumn<ErrorCode>("code");
        const QString expert = "model.layers.2.block_sparse_moe.experts.2.w1.weight";
        const QString dense = "lm_head.weight";
        const float infinity = std::numeric_limits<float>::infinity();
        QTest::newRow("expert, not a number")
            << expert << std::numeric_limits<float>::quiet_NaN() << ErrorCode::Corrupt;
        QTest::newRow("expert, infinite") << expert << infinity << ErrorCode::Corrupt;
        QTest::newRow("expert, too large") << expert << 1e12F << ErrorCode::Unsupported;
        QTest::newRow("dense, not a number") << dense << std::numeric_limits<float>::quiet_NaN() << ErrorCode::Corrupt;
        QTest::newRow("dense, infinite") << dense << -infinity << ErrorCode::Corrupt;
        QTest::newRow("dense, too large") << dense << 1e12F << ErrorCode::Unsupported;
    }
    void weightsThatCannotBeStoredAreRefusedByName()
    {
        QFETCH(QString, tensor);
        QFETCH(float, value);
        QFETCH(ErrorCode, code);
        ConvertOptions options = optionsFor(place("bad" + std::to_string(m_copies)));
        options.source = place("bad-source" + std::to_string(m_copies++));
        test::writeTinyCheckpoint(options.source, {.expertCount = 3, .expertWidth = 40, .tokenizer = true});
        const bool isExpert = tensor.contains("experts");
        const std::vector<std::uint64_t> shape =
            isExpert ? std::vector<std::uint64_t>{40, 136} : std::vector<std::uint64_t>{512, 136};
        std::vector<float> values(shape[0] * shape[1], 0.01F);
        values[values.size() / 2] = value;
        test::SafetensorsWriter shard;
        shard.addF32(tensor.toStdString(), shape, values);
        replaceTensor(options.source, tensor.toStdString(), shard);
        const auto refused = convert(options);
        QVERIFY(!refused);
        QVERIFY2(
            refused.error().message.find(tensor.toStdString()) != std::string::npos, refused.error().message.c_str());
        QCOMPARE(refused.error().code, code);
        QVERIFY(!*ContainerFiles::isContainer(options.target));
    }

    void damageOfASmallFileOrTensorIsSaidBeforeTheFirstLayer_data()
    {
        QTest::addColumn<QString>("what");
        QTest::newRow("norm") << "model.norm.weight";
        QTest::newRow("embedding") << "model.embed_tokens.weight";
        QTest::newRow("tokenizer") << "tokenizer.model";
        QTest::newRow("special tokens") << "tokenizer_config.json";
    }
    void damageOfASmallFileOrTensorIsSaidBeforeTheFirstLayer()
    {
        QFETCH(QString, what);
        const std::string name = what.toStdString();
        ConvertOptions options = optionsFor(place("early" + std::to_string(m_copies)));
        options.source = place("early-source" + std::to_string(m_copies++));
        test::writeTinyCheckpoint(options.source, {.expertCount = 3, .expertWidth = 40, .tokenizer = true});
        if (what.endsWith("weight")) {
            const bool isNorm = what.contains("norm");
            const std::vector<std::uint64_t> shape =
                isNorm ? std::vector<std::uint64_t>{136} : std::vector<std::uint64_t>{512, 136};
            std::vector<float> values(isNorm ? 136 : 512 * 136, 0.5F);
            values.back() = std::numeric_limits<float>::quiet_NaN();
            test::SafetensorsWriter shard;
            shard.addF32(name, shape, values);
            replaceTensor(options.source, name, shard);
        } else {
            writeText(options.source / name, "garbage");
        }
        bool isStarted = false;
        const auto refused =
            convert(options, [&](const ConvertEvent& e) { isStarted |= std::holds_alternative<ConvertLayerStart>(e); });
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::Corrupt);
        QVERIFY2(refused.error().message.find(name) != std::string::npos, refused.error().message.c_str());
        QVERIFY(!isStarted);
        QVERIFY(!fs::exists(options.target));
    }

    void anExpertThatTheCodebooksDoNotFitIsRefused()
    {
        // Of 24 experts every other one is in the sample. This one is not, and has one large value a row.
        const QString tensor = "model.layers.1.block_sparse_moe.experts.3.w3.weight";
        ConvertOptions options = optionsFor(place("outlier"));
        options.source = place("outlier-source");
        test::writeTinyCheckpoint(
            options.source, {.hiddenSize = 64, .layerCount = 3, .expertCount = 24, .expertWidth = 32});
        std::vector<float> values(std::size_t{32} * 64, 0.001F);
        for (std::size_t row = 0; row < 32; ++row)
            values[row * 64 + row] = 1;
        test::SafetensorsWriter shard;
        shard.addF32(tensor.toStdString(), {32, 64}, values);
        replaceTensor(options.source, tensor.toStdString(), shard);
        const auto refused = convert(options);
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::Unsupported);
        QVERIFY2(
            refused.error().message.find(tensor.toStdString()) != std::string::npos, refused.error().message.c_str());
    }

    void tooLittleSpaceIsSaidBeforeAnythingIsWritten()
    {
        // A tensor of a size that exists in a header only, in a file that has no blocks.
        ConvertOptions options = optionsFor(place("space"));
        options.source = place("space-source");
        test::writeTinyCheckpoint(options.source, {.expertCount = 3});
        const std::uint64_t rows = *freeSpaceBytes(options.source) / (1U << 20) * 2; // half a byte an element
        const std::uint64_t columns = 1U << 21;
        const nlohmann::json header = {{"huge.weight",
            {{"dtype", "BF16"}, {"shape", {rows, columns}}, {"data_offsets", {0, 2 * rows * columns}}}}};
        test::SafetensorsWriter unused;
        replaceTensor(options.source, "huge.weight", unused);
        const std::vector<std::byte> file = test::safetensorsFile(header.dump(), 0);
        test::writeBytes(options.source / "other.safetensors", file);
        std::error_code error;
        fs::resize_file(options.source / "other.safetensors", file.size() + 2 * rows * columns, error);
        if (error)
            QSKIP("this file system has no sparse files of that size");
        const auto refused = convert(options);
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::NoSpace);
        const QRegularExpression needs("needs ([\\d.]+) GiB of free space, of which .* stay free for others");
        const auto match = needs.match(QString::fromStdString(refused.error().message));
        QVERIFY2(match.captured(1).toDouble() * 0x1p30 > static_cast<double>(rows * columns / 2),
            refused.error().message.c_str());
        QVERIFY(!fs::exists(options.target / "experts-L1.bin"));
    }

    void aCommitThatWasCutIsFinishedOrTakenBack_data()
    {
        QTest::addColumn<bool>("trunkIsNew");
        QTest::addColumn<bool>("manifestIsNew");
        QTest::addColumn<QString>("expected"); // trunk, manifest
        QTest::newRow("before") << false << false << "old old";
        QTest::newRow("after the trunk") << true << false << "old old";
        QTest::newRow("after the commit") << true << true << "new new";
        QTest::newRow("after the trunk lost its suffix") << false << true << "old new"; // its trunk is in place already
    }
    void aCommitThatWasCutIsFinishedOrTakenBack()
    {
        QFETCH(bool, trunkIsNew);
        QFETCH(bool, manifestIsNew);
        QFETCH(QString, expected);
        const QTemporaryDir folder;
        const fs::path target = folder.path().toStdString();
        const auto put = [&](std::string_view file, const std::string& suffix, const std::string& text) {
            writeText(target / (std::string(file) + suffix), text);
        };
        const auto get = [&](std::string_view file) {
            const auto bytes = test::readBytes(target / file);
            return QString::fromUtf8(reinterpret_cast<const char*>(bytes.data()), static_cast<qsizetype>(bytes.size()));
        };
        put(kTrunkFile, "", "old");
        put(kManifestFile, "", "old");
        if (trunkIsNew)
            put(kTrunkFile, ".new", "new");
        if (manifestIsNew)
            put(kManifestFile, ".new", "new");
        const ConvertSink noSink;
        const ConversionProgress progress(noSink, nullptr);
        const auto work = WorkFolder::open(target, progress);
        QVERIFY(work.has_value());
        QVERIFY(recoverCommit(*work).has_value());
        QCOMPARE(get(kTrunkFile) + ' ' + get(kManifestFile), expected);
        QVERIFY(!fs::exists(target / "trunk.bin.new") && !fs::exists(target / "manifest.json.new"));
        // A trunk that was taken back is kept.
        QCOMPARE(fs::exists(work->path(kTrunkFile)), trunkIsNew && !manifestIsNew);
    }

private:
    [[nodiscard]] fs::path source() const { return place("models") / "source"; }

    [[nodiscard]] ConvertOptions optionsFor(const fs::path& target) const
    {
        return test::conversionOf(source(), target);
    }

    [[nodiscard]] ConvertOptions copyOfReference(const std::string& name)
    {
        ++m_copies;
        fs::copy(place("reference"), place(name));
        return optionsFor(place(name));
    }

    void compareWithReference(const fs::path& target) const
    {
        QCOMPARE(test::difference(test::readDirectory(target), m_reference), std::string());
    }

    test::DirectoryContent m_reference;
    int m_copies = 0;
};

QTEST_APPLESS_MAIN(ConverterTest)
#include "tst_converter.moc"
