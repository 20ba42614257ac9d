// One read of the trunk in blocks finds the same as reading tensor by tensor, wherever the blocks end.

#include "container/container_files.h"
#include "container/error_reasons.h"
#include "container/trunk_pass.h"
#include "support/damage.h"
#include "support/failing_disk.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cerrno>
#include <fstream>

using namespace waste;
namespace fs = std::filesystem;

class TestTrunkPass : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void damageIsFoundWhereverBlocksEnd_data();
    void damageIsFoundWhereverBlocksEnd();
    void theDigestIsThatOfTheFile();
    void whatCannotBeReadIsToldAndPassed();
    void aFileThatShrankIsTold();
    void everyBlockCanEndThePass();
    void scalesAtOddPlacesAreNotReadInBlocks();

private:
    void flip(std::uint64_t offset) const;
    std::vector<Damage> damages(std::size_t blockBytes) const;

    std::unique_ptr<QTemporaryDir> m_directory;
    fs::path m_trunk;
    ContainerFiles m_files;
};

void TestTrunkPass::init()
{
    m_directory = std::make_unique<QTemporaryDir>();
    const fs::path container = m_directory->path().toStdString();
    QVERIFY(test::copyGolden("kl-vq4p-mixed", container)); // every checksum is present
    m_trunk = container / kTrunkFile;
    auto files = ContainerFiles::open(container);
    QVERIFY(files);
    m_files = std::move(*files);
}

void TestTrunkPass::flip(std::uint64_t offset) const
{
    std::fstream stream(m_trunk, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(static_cast<std::streamoff>(offset));
    stream.put(byte);
}

std::vector<Damage> TestTrunkPass::damages(std::size_t blockBytes) const
{
    const auto file = DirectFile::open(m_trunk, DirectFile::Access::Buffered);
    const TrunkOrder order(m_files.manifest);
    std::vector<Damage> found;
    TrunkPass pass(order, FileDigester(), [&found](const Damage& damage) { found.push_back(damage); });
    std::uint64_t advanced = 0;
    const auto advance = [&advanced](std::uint64_t bytes) {
        advanced += bytes;
        return Status();
    };
    if (!pass.run(*file, advance, blockBytes) || advanced != std::max(fs::file_size(m_trunk), order.endBytes))
        qFatal("the pass failed or miscounted");
    if (found.empty() != pass.takeDigester().has_value())
        qFatal("a digest of a damaged file, or none of a sound one");
    return found;
}

void TestTrunkPass::damageIsFoundWhereverBlocksEnd_data()
{
    QTest::addColumn<quint64>("blockBytes");
    for (const quint64 bytes : {quint64{4096}, quint64{3 * 4096}, quint64{TrunkPass::kBlockBytes}})
        QTest::addRow("blocks of %llu", static_cast<unsigned long long>(bytes)) << bytes;
}

void TestTrunkPass::damageIsFoundWhereverBlocksEnd()
{
    QFETCH(quint64, blockBytes);
    const TrunkOrder order(m_files.manifest);
    QVERIFY(order.isSequential);
    QVERIFY(damages(blockBytes).empty());
    for (const TrunkEntry* entry : order.entries) {
        const TrunkLayout& layout = entry->layout;
        std::vector<std::uint64_t> places = {entry->offset, entry->offset + layout.payloadBytes - 1};
        if (layout.scaleBytes > 0)
            places.insert(places.end(), {entry->scaleOffset, entry->scaleOffset + layout.scaleBytes - 1});
        for (const std::uint64_t place : places) {
            flip(place);
            const std::vector<Damage> found = damages(blockBytes);
            QCOMPARE(found.size(), std::size_t{1});
            QCOMPARE(found[0].tensor, entry->name);
            QCOMPARE(found[0].offset, entry->offset);
            QCOMPARE(found[0].error.reason, std::string(reason::kChecksum));
            flip(place);
        }
    }
}

void TestTrunkPass::theDigestIsThatOfTheFile()
{
    const auto none = [](std::uint64_t) { return Status(); };
    const auto expected = digestFile(m_trunk, FileDigester(), none);
    QVERIFY(expected);
    const auto file = DirectFile::open(m_trunk, DirectFile::Access::Buffered);
    const TrunkOrder order(m_files.manifest);
    TrunkPass pass(order, FileDigester(), [](const Damage&) {});
    QVERIFY(pass.run(*file, none, 4096));
    QVERIFY(pass.takeDigester().value().finish() == *expected);
}

void TestTrunkPass::whatCannotBeReadIsToldAndPassed()
{
    if (!test::FailingDisk::isSupported())
        QSKIP("no failing disk on this system");
    constexpr std::uint64_t kBlock = 4096;
    const auto* embedding = m_files.manifest.find("model.embed_tokens.weight");
    const auto* last = TrunkOrder(m_files.manifest).entries.back();
    QVERIFY(embedding != nullptr && embedding->layout.payloadBytes > 4 * kBlock);
    flip(embedding->offset); // nothing is said of it
    flip(last->offset);
    const std::uint64_t failing = embedding->offset / kBlock + 2; // counts from 0
    std::vector<Damage> found;
    {
        const test::FailingDisk disk({.call = test::FailingDisk::Call::Read,
            .firstFailing = static_cast<std::uint32_t>(failing + 1),
            .failingCount = 2, // and once more when it is tried again
            .error = EIO});
        found = damages(kBlock);
    }
    QCOMPARE(found.size(), std::size_t{2});
    QVERIFY(found[0].tensor.empty());
    QCOMPARE(found[0].offset, failing * kBlock);
    QCOMPARE(found[0].error.code, ErrorCode::Io);
    QCOMPARE(found[1].tensor, last->name);
}

void TestTrunkPass::aFileThatShrankIsTold()
{
    fs::resize_file(m_trunk, fs::file_size(m_trunk) - 8192);
    const std::vector<Damage> found = damages(4096);
    QVERIFY(!found.empty());
    for (const Damage& damage : found)
        QCOMPARE(damage.error.code, ErrorCode::Corrupt);
}

void TestTrunkPass::everyBlockCanEndThePass()
{
    const auto file = DirectFile::open(m_trunk, DirectFile::Access::Buffered);
    const TrunkOrder order(m_files.manifest);
    TrunkPass pass(order, {}, [](const Damage&) {});
    int blocks = 0;
    const auto status = pass.run(
        *file,
        [&blocks](std::uint64_t) {
            return ++blocks == 3 ? Status(Error{ErrorCode::Cancelled, "", "enough"}) : Status();
        },
        4096);
    QVERIFY(!status);
    QCOMPARE(status.error().code, ErrorCode::Cancelled);
    QCOMPARE(blocks, 3);
    QCOMPARE(file->readCount(), std::uint64_t{2});
}

void TestTrunkPass::scalesAtOddPlacesAreNotReadInBlocks()
{
    for (TrunkEntry& entry : m_files.manifest.trunk) {
        if (entry.layout.scaleBytes > 0) {
            ++entry.scaleOffset;
            break;
        }
    }
    QVERIFY(!TrunkOrder(m_files.manifest).isSequential);
}

QTEST_APPLESS_MAIN(TestTrunkPass)
#include "tst_trunk_pass.moc"
