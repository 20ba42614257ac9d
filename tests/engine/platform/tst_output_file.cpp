// Files being written: what is on the disk after success, and after every single call failed once.

#include "platform/atomic_file.h"
#include "platform/file_lock.h"
#include "platform/output_file.h"
#include "platform/small_file.h"
#include "support/failing_disk.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <cerrno>
#include <vector>

using namespace waste;
using test::FailingDisk;

class TestOutputFile : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_directory;

    std::filesystem::path path(const char* name) const { return m_directory->filePath(name).toStdString(); }
    static QByteArray contentOf(const std::filesystem::path& path)
    {
        QFile file(QString::fromStdString(path.string()));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("(no file)");
    }
    QStringList names() const { return QDir(m_directory->path()).entryList(QDir::Files, QDir::Name); }

private Q_SLOTS:
    void init() { m_directory = std::make_unique<QTemporaryDir>(); }

    void appendingGrowsAndWritingAtAPositionOverwrites()
    {
        auto file = OutputFile::open(path("file"), OutputFile::Mode::Replace);
        QVERIFY(file);
        QVERIFY(file->append("abcdef"));
        QVERIFY(file->append("ghi"));
        QVERIFY(file->writeAt(2, std::as_bytes(std::span("XY", 2))));
        QCOMPARE(file->sizeBytes(), 9U);
        QVERIFY(file->resize(7));
        QVERIFY(file->append("!"));
        QVERIFY(file->flush());
        QVERIFY(file->close());
        QCOMPARE(contentOf(path("file")), QByteArray("abXYefg!"));
    }

    void eachModeTreatsAnExistingFileInItsOwnWay()
    {
        QVERIFY(writeFileAtomically(path("file"), "old"));
        QVERIFY(!OutputFile::open(path("file"), OutputFile::Mode::CreateNew));
        {
            auto file = OutputFile::open(path("file"), OutputFile::Mode::Update);
            QVERIFY(file);
            QCOMPARE(file->sizeBytes(), 3U);
            QVERIFY(file->append("+new"));
        }
        QCOMPARE(contentOf(path("file")), QByteArray("old+new"));
        QVERIFY(OutputFile::open(path("file"), OutputFile::Mode::Replace));
        QCOMPARE(contentOf(path("file")), QByteArray());
    }

    void shortWritesAreContinued()
    {
        if (!FailingDisk::isSupported())
            QSKIP("the disk cannot be made to fail here");
        auto file = OutputFile::open(path("file"), OutputFile::Mode::Replace);
        QVERIFY(file);
        const FailingDisk disk({.call = FailingDisk::Call::Write, .transferBytesMax = 3});
        QVERIFY(file->append("0123456789"));
        QCOMPARE(disk.callCount(), 4U);
        QCOMPARE(contentOf(path("file")), QByteArray("0123456789"));
    }

    void aFullDiskIsNoSpaceAndNamesTheFile()
    {
        if (!FailingDisk::isSupported())
            QSKIP("the disk cannot be made to fail here");
        auto file = OutputFile::open(path("bank"), OutputFile::Mode::Replace);
        QVERIFY(file);
        QVERIFY(file->append("1234"));
        std::vector<int> errors = {ENOSPC};
#ifdef EDQUOT
        errors.push_back(EDQUOT);
#endif
        for (const int error : errors) {
            const FailingDisk disk({.call = FailingDisk::Call::Write, .error = error});
            const Status status = file->append("5678");
            QVERIFY(!status);
            QCOMPARE(status.error().code, ErrorCode::NoSpace);
            QVERIFY(status.error().message.find("bank at offset 4") != std::string::npos);
        }
        const FailingDisk disk({.call = FailingDisk::Call::Flush, .error = EIO});
        const Status status = file->flush();
        QVERIFY(!status);
        QCOMPARE(status.error().code, ErrorCode::Io);
    }

    void aMissingFolderIsNotFound()
    {
        const auto file = OutputFile::open(path("no/such/folder/file"), OutputFile::Mode::Replace);
        QVERIFY(!file);
        QCOMPARE(file.error().code, ErrorCode::NotFound);
    }

    void replacingIsAllOrNothing_data()
    {
        QTest::addColumn<int>("call");
        QTest::addColumn<int>("number");
        QTest::addColumn<QByteArray>("content");
        QTest::newRow("write") << int(FailingDisk::Call::Write) << 1 << QByteArray("old");
        QTest::newRow("flush") << int(FailingDisk::Call::Flush) << 1 << QByteArray("old");
        QTest::newRow("rename") << int(FailingDisk::Call::Rename) << 1 << QByteArray("old");
        // The name is in place by then, only its durability is unknown: an error, and no going back.
        QTest::newRow("flush of the folder") << int(FailingDisk::Call::Flush) << 2 << QByteArray("new");
    }
    void replacingIsAllOrNothing()
    {
        if (!FailingDisk::isSupported())
            QSKIP("the disk cannot be made to fail here");
        QFETCH(int, call);
        QFETCH(int, number);
        QFETCH(QByteArray, content);
        QVERIFY(writeFileAtomically(path("settings"), "old"));
        {
            const FailingDisk disk({.call = static_cast<FailingDisk::Call>(call),
                .firstFailing = static_cast<std::uint32_t>(number),
                .failingCount = 1,
                .error = EIO});
            QVERIFY(!writeFileAtomically(path("settings"), "new"));
        }
        QCOMPARE(contentOf(path("settings")), content);
        QCOMPARE(names(), QStringList{"settings"});
        QVERIFY(writeFileAtomically(path("settings"), "newer"));
        QCOMPARE(contentOf(path("settings")), QByteArray("newer"));
    }

    void anAbandonedReplacementLeavesNothing()
    {
        QVERIFY(writeFileAtomically(path("settings"), "old"));
        {
            auto file = AtomicFile::create(path("settings"));
            QVERIFY(file);
            QVERIFY(file->content().append("half"));
            const AtomicFile moved = std::move(*file);
            QCOMPARE(names().size(), 2);
        }
        QCOMPARE(names(), QStringList{"settings"});
        QCOMPARE(contentOf(path("settings")), QByteArray("old"));
    }

    void twoReplacementsAtOnceDoNotMix()
    {
        auto first = AtomicFile::create(path("settings"));
        auto second = AtomicFile::create(path("settings"));
        QVERIFY(first && second);
        QVERIFY(first->content().append("first"));
        QVERIFY(second->content().append("second"));
        QVERIFY(first->commit());
        QCOMPARE(contentOf(path("settings")), QByteArray("first"));
        QVERIFY(second->commit());
        QCOMPARE(contentOf(path("settings")), QByteArray("second"));
        QCOMPARE(names(), QStringList{"settings"});
    }

    void aLockIsBusyForOthersUntilItsHolderEnds()
    {
        {
            const auto held = FileLock::acquire(path("lock"));
            QVERIFY(held);
            const auto second = FileLock::acquire(path("lock"));
            QVERIFY(!second);
            QCOMPARE(second.error().code, ErrorCode::Busy);
            QCOMPARE(second.error().reason, std::string("busy"));
        }
        QVERIFY(FileLock::acquire(path("lock")));
        QCOMPARE(names(), QStringList{"lock"});
    }

    void smallFilesAreReadWholeAndLargeOnesRefused()
    {
        QVERIFY(writeFileAtomically(path("text"), std::string_view("a\0b\n", 4)));
        const auto text = readSmallFile(path("text"), 4);
        QVERIFY(text);
        QCOMPARE(*text, std::string("a\0b\n", 4));
        const auto large = readSmallFile(path("text"), 3);
        QVERIFY(!large);
        QCOMPARE(large.error().code, ErrorCode::Corrupt);
        QCOMPARE(large.error().reason, std::string("too_large"));
        const auto missing = readSmallFile(path("none"), 3);
        QVERIFY(!missing);
        QCOMPARE(missing.error().code, ErrorCode::NotFound);
    }
};

QTEST_APPLESS_MAIN(TestOutputFile)
#include "tst_output_file.moc"
