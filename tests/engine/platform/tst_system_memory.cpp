// Capacity of the machine, with made-up control groups of both versions.

#include "platform/cgroup.h"
#include "platform/pages.h"
#include "platform/system_memory.h"
#include "support/process_memory.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <cstring>

using namespace waste;

namespace {

using Files = QMap<QString, QByteArray>;

constexpr auto kSelf = "proc/self/cgroup";

} // namespace

Q_DECLARE_METATYPE(Files)

class TestSystemMemory : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theSmallestLimitOfAllLevelsCounts_data()
    {
        const QString v2 = "sys/fs/cgroup/";
        const QString v1 = "sys/fs/cgroup/memory/";
        QTest::addColumn<Files>("files");
        QTest::addColumn<qulonglong>("limit"); // 0: none
        QTest::newRow("nothing there") << Files{} << 0ULL;
        QTest::newRow("own group") << Files{{kSelf, "0::/a/b\n"}, {v2 + "a/b/memory.max", "1000000\n"}} << 1000000ULL;
        QTest::newRow("no limit") << Files{{kSelf, "0::/a\n"}, {v2 + "a/memory.max", "max\n"}} << 0ULL;
        QTest::newRow("a leaf's max does not cancel its parent")
            << Files{{kSelf, "0::/a/b\n"}, {v2 + "a/b/memory.max", "max\n"}, {v2 + "a/memory.max", "2000\n"}}
            << 2000ULL;
        QTest::newRow("private name space: the limit is in the root")
            << Files{{kSelf, "0::/\n"}, {v2 + "memory.max", "3000\n"}} << 3000ULL;
        QTest::newRow("host name space, leaf mounted as root")
            << Files{{kSelf, "0::/docker/0123\n"}, {v2 + "memory.max", "4000\n"}} << 4000ULL;
        QTest::newRow("high is a limit too")
            << Files{{kSelf, "0::/a\n"}, {v2 + "a/memory.max", "9000\n"}, {v2 + "a/memory.high", "5000\n"}} << 5000ULL;
        QTest::newRow("nonsense limits nothing") << Files{{kSelf, "0::/a\n"}, {v2 + "a/memory.max", "12x\n"},
            {v2 + "memory.max", "-5\n"}, {v2 + "memory.high", "99999999999999999999999\n"}}
                                                 << 0ULL;
        QTest::newRow("a path that climbs out is not followed") << Files{{kSelf, "0::/../../etc\n"},
            {v2 + "memory.max", "6000\n"}, {"sys/etc/memory.max", "1\n"}, {"etc/memory.max", "1\n"}}
                                                                << 6000ULL;
        QTest::newRow("no list of groups: the root alone") << Files{{v2 + "memory.max", "7000\n"}} << 7000ULL;
        QTest::newRow("version 1") << Files{{kSelf, "5:cpu,memory:/job\n2:cpuset:/\n"},
            {v1 + "job/memory.limit_in_bytes", "8000\n"}}
                                   << 8000ULL;
        QTest::newRow("version 1, parent smaller") << Files{{kSelf, "4:memory:/job/x\n"},
            {v1 + "job/x/memory.limit_in_bytes", "8000\n"}, {v1 + "job/memory.limit_in_bytes", "500\n"}}
                                                   << 500ULL;
        QTest::newRow("version 1, no limit")
            << Files{{kSelf, "4:memory:/job\n"}, {v1 + "job/memory.limit_in_bytes", "9223372036854771712\n"}} << 0ULL;
        QTest::newRow("a controller that only sounds like memory")
            << Files{{kSelf, "4:memory2:/job\n"}, {v1 + "job/memory.limit_in_bytes", "8000\n"}} << 0ULL;
        QTest::newRow("both versions mounted") << Files{{kSelf, "4:memory:/\n0::/s\n"},
            {v1 + "memory.limit_in_bytes", "9000\n"}, {v2 + "unified/s/memory.max", "8500\n"}}
                                               << 8500ULL;
        QTest::newRow("broken lines") << Files{{kSelf, "nothing\n:\n0\n0:\n"}, {v2 + "memory.max", "10\n"}} << 10ULL;
    }
    void theSmallestLimitOfAllLevelsCounts()
    {
        QFETCH(Files, files);
        QFETCH(qulonglong, limit);
        const QTemporaryDir root;
        for (auto file = files.cbegin(); file != files.cend(); ++file) {
            const QString path = root.filePath(file.key());
            QVERIFY(QDir().mkpath(QFileInfo(path).path()));
            QFile output(path);
            QVERIFY(output.open(QIODevice::WriteOnly));
            output.write(file.value());
        }
        const std::filesystem::path rootPath = root.path().toStdString();
        QCOMPARE(cgroupMemoryLimitBytes(rootPath).value_or(0), limit);
#ifndef Q_OS_WIN // which has jobs in place of control groups
        const std::uint64_t usable = usableMemoryBytes(rootPath);
        QCOMPARE(usable, limit != 0 ? limit : physicalMemoryBytes());
#endif
    }

    void waitingForMemoryIsPaging_data()
    {
        QTest::addColumn<QByteArray>("pressure");
        QTest::addColumn<bool>("pages");
        const QByteArray some = "some avg10=90.00 avg60=80.00 avg300=70.00 total=9\n";
        QTest::newRow("an old kernel") << QByteArray() << false;
        QTest::newRow("one program waits now and then") << some + "full avg10=50.00 avg60=1.99 avg300=9.00 total=9\n"
                                                        << false;
        QTest::newRow("everything stood still") << some + "full avg10=0.00 avg60=2.00 avg300=0.10 total=9\n" << true;
        QTest::newRow("nonsense") << QByteArray("full avg60=\nfull") << false;
    }

    void waitingForMemoryIsPaging()
    {
        QFETCH(const QByteArray, pressure);
        const QTemporaryDir root;
        QVERIFY(QDir(root.path()).mkpath("proc/pressure"));
        if (!pressure.isEmpty()) {
            QFile file(root.filePath("proc/pressure/memory"));
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(pressure);
        }
#ifdef Q_OS_LINUX
        QFETCH(const bool, pages);
        QCOMPARE(machinePages(root.path().toStdString()), pages);
#else
        QSKIP("this system tells it by a call");
#endif
    }

    void thisMachineHasMemory()
    {
        QVERIFY(physicalMemoryBytes() > (std::uint64_t{64} << 20));
        QVERIFY(usableMemoryBytes() > 0);
        QVERIFY(usableMemoryBytes() <= physicalMemoryBytes());
    }

    void touchedPagesAppearInThePeakAndStayThere()
    {
        constexpr std::size_t kBytes = std::size_t{64} << 20;
        const test::ProcessMemory before = test::processMemory();
        QVERIFY(before.residentBytes > 0);
        QVERIFY(before.residentPeakBytes >= before.residentBytes);
        {
            const auto pages = Pages::allocate(kBytes, "a test");
            QVERIFY(pages);
            std::memset(pages->bytes().data(), 1, kBytes);
            QVERIFY(test::processMemory().residentBytes >= before.residentBytes + kBytes * 9 / 10);
        }
        const test::ProcessMemory after = test::processMemory();
        QVERIFY(after.residentBytes < before.residentBytes + kBytes / 2);
        QVERIFY(after.residentPeakBytes >= before.residentBytes + kBytes * 9 / 10);
    }

    void pagesAreZeroedAlignedAndCostNothingUntilTouched()
    {
        const test::ProcessMemory before = test::processMemory();
        for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{20480}, std::uint64_t{256} << 20}) {
            const auto pages = Pages::allocate(bytes, "a test");
            QVERIFY(pages);
            QCOMPARE(pages->bytes().size(), bytes);
            QCOMPARE(reinterpret_cast<std::uintptr_t>(pages->bytes().data()) % 16384, std::uintptr_t{0});
            QCOMPARE(pages->bytes().front(), std::byte{0});
            QCOMPARE(pages->bytes().back(), std::byte{0});
        }
        QVERIFY(test::processMemory().residentPeakBytes < before.residentPeakBytes + (std::uint64_t{32} << 20));
        QVERIFY(Pages::allocate(0, "a test"));
    }

    void moreThanTheSystemHasIsAnErrorWithItsPurpose()
    {
        for (const std::uint64_t bytes : {std::uint64_t{1} << 60, UINT64_MAX}) {
            const auto pages = Pages::allocate(bytes, "the expert cache");
            QVERIFY(!pages);
            QCOMPARE(pages.error().code, ErrorCode::OutOfMemory);
            QVERIFY(pages.error().message.find("the expert cache") != std::string::npos);
        }
    }
};

QTEST_APPLESS_MAIN(TestSystemMemory)
#include "tst_system_memory.moc"
