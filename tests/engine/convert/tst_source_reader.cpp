// Weights read by several threads, a piece each, are those that one thread reads, and damage in any piece is found.

#include "convert/source_reader.h"
#include "support/safetensors_writer.h"
#include "support/test_weights.h"

#include <QTemporaryDir>
#include <QTest>

#include <fstream>
#include <limits>

using namespace waste;

namespace {

constexpr std::uint64_t kRows = 301;
constexpr std::uint64_t kColumns = 1024; // three pieces, the last one short
constexpr std::uint64_t kGroups = kRows * kColumns / 32;

// A plain tensor and one of MXFP4.
struct Source {
    Source()
        : plain(test::gaussians(kRows * kColumns, 1))
        , packed(kRows * kColumns / 2, std::byte{0x53})
        , scales(kGroups, std::byte{127})
    {
    }
    [[nodiscard]] std::unique_ptr<const CheckpointFiles> open() const
    {
        const std::filesystem::path path = folder.path().toStdString();
        test::SafetensorsWriter shard;
        shard.addF32("plain", {kRows, kColumns}, plain);
        shard.add("w.weight_packed", "U8", {kRows, kColumns / 2}, packed);
        shard.add("w.weight_scale", "U8", {kRows, kColumns / 32}, scales);
        shard.write(path / "model.safetensors");
        std::ofstream(path / "config.json") << "{}";
        auto files = CheckpointFiles::open(path);
        return files ? std::move(*files) : nullptr;
    }

    QTemporaryDir folder;
    std::vector<float> plain;
    std::vector<std::byte> packed;
    std::vector<std::byte> scales;
};

} // namespace

class SourceReaderTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void threadsReadWhatOneReads()
    {
        Source source;
        for (std::size_t group = 0; group < kGroups; ++group)
            source.scales[group] = static_cast<std::byte>(100 + group % 50);
        const auto files = source.open();
        QVERIFY(files != nullptr);
        ThreadPool pool({.threadCount = 3});
        for (const char* name : {"plain", "w.weight"}) {
            const CheckpointTensor& tensor = *files->find(name);
            for (const std::uint64_t first : {std::uint64_t{0}, 7 * kColumns}) {
                std::vector<float> expected(kRows * kColumns - first);
                std::vector<float> values(expected.size());
                QVERIFY(readFinite(*files, tensor, first, expected));
                QVERIFY(readFinite(*files, tensor, first, values, pool));
                QVERIFY(values == expected);
            }
        }
    }

    void aValueThatIsNoNumberIsFoundWhereverItIs()
    {
        ThreadPool pool({.threadCount = 2});
        for (const std::size_t place : {std::size_t{0}, std::size_t{200'000}, std::size_t{kRows * kColumns - 1}}) {
            Source source;
            source.plain[place] = std::numeric_limits<float>::infinity();
            const auto files = source.open();
            QVERIFY(files != nullptr);
            std::vector<float> values(kRows * kColumns);
            const Status status = readFinite(*files, *files->find("plain"), 0, values, pool);
            QVERIFY(!status && status.error().code == ErrorCode::Corrupt);
            QVERIFY(status.error().message.find("\"plain\"") != std::string::npos);
        }
    }

    void ofSeveralDamagesTheFirstIsTold()
    {
        ThreadPool pool({.threadCount = 3});
        Source source;
        source.scales[kGroups - 1] = std::byte{255};
        source.scales[5000] = std::byte{255};
        const auto files = source.open();
        QVERIFY(files != nullptr);
        std::vector<float> values(kRows * kColumns);
        const Status status = readFinite(*files, *files->find("w.weight"), 0, values, pool);
        QVERIFY(!status && status.error().code == ErrorCode::Corrupt);
        QVERIFY2(status.error().message.find("scale 5000 ") != std::string::npos, status.error().message.c_str());
    }
};

QTEST_APPLESS_MAIN(SourceReaderTest)
#include "tst_source_reader.moc"
