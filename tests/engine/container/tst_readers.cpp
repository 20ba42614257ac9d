// Trunk, codebooks and banks where the golden values do not look: what is checked when, and what lies where
// in memory.

#include "container/bank_reader.h"
#include "container/codebooks.h"
#include "container/container_files.h"
#include "container/error_reasons.h"
#include "container/trunk.h"
#include "platform/pages.h"
#include "support/damage.h"

#include "base/half.h"

#include <QTemporaryDir>
#include <QTest>

#include <fstream>

using namespace waste;
namespace fs = std::filesystem;

namespace {

// A golden container opened, with its codebooks.
struct Opened {
    explicit Opened(const fs::path& directory)
    {
        auto opened = ContainerFiles::open(directory);
        if (!opened)
            return;
        files = std::move(*opened);
        auto loaded = Codebooks::load(directory, files.manifest, Verification::Headers, warnings);
        if (loaded)
            codebooks.emplace(std::move(*loaded));
    }
    ContainerFiles files;
    std::optional<Codebooks> codebooks;
    std::vector<std::string> warnings;
};

void overwrite(const fs::path& file, std::uint64_t offset, std::string_view bytes)
{
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekp(static_cast<std::streamoff>(offset));
    stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace

class TestReaders : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tablesAreZeroBehindTheEntries();
    void codebookSubnormalsAreKept();
    void residentSizesAreWhatIsTaken();
    void aQuantisedEmbeddingStaysOnDisk();
    void missingFilesAreDamage_data();
    void missingFilesAreDamage();
    void aMissingContainerIsNotFound();
    void aFolderThatCannotBeReachedIsNotTakenForAMissingOne();
    void aManifestThatIsNoJsonIsSaidWithItsPlace();
    void badSideFilesAreWarnedOf();
    void eachRecordIsOneReadOfOneStride();
    void recordsAreCheckedWithoutReading();
    void checksumsCostNothingUnlessAskedFor();
    void sideFilesAreFound();
};

void TestReaders::tablesAreZeroBehindTheEntries()
{
    const Opened opened(test::goldenContainer("kl-vq4p-q3g")); // 64 entries
    QVERIFY(opened.codebooks);
    for (std::size_t matrix = 0; matrix < kExpertMatrixCount; ++matrix) {
        const float* table = opened.codebooks->table(1, matrix);
        QCOMPARE(reinterpret_cast<std::uintptr_t>(table) % 64, std::uintptr_t{0});
        for (std::size_t stage = 0; stage < 4; ++stage) {
            const float* book = table + stage * kCodebookTableRows * 8;
            QVERIFY(std::any_of(book, book + 64 * 8, [](float value) { return value != 0; }));
            QVERIFY(std::all_of(
                book + 64 * 8, book + std::size_t{kCodebookTableRows} * 8, [](float value) { return value == 0; }));
        }
    }
}

void TestReaders::codebookSubnormalsAreKept()
{
    const Opened opened(test::goldenContainer("k3-odd"));
    QVERIFY(opened.codebooks);
    bool found = false;
    for (std::size_t bank = 0; bank < opened.files.manifest.banks.size(); ++bank)
        for (std::size_t matrix = 0; matrix < kExpertMatrixCount; ++matrix) {
            const float* table = opened.codebooks->table(bank, matrix);
            found = found || std::any_of(table, table + std::size_t{4} * kCodebookTableRows * 8, [](float value) {
                return value != 0 && std::abs(value) < 0x1p-14F;
            });
        }
    QVERIFY(found);
}

void TestReaders::residentSizesAreWhatIsTaken()
{
    const Opened opened(test::goldenContainer("kl-vq3r-q4g"));
    QCOMPARE(Codebooks::residentBytes(opened.files.manifest), std::uint64_t{3 * 3 * 3 * 256 * 8 * 4});
    std::uint64_t bytes = 0;
    for (const TrunkEntry& entry : opened.files.manifest.trunk) {
        QCOMPARE(Trunk::residentBytes(entry) % Trunk::kAlignment, std::uint64_t{0});
        QVERIFY(Trunk::residentBytes(entry) >= entry.layout.bytes());
        bytes += Trunk::residentBytes(entry);
    }
    const TrunkEntry* embedding = opened.files.manifest.find("model.embed_tokens.weight");
    QCOMPARE(residentTrunkBytes(opened.files.manifest), bytes - Trunk::residentBytes(*embedding));
}

void TestReaders::aQuantisedEmbeddingStaysOnDisk()
{
    QVERIFY(isEmbeddingOnDisk(Opened(test::goldenContainer("kl-vq2r-q8g")).files.manifest));
    QVERIFY(!isEmbeddingOnDisk(Opened(test::goldenContainer("kl-rows-f32")).files.manifest));
}

void TestReaders::missingFilesAreDamage_data()
{
    QTest::addColumn<QString>("file");
    for (const char* file : {"trunk.bin", "codebooks.bin", "experts-L2.bin"})
        QTest::newRow(file) << QString(file);
}

void TestReaders::missingFilesAreDamage()
{
    QFETCH(QString, file);
    const QTemporaryDir directory;
    const fs::path container = directory.path().toStdString();
    QVERIFY(test::copyGolden("kl-rows-f32", container));
    QVERIFY(fs::remove(container / file.toStdString()));
    const auto files = ContainerFiles::open(container);
    QVERIFY(!files);
    QCOMPARE(files.error().code, ErrorCode::Corrupt);
    QCOMPARE(files.error().reason, std::string(reason::kMissingFile));
    QVERIFY(files.error().message.find(file.toStdString() + " is missing") != std::string::npos);
}

void TestReaders::aMissingContainerIsNotFound()
{
    const QTemporaryDir directory;
    QCOMPARE(ContainerFiles::open(directory.path().toStdString()).error().code, ErrorCode::NotFound);
    QVERIFY(!*ContainerFiles::isContainer(directory.path().toStdString()));
    QVERIFY(*ContainerFiles::isContainer(test::goldenContainer("k3-odd")));
}

// A loop of links stands for what also happens below a folder without permission, which stops no administrator.
void TestReaders::aFolderThatCannotBeReachedIsNotTakenForAMissingOne()
{
    const QTemporaryDir directory;
    const fs::path loop = fs::path(directory.path().toStdString()) / "loop";
    std::error_code error;
    fs::create_symlink(loop, loop, error);
    if (error)
        QSKIP("this file system has no symbolic links");
    const auto found = ContainerFiles::isContainer(loop);
    QVERIFY(!found);
    QCOMPARE(found.error().code, ErrorCode::Io);
    QVERIFY2(found.error().message.find("loop") != std::string::npos, found.error().message.c_str());
}

void TestReaders::aManifestThatIsNoJsonIsSaidWithItsPlace()
{
    const QTemporaryDir directory;
    const fs::path container = directory.path().toStdString();
    QVERIFY(test::copyGolden("kl-rows-f32", container));
    std::ofstream(container / "manifest.json") << R"({"format_version":0,})";
    const auto files = ContainerFiles::open(container);
    QVERIFY(!files);
    QCOMPARE(files.error().code, ErrorCode::Corrupt);
    const std::string expected = (container / "manifest.json").string() + " is not valid JSON at byte 21";
    QVERIFY2(files.error().message.starts_with(expected), files.error().message.c_str());
}

void TestReaders::badSideFilesAreWarnedOf()
{
    const QTemporaryDir directory;
    const fs::path container = directory.path().toStdString();
    QVERIFY(test::copyGolden("kl-rows-f32", container));
    std::ofstream(container / "chat.json") << "[]";
    std::ofstream(container / "vision.json") << "{";
    const auto files = ContainerFiles::open(container);
    QVERIFY(files);
    QCOMPARE(files->warnings.size(), std::size_t{2});
    QVERIFY2(files->warnings[0].find("vision.json is not valid JSON at byte 2") != std::string::npos,
        files->warnings[0].c_str());
    QVERIFY2(
        files->warnings[1].find("chat.json is not a JSON object") != std::string::npos, files->warnings[1].c_str());
}

void TestReaders::eachRecordIsOneReadOfOneStride()
{
    const Opened opened(test::goldenContainer("kl-vq3r-q4g"));
    QVERIFY(opened.codebooks);
    for (const bool direct : {true, false}) {
        const auto reader =
            BankReader::open(opened.files.directory, opened.files.manifest, 0, *opened.codebooks, direct);
        QVERIFY(reader);
        QCOMPARE(reader->strideBytes(), std::uint64_t{20480});
        QVERIFY(direct || !reader->isDirect());
        const auto pages = Pages::allocate(reader->strideBytes(), "test");
        const auto record = pages->bytes().first(reader->strideBytes());
        for (const std::uint16_t expert : std::initializer_list<std::uint16_t>{5, 0, 3}) {
            const std::uint64_t before = reader->file().readCount();
            QVERIFY(reader->readRecord(expert, record, Verification::Headers));
            QCOMPARE(reader->file().readCount() - before, std::uint64_t{1});
        }
    }
}

void TestReaders::recordsAreCheckedWithoutReading()
{
    const Opened opened(test::goldenContainer("kl-vq4p-mixed"));
    QVERIFY(opened.codebooks);
    const auto reader = BankReader::open(opened.files.directory, opened.files.manifest, 1, *opened.codebooks, false);
    QVERIFY(reader);
    const auto pages = Pages::allocate(reader->strideBytes(), "test");
    const auto record = pages->bytes().first(reader->strideBytes());
    QVERIFY(reader->file().readExactly(reader->recordOffset(4), record));
    QVERIFY(reader->check(4, record, Verification::Full));
    const auto other = reader->check(3, record, Verification::Headers);
    QVERIFY(!other);
    QCOMPARE(other.error().reason, std::string(reason::kRecordHeader));
    QVERIFY(other.error().message.starts_with("expert 3 of layer 2: header"));
}

void TestReaders::checksumsCostNothingUnlessAskedFor()
{
    const QTemporaryDir directory;
    const fs::path container = directory.path().toStdString();
    QVERIFY(test::copyGolden("kl-vq4p-mixed", container));
    overwrite(container / "experts-L1.bin", 20480 + 100, "x");
    const Opened opened(container);
    QVERIFY(opened.codebooks);
    const auto reader = BankReader::open(container, opened.files.manifest, 0, *opened.codebooks, true);
    const auto pages = Pages::allocate(reader->strideBytes(), "test");
    const auto record = pages->bytes().first(reader->strideBytes());
    QVERIFY(reader->readRecord(1, record, Verification::Headers));
    const auto verified = reader->readRecord(1, record, Verification::Full);
    QVERIFY(!verified);
    QCOMPARE(verified.error().reason, std::string(reason::kChecksum));
}

void TestReaders::sideFilesAreFound()
{
    const QTemporaryDir directory;
    const fs::path container = directory.path().toStdString();
    QVERIFY(test::copyGolden("kl-rows-f32", container));
    auto files = ContainerFiles::open(container);
    QVERIFY(files->sideFiles.tokenizer.empty());
    const std::uint64_t before = files->totalBytes;
    std::ofstream(container / "tiktoken.model") << "abc";
    std::ofstream(container / "chat.json") << "{}";
    files = ContainerFiles::open(container);
    QVERIFY(files->sideFiles.tokenizer.filename() == "tiktoken.model");
    QVERIFY(files->sideFiles.chat.filename() == "chat.json");
    QVERIFY(files->sideFiles.vision.empty());
    QCOMPARE(files->totalBytes, before + 5);
    std::ofstream(container / "tokenizer.model") << "abc";
    files = ContainerFiles::open(container);
    QVERIFY(files->sideFiles.tokenizer.filename() == "tokenizer.model");
}

QTEST_APPLESS_MAIN(TestReaders)
#include "tst_readers.moc"
