// What a file's error tells a person: the file, the place, the system's words and what to do. The errors are those
// of real calls: made to fail by a limit of the process, or by the failing disk.

#include "support/failing_disk.h"

#include "platform/direct_file.h"
#include "platform/output_file.h"

#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include <cerrno>
#include <string>
#include <vector>

#if !defined(_WIN32)
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

using namespace waste;
using test::FailingDisk;

class TestFileError : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    std::filesystem::path makeFile() const
    {
        const std::filesystem::path path = m_folder.filePath("weights").toStdString();
        auto file = OutputFile::open(path, OutputFile::Mode::Replace);
        if (!file || !file->append(std::as_bytes(std::span("plausible"))))
            qFatal("cannot write the test's own file");
        return path;
    }

private Q_SLOTS:
    void eachCauseHasItsRemedy_data()
    {
        QTest::addColumn<int>("cause");
        QTest::addColumn<QString>("remedy");
        QTest::addColumn<int>("code");
        const auto row = [](const char* name, int cause, const char* remedy, ErrorCode code = ErrorCode::Io) {
            QTest::newRow(name) << cause << QString(remedy) << static_cast<int>(code);
        };
        row("a failing drive", EIO, "copy what matters to another drive");
        row("too many files here", EMFILE, "raise the limit on open files (`ulimit -n`)");
        row("too many files everywhere", ENFILE, "close other programs");
        row("a file of others", EACCES, "its owner can permit it, or choose another place");
        row("what only root may", EPERM, "its owner can permit it, or choose another place");
        row("a drive for reading", EROFS, "choose another place, or make the drive writable");
        row("a drive that went away", ENODEV, "connect the drive again");
        row("a drive that does not answer", ENXIO, "connect the drive again");
        row("too large", EFBIG, "or choose a drive that takes larger files");
        row("a full drive", ENOSPC, "free some space there, or choose another drive", ErrorCode::NoSpace);
#if defined(EDQUOT)
        row("a full quota", EDQUOT, "free some space there, or choose another drive", ErrorCode::NoSpace);
#endif
    }
    void eachCauseHasItsRemedy()
    {
        if (!FailingDisk::isSupported())
            QSKIP("the disk cannot be made to fail here");
        QFETCH(const int, cause);
        QFETCH(const QString, remedy);
        QFETCH(const int, code);
        const std::filesystem::path path = makeFile();
        const FailingDisk disk({.call = FailingDisk::Call::Open, .error = cause});
        const auto file = DirectFile::open(path, DirectFile::Access::Buffered);
        QVERIFY(!file);
        const QString message = QString::fromStdString(file.error().message);
        QVERIFY2(
            message.startsWith("cannot open " + QString::fromStdString(path.string()) + ": "), qPrintable(message));
        QVERIFY2(message.endsWith(" " + remedy), qPrintable(message));
        QCOMPARE(static_cast<int>(file.error().code), code);
    }

    void aFailedReadNamesItsPlaceToo()
    {
        if (!FailingDisk::isSupported())
            QSKIP("the disk cannot be made to fail here");
        const auto file = DirectFile::open(makeFile(), DirectFile::Access::Buffered);
        QVERIFY(file);
        std::vector<std::byte> bytes(4);
        const FailingDisk disk({.error = EIO});
        const Status status = file->readExactly(3, bytes);
        QVERIFY(!status);
        QVERIFY2(QString::fromStdString(status.error().message)
                     .contains(QRegularExpression(
                         "^cannot read .*/weights at offset 3: .*; the drive or its connection may be failing; copy ")),
            status.error().message.c_str());
    }

    void aProcessAtItsLimitOfFilesIsToldSo()
    {
#if defined(_WIN32)
        QSKIP("there is no such limit on Windows");
#else
        const std::filesystem::path path = makeFile();
        rlimit limit{};
        QCOMPARE(getrlimit(RLIMIT_NOFILE, &limit), 0);
        const int next = open("/dev/null", O_RDONLY); // the lowest free number
        QVERIFY(next >= 0);
        close(next);
        rlimit low = limit;
        low.rlim_cur = static_cast<rlim_t>(next);
        QCOMPARE(setrlimit(RLIMIT_NOFILE, &low), 0);
        const auto file = DirectFile::open(path, DirectFile::Access::Direct);
        QCOMPARE(setrlimit(RLIMIT_NOFILE, &limit), 0);
        QVERIFY(!file);
        QCOMPARE(file.error().code, ErrorCode::Io);
        QVERIFY2(file.error().message.ends_with("; raise the limit on open files (`ulimit -n`)"),
            file.error().message.c_str());
#endif
    }
};

QTEST_APPLESS_MAIN(TestFileError)
#include "tst_file_error.moc"
