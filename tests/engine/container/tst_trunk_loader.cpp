// Loading the trunk: the bytes of the file wherever its tensors lie, whichever way they are read, and no second copy
// of them in the page cache.

#include "container/error_reasons.h"
#include "container/trunk.h"
#include "container/trunk_loader.h"
#include "kernels/checksum.h"
#include "platform/pages.h"
#include "support/cached_pages.h"
#include "support/failing_disk.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>

using namespace waste;
using kernels::WeightFormat;
namespace fs = std::filesystem;

Q_DECLARE_METATYPE(DirectFile::Access)

namespace {

constexpr std::uint64_t kBlock = TrunkLoader::kBlockBytes;
constexpr std::uint64_t kFileBytes = 5 * kBlock + 1234; // no whole pages

Status goOn(std::uint64_t)
{
    return {};
}

} // namespace

class TestTrunkLoader : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void init();
    void tensorsAreTheBytesOfTheFile_data();
    void tensorsAreTheBytesOfTheFile();
    void nothingStaysInThePageCache_data();
    void nothingStaysInThePageCache();
    void whoAsksForThePageCacheKeepsIt();
    void ofSeveralDamagesTheFirstIsTold();
    void aTrunkWithoutChecksumsGetsThemWhileItComes();
    void whatCameIsToldAndNeverMoreThanThereIs();
    void whoeverIsToldCanEndIt();
    void aFileThatWasCutIsNamed();
    void aFailingDriveIsNamed();

private:
    // A tensor of one row of Q8G weights with scales, at these places of the file.
    void add(std::uint64_t offset, std::uint32_t columns, std::uint64_t scaleOffset);
    void addFloats(std::uint64_t offset, std::uint32_t columns);
    Result<std::vector<std::byte>> load(
        DirectFile::Access access, const std::function<Status(std::uint64_t)>& advance = goOn) const;
    [[nodiscard]] std::uint64_t payloadBytes() const;
    [[nodiscard]] std::span<const std::byte> content(std::uint64_t offset, std::uint64_t bytes) const
    {
        return std::span(m_content).subspan(offset, bytes);
    }

    std::unique_ptr<QTemporaryDir> m_directory;
    fs::path m_trunk;
    std::vector<std::byte> m_content;
    std::vector<TrunkEntry> m_entries;
};

void TestTrunkLoader::initTestCase()
{
    m_content.resize(kFileBytes);
    std::mt19937 random(1);
    for (std::byte& byte : m_content)
        byte = static_cast<std::byte>(random() & 0x3FU); // no half of these is infinite
}

// Tensors that are aligned, that are not, that share bytes, that span blocks, and small ones; the last ends the file.
void TestTrunkLoader::init()
{
    m_directory = std::make_unique<QTemporaryDir>();
    m_trunk = fs::path(m_directory->path().toStdString()) / kTrunkFile;
    std::ofstream(m_trunk, std::ios::binary)
        .write(reinterpret_cast<const char*>(m_content.data()), static_cast<std::streamsize>(m_content.size()));
    m_entries.clear();
    addFloats(kFileBytes - 4 * 7, 7);
    add(0, 128, 4096);
    add(8192, 3U << 20, 4U << 20);
    add(kBlock - 3, 6, kBlock + 1); // across the end of a block, its scale at an odd place
    addFloats(kBlock + 8192 + 2, 1U << 20);
    addFloats(kBlock + 8192 + 2, 16); // the beginning of the one before
    addFloats(4 * kBlock, 1U << 18);
}

void TestTrunkLoader::add(std::uint64_t offset, std::uint32_t columns, std::uint64_t scaleOffset)
{
    constexpr std::uint32_t kGroup = 128;
    const std::array<std::uint64_t, 2> shape = {1, columns};
    TrunkEntry entry;
    entry.name = "tensor " + std::to_string(m_entries.size());
    entry.format = WeightFormat::Q8G;
    entry.shape = {shape.begin(), shape.end()};
    entry.group = kGroup;
    entry.offset = offset;
    entry.scaleOffset = scaleOffset;
    entry.layout = TrunkLayout::compute(WeightFormat::Q8G, shape, kGroup).value();
    entry.crc32 = kernels::crc32(
        content(scaleOffset, entry.layout.scaleBytes), kernels::crc32(content(offset, entry.layout.payloadBytes)));
    m_entries.push_back(entry);
}

void TestTrunkLoader::addFloats(std::uint64_t offset, std::uint32_t columns)
{
    const std::array<std::uint64_t, 1> shape = {columns};
    TrunkEntry entry;
    entry.name = "tensor " + std::to_string(m_entries.size());
    entry.format = WeightFormat::F32;
    entry.shape = {shape.begin(), shape.end()};
    entry.offset = offset;
    entry.layout = TrunkLayout::compute(WeightFormat::F32, shape, 0).value();
    entry.crc32 = kernels::crc32(content(offset, entry.layout.payloadBytes));
    m_entries.push_back(entry);
}

std::uint64_t TestTrunkLoader::payloadBytes() const
{
    std::uint64_t bytes = 0;
    for (const TrunkEntry& entry : m_entries)
        bytes += entry.layout.bytes();
    return bytes;
}

// Payloads and scales of all tensors, one behind the other.
Result<std::vector<std::byte>> TestTrunkLoader::load(
    DirectFile::Access access, const std::function<Status(std::uint64_t)>& advance) const
{
    WASTE_TRY(TrunkLoader loader, TrunkLoader::open(m_trunk.parent_path(), access));
    std::vector<Pages> memory;
    std::vector<kernels::MatrixView> views;
    for (const TrunkEntry& entry : m_entries) {
        memory.push_back(*Pages::allocate(Trunk::residentBytes(entry), "test"));
        views.push_back(loader.add(entry, memory.back().bytes()));
    }
    WASTE_TRY_STATUS(loader.run(advance));
    std::vector<std::byte> loaded;
    for (std::size_t i = 0; i < views.size(); ++i) {
        const TrunkLayout& layout = m_entries[i].layout;
        const std::span payload(views[i].payload, layout.payloadBytes);
        loaded.insert(loaded.end(), payload.begin(), payload.end());
        const auto scales = std::as_bytes(std::span(views[i].scales, layout.scaleBytes / 2));
        loaded.insert(loaded.end(), scales.begin(), scales.end());
    }
    return loaded;
}

void TestTrunkLoader::tensorsAreTheBytesOfTheFile_data()
{
    QTest::addColumn<DirectFile::Access>("access");
    QTest::newRow("past the page cache") << DirectFile::Access::Direct;
    QTest::newRow("through it") << DirectFile::Access::Buffered;
}

void TestTrunkLoader::tensorsAreTheBytesOfTheFile()
{
    QFETCH(DirectFile::Access, access);
    std::vector<std::byte> expected;
    for (const TrunkEntry& entry : m_entries) {
        const auto payload = content(entry.offset, entry.layout.payloadBytes);
        expected.insert(expected.end(), payload.begin(), payload.end());
        const auto scales = content(entry.scaleOffset, entry.layout.scaleBytes);
        expected.insert(expected.end(), scales.begin(), scales.end());
    }
    for (int round = 0; round < 20; ++round) { // threads meet differently
        const auto loaded = load(access);
        QVERIFY2(loaded, loaded ? "" : loaded.error().message.c_str());
        QVERIFY(*loaded == expected);
    }
}

void TestTrunkLoader::nothingStaysInThePageCache_data()
{
    QTest::addColumn<bool>("isRefused");
    QTest::newRow("past it") << false;
    QTest::newRow("a file system that refuses") << true;
}

void TestTrunkLoader::nothingStaysInThePageCache()
{
    QFETCH(bool, isRefused);
    if (!test::dropCachedPages(m_trunk))
        QSKIP("this file system keeps its files in memory, or does not tell");
    if (isRefused && !test::FailingDisk::isSupported())
        QSKIP("no failing disk on this system");
    if (!isRefused && !DirectFile::open(m_trunk, DirectFile::Access::Direct)->isDirect())
        QSKIP("this file system refuses direct reads");
    // It would be seen: a plain read leaves its pages behind.
    std::vector<std::byte> page(kDirectIoAlignment);
    QVERIFY(DirectFile::open(m_trunk, DirectFile::Access::Buffered)->readExactly(kBlock, page));
    QCOMPARE_GE(test::cachedPages(m_trunk).value_or(0), std::size_t{1});
    QVERIFY(test::dropCachedPages(m_trunk));

    {
        const test::FailingDisk disk({.call = test::FailingDisk::Call::Open,
            .failingCount = isRefused ? 1U : 0U,
            .error = isRefused ? EINVAL : 0}); // the first is the direct one
        QVERIFY(load(DirectFile::Access::Direct));
        QCOMPARE(disk.readsOf(m_trunk).cachedBytes > 0, isRefused);
    }
    QCOMPARE(test::cachedPages(m_trunk), std::optional<std::size_t>(0));
}

void TestTrunkLoader::whoAsksForThePageCacheKeepsIt()
{
    if (!test::dropCachedPages(m_trunk))
        QSKIP("this file system keeps its files in memory, or does not tell");
    QVERIFY(load(DirectFile::Access::Buffered));
    QCOMPARE_GE(test::cachedPages(m_trunk).value_or(0), payloadBytes() / 2 / kDirectIoAlignment);
}

void TestTrunkLoader::ofSeveralDamagesTheFirstIsTold()
{
    *m_entries[0].crc32 ^= 1; // at the end of the file
    *m_entries[6].crc32 ^= 1;
    *m_entries[3].crc32 ^= 1;
    for (int round = 0; round < 20; ++round) {
        const auto loaded = load(DirectFile::Access::Direct);
        QVERIFY(!loaded);
        QCOMPARE(loaded.error().code, ErrorCode::Corrupt);
        QCOMPARE(loaded.error().reason, std::string(reason::kChecksum));
        QVERIFY2(loaded.error().message.find("tensor " + m_entries[3].name) != std::string::npos,
            loaded.error().message.c_str());
    }
}

// As foreign converters write it. There is no second pass over what was loaded: who is told of blocks until the last
// one can end it, and then nothing is left to do.
void TestTrunkLoader::aTrunkWithoutChecksumsGetsThemWhileItComes()
{
    std::vector<std::uint32_t> expected;
    for (TrunkEntry& entry : m_entries) {
        expected.push_back(*entry.crc32);
        entry.crc32.reset();
    }
    auto loader = TrunkLoader::open(m_trunk.parent_path(), DirectFile::Access::Direct);
    QVERIFY(loader);
    std::vector<Pages> memory;
    for (const TrunkEntry& entry : m_entries) {
        memory.push_back(*Pages::allocate(Trunk::residentBytes(entry), "test"));
        loader->add(entry, memory.back().bytes());
    }
    QVERIFY(loader->run(goOn));
    std::vector<std::uint32_t> actual;
    for (const TrunkLoader::Tensor& tensor : loader->tensors())
        actual.push_back(tensor.crc32);
    QVERIFY(actual == expected);

    std::vector<std::uint64_t> told;
    const auto cancelled = load(DirectFile::Access::Direct, [&](std::uint64_t bytes) {
        told.push_back(bytes);
        return bytes > 0 ? Status(Error{ErrorCode::Cancelled, "", "enough"}) : Status();
    });
    QVERIFY(!cancelled);
    QCOMPARE(cancelled.error().code, ErrorCode::Cancelled);
    QVERIFY(told.size() >= 2); // and no more after that
}

void TestTrunkLoader::whatCameIsToldAndNeverMoreThanThereIs()
{
    std::vector<std::uint64_t> told;
    QVERIFY(load(DirectFile::Access::Direct, [&told](std::uint64_t bytes) {
        told.push_back(bytes);
        return Status();
    }));
    QCOMPARE(told.front(), std::uint64_t{0});
    QVERIFY(std::ranges::is_sorted(told));
    QVERIFY(told.back() > 0);
    QVERIFY(told.back() <= payloadBytes());
}

void TestTrunkLoader::whoeverIsToldCanEndIt()
{
    int calls = 0;
    const auto loaded = load(DirectFile::Access::Direct, [&calls](std::uint64_t) {
        return ++calls == 2 ? Status(Error{ErrorCode::Cancelled, "", "enough"}) : Status();
    });
    QVERIFY(!loaded);
    QCOMPARE(loaded.error().code, ErrorCode::Cancelled);
    QCOMPARE(calls, 2);
}

void TestTrunkLoader::aFileThatWasCutIsNamed()
{
    fs::resize_file(m_trunk, 3 * kBlock);
    for (const auto access : {DirectFile::Access::Direct, DirectFile::Access::Buffered}) {
        const auto loaded = load(access);
        QVERIFY(!loaded);
        QCOMPARE(loaded.error().reason, std::string(reason::kShortFile));
        QVERIFY2(loaded.error().message.find(kTrunkFile) != std::string::npos, loaded.error().message.c_str());
    }
}

void TestTrunkLoader::aFailingDriveIsNamed()
{
    if (!test::FailingDisk::isSupported())
        QSKIP("no failing disk on this system");
    const test::FailingDisk disk({.call = test::FailingDisk::Call::Read, .firstFailing = 3, .error = EIO});
    const auto loaded = load(DirectFile::Access::Direct);
    QVERIFY(!loaded);
    QCOMPARE(loaded.error().code, ErrorCode::Io);
    QVERIFY2(loaded.error().message.find(kTrunkFile) != std::string::npos, loaded.error().message.c_str());
}

QTEST_APPLESS_MAIN(TestTrunkLoader)
#include "tst_trunk_loader.moc"
