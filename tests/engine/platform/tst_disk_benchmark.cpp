// The disk benchmark reads what it should and leaves nothing behind. What it measures is not looked at.

#include "support/failing_disk.h"
#include "support/few_threads.h"
#include "support/small_drive.h"

#include "waste/disk_benchmark.h"
#include "waste/files.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <cerrno>

using namespace waste;
using test::FailingDisk;

namespace {

DiskBenchmarkOptions quickOptions(const QString& path)
{
    DiskBenchmarkOptions options;
    options.path = path.toStdString();
    options.recordBytes = 65536;
    options.timePerRun = std::chrono::milliseconds(10);
    options.testFileBytes = std::uint64_t{8} << 20;
    return options;
}

// Without content: a hole reads like anything else.
bool makeHole(const QString& path, qint64 bytes)
{
    QFile file(path);
    return file.open(QIODevice::WriteOnly) && file.resize(bytes);
}

} // namespace

class TestDiskBenchmark : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        QVERIFY(m_folder->isValid());
    }

    void anEmptyFolderGetsATestFileForAWhile()
    {
        const auto report = measureDisk(quickOptions(m_folder->path()));
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        QVERIFY(report->wroteTestFile);
        QCOMPARE(report->fileBytes, std::uint64_t{8} << 20);
        QVERIFY(QDir(m_folder->path()).isEmpty());
    }

    void largeFilesOfAFolderAreReadAndSmallOnesPassedOver()
    {
        constexpr qint64 kLarge = qint64{300} << 20;
        QVERIFY(makeHole(m_folder->filePath("one"), kLarge));
        QVERIFY(makeHole(m_folder->filePath("two"), kLarge));
        QVERIFY(makeHole(m_folder->filePath("small"), 1 << 20));
        const auto report = measureDisk(quickOptions(m_folder->path()));
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        QVERIFY(!report->wroteTestFile);
        QCOMPARE(report->fileBytes, std::uint64_t{2 * kLarge});
        QCOMPARE(QDir(m_folder->path()).entryList(QDir::Files).size(), 3);
    }

    void aSystemThatIsOutOfThreadsIsSaidSo()
    {
        DiskBenchmarkOptions options = quickOptions(m_folder->path());
        options.recordBytes = 4096;
        options.depths = {test::FewThreads::neverStarted()};
        if (options.depths[0] > 64)
            QSKIP("stacks are so small here that as many reads as may be asked for have their threads");
        const test::FewThreads few;
        if (!few.isLimited())
            QSKIP("this system does not tell how much address space is taken");
        const auto report = measureDisk(options);
        QVERIFY(!report);
        QCOMPARE(report.error().reason, std::string("threads"));
        QVERIFY(QDir(m_folder->path()).isEmpty());
    }

    void theTestFileOfAnotherRunIsNeitherMeasuredNorRemoved()
    {
        const QString other = m_folder->filePath("waste-diskbench-1.tmp");
        QVERIFY(makeHole(other, qint64{600} << 20));
        const auto held = HeldLock::acquire((other + ".lock").toStdString());
        QVERIFY(held);
        const auto report = measureDisk(quickOptions(m_folder->path()));
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        QVERIFY(report->wroteTestFile);
        QVERIFY(QFile::exists(other));
    }

    // As SIGKILL leaves them. The number is that of a program that lives, which is another one.
    void whatARunThatWasKilledLeftIsRemoved()
    {
        const QString left = m_folder->filePath(QString("waste-diskbench-%1.tmp").arg(processId()));
        QVERIFY(makeHole(left, qint64{600} << 20));
        QVERIFY(makeHole(left + ".lock", 0));
        QVERIFY(makeHole(m_folder->filePath("waste-diskbench-1.tmp"), 1 << 20));
        const QStringList others = {"waste-diskbench-.tmp", "waste-diskbench-1.tmp.old", "waste-diskbench-x1.tmp"};
        for (const QString& name : others)
            QVERIFY(makeHole(m_folder->filePath(name), 1));
        QVERIFY(measureDisk(quickOptions(m_folder->path())));
        QCOMPARE(QDir(m_folder->path()).entryList(QDir::Files, QDir::Name), others);
    }

    void aTestFileThatHoldsNoReadIsNotWritten()
    {
        DiskBenchmarkOptions options = quickOptions(m_folder->path());
        options.testFileBytes = options.recordBytes - 1;
        const auto report = measureDisk(options);
        QVERIFY(!report);
        QCOMPARE(report.error().code, ErrorCode::InvalidArgument);
        QVERIFY2(report.error().message.find("65535") != std::string::npos, report.error().message.c_str());
    }

    void everyDepthIsMeasuredInItsOrder()
    {
        QVERIFY(makeHole(m_folder->filePath("file"), 4 << 20));
        DiskBenchmarkOptions options = quickOptions(m_folder->filePath("file"));
        options.depths = {3, 1};
        QList<std::uint64_t> steps;
        const auto report = measureDisk(options, [&steps](const Progress& progress) { steps << progress.done; });
        QVERIFY(report);
        QCOMPARE(report->random.size(), std::size_t{2});
        QCOMPARE(report->random[0].depth, 3U);
        QCOMPARE(report->random[1].depth, 1U);
        QCOMPARE(steps, QList<std::uint64_t>({0, 1, 2, 3}));
        QVERIFY(report->sequentialBytesPerSecond > 0);
        double best = 0;
        for (const auto& run : report->random) {
            QVERIFY(run.bytesPerSecond > 0);
            QVERIFY(run.latencyMedianMs <= run.latencyP95Ms);
            best = std::max(best, run.bytesPerSecond);
        }
        QCOMPARE(report->bestRandomBytesPerSecond(), best);
    }

    // By pieces of 4 MiB also where the random reads are larger. A slow machine is given more time.
    void theSequentialPassReadsTheWholeFile()
    {
        if (!FailingDisk::isSupported())
            QSKIP("reads cannot be observed here");
        constexpr std::uint64_t kPiece = 4 << 20;
        QVERIFY(makeHole(m_folder->filePath("file"), 5 * kPiece + 4096));
        DiskBenchmarkOptions options = quickOptions(m_folder->filePath("file"));
        options.recordBytes = 2 * kPiece;
        options.depths = {};
        const std::set<std::uint64_t> all = {0, kPiece, 2 * kPiece, 3 * kPiece, 4 * kPiece};
        std::set<std::uint64_t> offsets;
        for (; offsets.size() < all.size() && options.timePerRun < std::chrono::minutes(1); options.timePerRun *= 2) {
            const FailingDisk disk({});
            QVERIFY(measureDisk(options));
            offsets = disk.readsOf(options.path).offsets;
        }
        QVERIFY(offsets == all);
    }

    void cancellingEndsItAndRemovesTheTestFile()
    {
        CancelFlag cancel;
        cancel.cancel();
        const auto report = measureDisk(quickOptions(m_folder->path()), {}, &cancel);
        QVERIFY(!report);
        QCOMPARE(report.error().code, ErrorCode::Cancelled);
        QVERIFY(QDir(m_folder->path()).isEmpty());
    }

    void aTestFileNeverFillsTheDisk()
    {
        DiskBenchmarkOptions options = quickOptions(m_folder->path());
        options.testFileBytes = std::uint64_t{1} << 60;
        const auto report = measureDisk(options);
        QVERIFY(!report);
        QCOMPARE(report.error().code, ErrorCode::NoSpace);
        QVERIFY2(report.error().message.ends_with("; name a folder with large files instead"),
            report.error().message.c_str());
        QVERIFY(QDir(m_folder->path()).isEmpty());
    }

    void aGibibyteStaysFreeBesideTheTestFile()
    {
        if (!test::SmallDrive::isSupported())
            QSKIP("drives have what they have here");
        const DiskBenchmarkOptions options = quickOptions(m_folder->path());
        test::SmallDrive drive((std::uint64_t{1} << 30) + options.testFileBytes - 1);
        const auto tooSmall = measureDisk(options);
        QVERIFY(!tooSmall);
        QCOMPARE(tooSmall.error().code, ErrorCode::NoSpace);
        QVERIFY2(tooSmall.error().message.find("a test file of 8 MiB does not fit (1031 MiB are free, and 1024 of them")
                != std::string::npos,
            tooSmall.error().message.c_str());
        drive.setFreeBytes((std::uint64_t{1} << 30) + options.testFileBytes);
        QVERIFY(measureDisk(options));
    }

    void aDriveThatFillsMeanwhileIsToldAndLeftAsItWas()
    {
        if (!FailingDisk::isSupported())
            QSKIP("the disk cannot be made to fail here");
        const FailingDisk disk({.call = FailingDisk::Call::Write, .firstFailing = 2, .error = ENOSPC});
        const auto report = measureDisk(quickOptions(m_folder->path()));
        QVERIFY(!report);
        QCOMPARE(report.error().code, ErrorCode::NoSpace);
        QVERIFY2(report.error().message.ends_with("; free some space there, or choose another drive"),
            report.error().message.c_str());
        QVERIFY(QDir(m_folder->path()).isEmpty());
    }

    void aFileThatIsTooSmallIsToldWithWhatWouldDo()
    {
        QVERIFY(makeHole(m_folder->filePath("file"), 65535));
        const auto report = measureDisk(quickOptions(m_folder->filePath("file")));
        QVERIFY(!report);
        QVERIFY2(report.error().message.ends_with(
                     "file is too small to measure a disk with; name a file of hundreds of MiB"),
            report.error().message.c_str());
    }

    void whatCannotBeMeasuredIsRefused()
    {
        QVERIFY(makeHole(m_folder->filePath("file"), 65536));
        const auto codeOf = [](const DiskBenchmarkOptions& options) {
            const auto report = measureDisk(options);
            return report ? ErrorCode::Internal : report.error().code;
        };
        DiskBenchmarkOptions options = quickOptions(m_folder->filePath("file"));
        QCOMPARE(codeOf(quickOptions(m_folder->filePath("nothing"))), ErrorCode::NotFound);
        for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1000}, std::uint64_t{1} << 40}) {
            options.recordBytes = bytes;
            QCOMPARE(codeOf(options), ErrorCode::InvalidArgument);
        }
        options.recordBytes = 131072; // more than the file holds
        QCOMPARE(codeOf(options), ErrorCode::InvalidArgument);
        options.recordBytes = 65536;
        for (const std::uint32_t depth : {0U, 65U}) {
            options.depths = {depth};
            QCOMPARE(codeOf(options), ErrorCode::InvalidArgument);
        }
    }

private:
    std::unique_ptr<QTemporaryDir> m_folder;
};

QTEST_APPLESS_MAIN(TestDiskBenchmark)
#include "tst_disk_benchmark.moc"
