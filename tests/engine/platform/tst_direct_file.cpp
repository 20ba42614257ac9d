// Reads at positions, with the disk behaving well, slowly, and badly.

#include "platform/direct_file.h"
#include "support/failing_disk.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

using namespace waste;
using test::FailingDisk;
using Access = DirectFile::Access;

namespace {

// Memory that an uncached read can go to.
class AlignedBuffer {
public:
    explicit AlignedBuffer(std::size_t bytes)
        : m_memory(bytes + kDirectIoAlignment)
    {
        void* start = m_memory.data();
        std::size_t space = m_memory.size();
        m_bytes = {static_cast<std::byte*>(std::align(kDirectIoAlignment, bytes, start, space)), bytes};
    }
    std::span<std::byte> bytes() const { return m_bytes; }

private:
    std::vector<std::byte> m_memory;
    std::span<std::byte> m_bytes;
};

std::byte contentAt(std::size_t offset)
{
    return static_cast<std::byte>((offset * 2654435761U) >> 13);
}

bool isContent(std::span<const std::byte> bytes, std::size_t offset)
{
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] != contentAt(offset + i))
            return false;
    }
    return true;
}

} // namespace

class TestDirectFile : public QObject {
    Q_OBJECT

    QTemporaryDir m_directory;

    std::filesystem::path makeFile(std::size_t bytes)
    {
        const QString name = m_directory.filePath(QString("content-%1").arg(bytes));
        QByteArray content(static_cast<qsizetype>(bytes), '\0');
        for (std::size_t i = 0; i < bytes; ++i)
            content[static_cast<qsizetype>(i)] = static_cast<char>(contentAt(i));
        QFile file(name);
        if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size())
            qFatal("cannot write the test's own file");
        return name.toStdString();
    }

private Q_SLOTS:
    void aWholeRecordIsOneRead_data()
    {
        QTest::addColumn<bool>("direct");
        QTest::newRow("direct") << true;
        QTest::newRow("buffered") << false;
    }
    void aWholeRecordIsOneRead()
    {
        QFETCH(bool, direct);
        const auto file = DirectFile::open(makeFile(64 * 4096), direct ? Access::Direct : Access::Buffered);
        QVERIFY(file);
        if (direct && !file->isDirect())
            QSKIP("this file system allows no uncached reads");
        QCOMPARE(file->isDirect(), direct);
        QCOMPARE(file->sizeBytes(), 64U * 4096);
        QCOMPARE(file->readCount(), 0U);
        const AlignedBuffer buffer(5 * 4096);
        QVERIFY(file->readExactly(7 * 4096, buffer.bytes()));
        QVERIFY(isContent(buffer.bytes(), 7 * 4096));
        QCOMPARE(file->readCount(), 1U);
    }

    void aBufferedFileTakesAnyPosition()
    {
        const auto file = DirectFile::open(makeFile(10007), Access::Buffered);
        QVERIFY(file);
        std::vector<std::byte> buffer(113);
        QVERIFY(file->readExactly(9893, buffer));
        QVERIFY(isContent(buffer, 9893));
    }

    void theEndOfTheFileIsNoErrorWhereItIsExpected()
    {
        const auto file = DirectFile::open(makeFile(10007), Access::Direct);
        QVERIFY(file);
        const AlignedBuffer buffer(4 * 4096);
        const auto count = file->readUpTo(4096, buffer.bytes());
        QVERIFY(count);
        QCOMPARE(*count, std::size_t{10007 - 4096});
        QVERIFY(isContent(buffer.bytes().first(*count), 4096));
        const auto behind = file->readUpTo(16384, buffer.bytes());
        QVERIFY(behind);
        QCOMPARE(*behind, std::size_t{0});
    }

    void aFileThatIsTooShortIsNamedWithItsEnd()
    {
        const auto file = DirectFile::open(makeFile(10007), Access::Direct);
        QVERIFY(file);
        const AlignedBuffer buffer(8192);
        const Status status = file->readExactly(4096, buffer.bytes());
        QVERIFY(!status);
        QCOMPARE(status.error().code, ErrorCode::Corrupt);
        QCOMPARE(status.error().reason, std::string("short_file"));
        QVERIFY(status.error().message.find("content-10007 ends at 10007") != std::string::npos);
        QVERIFY(status.error().message.find("8192 bytes are needed at offset 4096") != std::string::npos);
    }

    void aFileCutWhileItIsOpenIsDamaged()
    {
        const std::filesystem::path path = makeFile(20 * 4096);
        const auto file = DirectFile::open(path, Access::Direct);
        QVERIFY(file);
        std::filesystem::resize_file(path, 5000);
        const AlignedBuffer buffer(8 * 4096);
        for (const std::uint64_t offset : {0, 8192}) {
            const Status status = file->readExactly(offset, buffer.bytes());
            QVERIFY(!status);
            QCOMPARE(status.error().code, ErrorCode::Corrupt);
            QCOMPARE(status.error().reason, std::string("short_file"));
            QVERIFY2(
                status.error().message.find(" ends at 5000,") != std::string::npos, status.error().message.c_str());
        }
    }

    void missingFilesAndFoldersAreRefused()
    {
        const auto missing = DirectFile::open(m_directory.filePath("nothing").toStdString(), Access::Direct);
        QVERIFY(!missing);
        QCOMPARE(missing.error().code, ErrorCode::NotFound);
        QVERIFY(missing.error().message.find("nothing") != std::string::npos);
        for (const Access access : {Access::Direct, Access::Buffered}) {
            const auto folder = DirectFile::open(m_directory.path().toStdString(), access);
            QVERIFY(!folder);
            QCOMPARE(folder.error().code, ErrorCode::Io);
        }
    }

    void anEmptyFileIsReadAsNothing()
    {
        const auto file = DirectFile::open(makeFile(0), Access::Direct);
        QVERIFY(file);
        const AlignedBuffer buffer(4096);
        const auto count = file->readUpTo(0, buffer.bytes());
        QVERIFY(count);
        QCOMPARE(*count, std::size_t{0});
        QVERIFY(file->readExactly(0, {}));
    }

    void shortTransfersAreContinued_data()
    {
        QTest::addColumn<bool>("direct");
        QTest::addColumn<int>("transfer");
        // A direct transfer that was torn inside a block is repeated from the block's start.
        for (const int transfer : {4096, 12288, 4097, 9000}) {
            QTest::addRow("direct %d", transfer) << true << transfer;
            QTest::addRow("buffered %d", transfer) << false << transfer;
        }
        QTest::addRow("buffered 1") << false << 1;
    }
    void shortTransfersAreContinued()
    {
        if (!FailingDisk::isSupported())
            QSKIP("the disk cannot be made to fail here");
        QFETCH(bool, direct);
        QFETCH(int, transfer);
        const auto file = DirectFile::open(makeFile(16 * 4096), direct ? Access::Direct : Access::Buffered);
        QVERIFY(file);
        const AlignedBuffer buffer(8 * 4096);
        const FailingDisk disk({.transferBytesMax = static_cast<std::size_t>(transfer)});
        const Status status = file->readExactly(4096, buffer.bytes());
        QVERIFY2(status, status ? "" : status.error().message.c_str());
        QVERIFY(isContent(buffer.bytes(), 4096));
        QVERIFY(disk.callCount() > 1);
    }

    void oneFailedTransferIsTriedAgainAndTwoAreDamage()
    {
        if (!FailingDisk::isSupported())
            QSKIP("the disk cannot be made to fail here");
        const auto file = DirectFile::open(makeFile(8 * 4096), Access::Direct);
        QVERIFY(file);
        const AlignedBuffer buffer(4096);
        {
            const FailingDisk disk({.failingCount = 1, .error = EIO});
            QVERIFY(file->readExactly(8192, buffer.bytes()));
            QVERIFY(isContent(buffer.bytes(), 8192));
            QCOMPARE(disk.callCount(), 2U);
        }
        {
            const FailingDisk disk({.failingCount = 2, .error = EIO});
            const Status status = file->readExactly(8192, buffer.bytes());
            QVERIFY(!status);
            QCOMPARE(status.error().code, ErrorCode::Io);
            QVERIFY(status.error().message.find("content-32768 at offset 8192") != std::string::npos);
            QCOMPARE(disk.callCount(), 2U);
        }
        QVERIFY(file->readExactly(8192, buffer.bytes()));
    }

    void interruptedReadsGoOn()
    {
        if (!FailingDisk::isSupported())
            QSKIP("the disk cannot be made to fail here");
        const auto file = DirectFile::open(makeFile(8 * 4096), Access::Buffered);
        QVERIFY(file);
        const AlignedBuffer buffer(4096);
        const FailingDisk disk({.failingCount = 5, .error = EINTR});
        QVERIFY(file->readExactly(0, buffer.bytes()));
        QVERIFY(isContent(buffer.bytes(), 0));
        QCOMPARE(disk.callCount(), 6U);
    }

    // Some file systems take the flag and refuse the transfer; the first read of open() finds out.
    void aRefusedUncachedReadFallsBack()
    {
        if (!FailingDisk::isSupported())
            QSKIP("the disk cannot be made to fail here");
        const std::filesystem::path path = makeFile(8 * 4096);
        const FailingDisk disk({.failingCount = 1, .error = EINVAL});
        const auto file = DirectFile::open(path, Access::Direct);
        QVERIFY(file);
        QVERIFY(!file->isDirect());
        std::vector<std::byte> buffer(100);
        QVERIFY(file->readExactly(3, buffer));
        QVERIFY(isContent(buffer, 3));
    }

    void threadsShareOneFile()
    {
        const auto file = DirectFile::open(makeFile(64 * 4096), Access::Direct);
        QVERIFY(file);
        std::atomic<int> wrong = 0;
        std::vector<std::thread> threads;
        for (std::size_t thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&, thread] {
                const AlignedBuffer buffer(2 * 4096);
                for (std::size_t i = 0; i < 100; ++i) {
                    const std::size_t offset = (thread * 17 + i * 5) % 62 * 4096;
                    if (!file->readExactly(offset, buffer.bytes()) || !isContent(buffer.bytes(), offset))
                        ++wrong;
                }
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        QCOMPARE(wrong.load(), 0);
        QCOMPARE(file->readCount(), 400U);
    }
};

QTEST_APPLESS_MAIN(TestDirectFile)
#include "tst_direct_file.moc"
