// integrity.json: what it states, what is refused, and that a verification finds what nothing else covers: side files,
// padding, unused bytes of headers (spec: container 15).

#include "container/container_files.h"
#include "container/error_reasons.h"
#include "container/integrity.h"
#include "container/verifier.h"
#include "support/damage.h"
#include "support/safetensors_writer.h"

#include <QTemporaryDir>
#include <QTest>

using namespace waste;
namespace fs = std::filesystem;

namespace {

std::span<const std::byte> bytesOf(std::string_view text)
{
    return std::as_bytes(std::span(text));
}

FileDigest digestOf(std::string_view text, std::uint64_t chunkBytes, FileDigester::Kind kind)
{
    FileDigester digester(kind, chunkBytes);
    digester.update(bytesOf(text.substr(0, 3))); // however it is cut
    digester.update(bytesOf(text.substr(3)));
    return digester.finish();
}

constexpr const char* kHash = "e346432021b04179518d9614f3560ccd71354a4ee101ddcb893d6959a9d6301c"; // of {"a":1}\n

std::string listOf(const std::string& entries)
{
    return R"({"version":1,"files":{)" + entries + "}}";
}

} // namespace

class TestIntegrity : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init()
    {
        m_directory = std::make_unique<QTemporaryDir>();
        m_container = m_directory->path().toStdString();
        QVERIFY(test::copyGolden("kl-vq4p-mixed", m_container));
        test::writeBytes(m_container / "specials.json", bytesOf("[]"));
        test::writeBytes(m_container / "chat.json", bytesOf("{}"));
    }

    void aSmallFileHasAHashAndALargeOneAChecksumAChunk()
    {
        const FileDigest small = digestOf("{\"a\":1}\n", 8, FileDigester::Kind::Everything);
        QCOMPARE(small.sha256, std::string(kHash));
        QCOMPARE(small.bytes, std::uint64_t{8});
        QVERIFY(small.chunkCrc32.empty());
        const FileDigest large = digestOf("123456789a", 9, FileDigester::Kind::ChecksumsOnly);
        QVERIFY(large.chunkCrc32 == std::vector<std::uint32_t>({0xCBF43926, 0xE8B7BE43}));
        QVERIFY(large.sha256.empty());
    }

    void whatIsWrittenReadsBack()
    {
        Integrity integrity;
        integrity["a.bin"] = digestOf("{\"a\":1}\n", 3, FileDigester::Kind::Everything);
        integrity["b"] = digestOf("{\"a\":1}\n", kIntegrityChunkBytes, FileDigester::Kind::Everything);
        const auto read = parseIntegrity(composeIntegrity(integrity), "text");
        QVERIFY2(read, read ? "" : read.error().message.c_str());
        QVERIFY(*read == integrity);
    }

    void nonsenseIsRefused_data()
    {
        QTest::addColumn<QString>("text");
        const std::string hash = std::string("\"sha256\":\"") + kHash + "\"";
        const auto row = [](const char* name, const std::string& text) {
            QTest::newRow(name) << QString::fromStdString(text);
        };
        row("empty", "");
        row("another version", R"({"version":2,"files":{}})");
        row("no files", R"({"version":1})");
        row("a path", listOf(R"("../a":{"bytes":8,)" + hash + "}"));
        row("no size", listOf(R"("a":{)" + hash + "}"));
        row("a negative size", listOf(R"("a":{"bytes":-1,)" + hash + "}"));
        row("no hash", listOf(R"("a":{"bytes":8})"));
        row("a short hash", listOf(R"("a":{"bytes":8,"sha256":"e346"})"));
        row("chunks of nothing", listOf(R"("a":{"bytes":8,"chunk":0,"crc32":[],)" + hash + "}"));
        row("a chunk too few", listOf(R"("a":{"bytes":9,"chunk":8,"crc32":[1],)" + hash + "}"));
        row("a checksum too large", listOf(R"("a":{"bytes":8,"chunk":8,"crc32":[4294967296],)" + hash + "}"));
    }
    void nonsenseIsRefused()
    {
        QFETCH(QString, text);
        const auto read = parseIntegrity(text.toStdString(), "here.json");
        QVERIFY(!read);
        QCOMPARE(read.error().code, ErrorCode::Corrupt);
        QVERIFY(read.error().message.starts_with("here.json"));
    }

    void itIsWrittenForAForeignContainerAndCoversEveryFile()
    {
        QVERIFY(damages({.writeIntegrity = true}).empty());
        const auto integrity = readIntegrity(m_container);
        QVERIFY(integrity);
        for (const auto& entry : fs::directory_iterator(m_container)) {
            const std::string name = entry.path().filename().string();
            if (name == kIntegrityFile)
                continue;
            QVERIFY2(integrity->contains(name), name.c_str());
            const auto digest = digestFile(entry.path(), FileDigester(), [](std::uint64_t) { return Status(); });
            QVERIFY(digest);
            QVERIFY(*digest == integrity->at(name));
        }
        QVERIFY(damages().empty());
        QVERIFY(damages({.writeIntegrity = true}).empty()); // and once more
    }

    void nothingIsWrittenWhereSomethingIsDamaged()
    {
        flip("experts-L1.bin", 3000);
        QCOMPARE(damages({.writeIntegrity = true}).size(), std::size_t{1});
        QVERIFY(!fs::exists(m_container / kIntegrityFile));
    }

    void whatHasNoChecksumOfItsOwnIsCovered_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<quint64>("offset");
        QTest::newRow("a side file") << "specials.json" << quint64{1};
        QTest::newRow("padding of a record") << "experts-L2.bin" << quint64{20479};
        QTest::newRow("an unused word of a header") << "experts-L3.bin" << quint64{2 * 20480 + 44};
        QTest::newRow("a gap of the trunk") << "trunk.bin" << quint64{136 * 4 + 8}; // behind the first tensor
        QTest::newRow("white space of the manifest") << "manifest.json" << quint64{0};
    }
    void whatHasNoChecksumOfItsOwnIsCovered()
    {
        QFETCH(QString, file);
        QFETCH(quint64, offset);
        QVERIFY(damages({.writeIntegrity = true}).empty());
        if (file == "manifest.json")
            test::writeBytes(m_container / "manifest.json", padded(test::readBytes(m_container / "manifest.json")));
        else
            flip(file.toStdString(), offset);
        const auto found = damages();
        QCOMPARE(found.size(), std::size_t{1});
        QCOMPARE(found[0].file, file.toStdString());
    }

    void damageIsToldOnce()
    {
        QVERIFY(damages({.writeIntegrity = true}).empty());
        flip("experts-L1.bin", 3000);
        flip("codebooks.bin", 500);
        const auto found = damages();
        QCOMPARE(found.size(), std::size_t{2});
    }

    void missingAndGrownFilesAreToldWithoutReadingThem()
    {
        QVERIFY(damages({.writeIntegrity = true}).empty());
        fs::remove(m_container / "specials.json");
        fs::resize_file(m_container / "experts-L1.bin", 6 * 20480 + 5);
        const auto found = damages({.headersOnly = true});
        QCOMPARE(found.size(), std::size_t{2});
        QCOMPARE(found[0].file, std::string("experts-L1.bin"));
        QCOMPARE(found[1].error.reason, std::string(reason::kMissingFile));
        // Opening says so as well; the model can still be used.
        const auto files = ContainerFiles::open(m_container);
        QVERIFY(files);
        QCOMPARE(files->warnings.size(), std::size_t{2});
    }

    void aPersonMayChangeTheConversationTemplate()
    {
        QVERIFY(damages({.writeIntegrity = true}).empty());
        test::writeBytes(m_container / "chat.json", bytesOf("{\"open\": \"x\"}"));
        QVERIFY(damages().empty());
        QVERIFY(ContainerFiles::open(m_container)->warnings.empty());
    }

    void aMalformedListIsDamageItself()
    {
        test::writeBytes(m_container / kIntegrityFile, bytesOf("{\"version\":1"));
        const auto found = damages();
        QCOMPARE(found.size(), std::size_t{1});
        QCOMPARE(found[0].file, std::string(kIntegrityFile));
    }

    void aPartIsNoReasonToWriteAList()
    {
        const auto files = ContainerFiles::open(m_container);
        const auto report = verifyContainer(
            *files, {.layer = 1, .writeIntegrity = true}, [](const Damage&) {}, {}, CancelFlag());
        QVERIFY(!report);
        QCOMPARE(report.error().code, ErrorCode::InvalidArgument);
    }

private:
    void flip(const std::string& file, std::uint64_t offset) const
    {
        std::vector<std::byte> bytes = test::readBytes(m_container / file);
        QVERIFY(offset < bytes.size());
        bytes[offset] ^= std::byte{1};
        test::writeBytes(m_container / file, bytes);
    }
    static std::vector<std::byte> padded(std::vector<std::byte> bytes)
    {
        bytes.insert(bytes.begin(), std::byte{' '});
        bytes.pop_back(); // the line feed at its end
        return bytes;
    }
    std::vector<Damage> damages(const VerifyOptions& options = {}) const
    {
        std::vector<Damage> found;
        const auto files = ContainerFiles::open(m_container);
        if (!files)
            qFatal("%s", files.error().message.c_str());
        const auto report = verifyContainer(
            *files, options, [&found](const Damage& damage) { found.push_back(damage); }, {}, CancelFlag());
        if (!report || report->damageCount != found.size())
            qFatal("the pass failed or miscounted");
        return found;
    }

    std::unique_ptr<QTemporaryDir> m_directory;
    fs::path m_container;
};

QTEST_APPLESS_MAIN(TestIntegrity)
#include "tst_integrity.moc"
