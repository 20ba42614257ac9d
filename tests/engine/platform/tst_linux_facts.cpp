// What Linux says of drives, huge pages and control groups, read from made-up /proc and /sys trees.

#include "platform/cgroup.h"
#include "platform/linux_facts.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

using namespace waste;

namespace {

using Files = QMap<QString, QByteArray>;

void writeFiles(const QString& folder, const Files& files)
{
    for (auto file = files.begin(); file != files.end(); ++file) {
        const QString path = folder + '/' + file.key();
        QVERIFY(QDir().mkpath(QFileInfo(path).path()));
        QFile target(path);
        QVERIFY(target.open(QIODevice::WriteOnly));
        target.write(file.value());
    }
}

const QByteArray kMountInfo = "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
                              "27 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
                              "30 27 8:17 / /models rw - xfs /dev/sdb1 rw\n"
                              "31 27 0:40 / /models/far\\040away rw - nfs4 server:/export rw\n"
                              "32 27 0:45 / /data rw - btrfs /dev/mapper/crypt rw\n"
                              "a line that says nothing\n";

} // namespace

class TestLinuxFacts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        QVERIFY(m_folder->isValid());
    }

    void aFileLiesOnTheDeepestMountAboveIt_data()
    {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("source");
        QTest::newRow("root") << "/home/x"
                              << "/dev/nvme0n1p2";
        QTest::newRow("mount") << "/models/k3.waste"
                               << "/dev/sdb1";
        QTest::newRow("mount point itself") << "/models"
                                            << "/dev/sdb1";
        QTest::newRow("same beginning, another name") << "/models2/x"
                                                      << "/dev/nvme0n1p2";
        QTest::newRow("blank in the name") << "/models/far away/x"
                                           << "server:/export";
    }
    void aFileLiesOnTheDeepestMountAboveIt()
    {
        QFETCH(QString, path);
        QFETCH(QString, source);
        writeFiles(m_folder->path(), {{"proc/self/mountinfo", kMountInfo}});
        const auto mount = mountOf(path.toStdString(), root());
        QVERIFY(mount);
        QCOMPARE(QString::fromStdString(mount->source), source);
    }

    void withoutATableNothingIsMounted() { QVERIFY(!mountOf("/home", root())); }

    void kindsOfDevicesAreToldApart_data()
    {
        QTest::addColumn<QString>("device"); // below sys/devices
        QTest::addColumn<Files>("files");
        QTest::addColumn<int>("kind");
        using Kind = DriveFacts::Kind;
        QTest::newRow("NVMe") << "pci/nvme/nvme0n1" << Files{} << int(Kind::Nvme);
        QTest::newRow("partition of an NVMe drive") << "pci/nvme0n1/nvme0n1p2" << Files{} << int(Kind::Nvme);
        QTest::newRow("SATA") << "ata/sda" << Files{{"queue/rotational", "0\n"}} << int(Kind::SolidState);
        QTest::newRow("rotating") << "ata/sda" << Files{{"queue/rotational", "1\n"}} << int(Kind::Rotating);
        QTest::newRow("partition of a rotating disk")
            << "ata/sda/sda1" << Files{{"../queue/rotational", "1\n"}} << int(Kind::Rotating);
        QTest::newRow("encrypted NVMe") << "virtual/dm-0"
                                        << Files{{"slaves/nvme0n1p2/size", ""}, {"queue/rotational", "0\n"}}
                                        << int(Kind::Nvme);
        QTest::newRow("of a virtual machine")
            << "virtio/vda" << Files{{"queue/rotational", "1\n"}} << int(Kind::Virtual);
        QTest::newRow("says nothing") << "ata/sda" << Files{} << int(Kind::Unknown);
    }
    void kindsOfDevicesAreToldApart()
    {
#ifdef Q_OS_WIN
        QSKIP("/sys is made of symbolic links");
#endif
        QFETCH(QString, device);
        QFETCH(Files, files);
        QFETCH(int, kind);
        const QString place = m_folder->filePath("sys/devices/" + device);
        QVERIFY(QDir().mkpath(place));
        QVERIFY(QDir().mkpath(m_folder->filePath("sys/dev/block")));
        writeFiles(place, files);
        QVERIFY(QFile::link(place, m_folder->filePath("sys/dev/block/8:1")));
        const auto found = blockDeviceOf({"8:1", "ext4", "/dev/anything"}, root());
        QVERIFY(found);
        QCOMPARE(QString::fromStdString(found->name), device.section('/', -1));
        QCOMPARE(int(found->kind), kind);
    }

    void aFileSystemWithANumberOfItsOwnIsFoundByItsSource()
    {
        const QString place = m_folder->filePath("sys/devices/nvme1n1");
        QVERIFY(QDir().mkpath(place) && QDir().mkpath(m_folder->filePath("sys/class/block")));
        QVERIFY(QFile::link(place, m_folder->filePath("sys/class/block/nvme1n1")));
        const auto found = blockDeviceOf({"0:45", "btrfs", "/dev/nvme1n1"}, root());
        QVERIFY(found);
        QCOMPARE(int(found->kind), int(DriveFacts::Kind::Nvme));
        QVERIFY(!blockDeviceOf({"0:40", "nfs4", "server:/export"}, root()));
        QCOMPARE(int(kindOfFileSystem("nfs4")), int(DriveFacts::Kind::Network));
        QCOMPARE(int(kindOfFileSystem("tmpfs")), int(DriveFacts::Kind::Memory));
        QCOMPARE(int(kindOfFileSystem("ext4")), int(DriveFacts::Kind::Unknown));
    }

    void settingsAreReadFromTheirFiles()
    {
        using HugePages = MachineFacts::HugePages;
        QCOMPARE(int(hugePagesSetting(root())), int(HugePages::Unknown));
        QCOMPARE(meminfoBytes("MemAvailable", root()), 0U);
        QCOMPARE(controlGroupVersion(root()), 0U);
        const QString hugePages = "sys/kernel/mm/transparent_hugepage/enabled";
        writeFiles(m_folder->path(),
            {{hugePages, "always [madvise] never\n"},
                {"proc/meminfo", "MemTotal:  100 kB\nMemAvailable:     50 kB\nSwapTotal: 0 kB\n"},
                {"proc/self/cgroup", "0::/user\n"}});
        QCOMPARE(int(hugePagesSetting(root())), int(HugePages::OnRequest));
        QCOMPARE(meminfoBytes("MemAvailable", root()), 51200U);
        QCOMPARE(meminfoBytes("Mem", root()), 0U);
        QCOMPARE(controlGroupVersion(root()), 2U);
        writeFiles(m_folder->path(),
            {{hugePages, "always madvise [never]\n"}, {"proc/self/cgroup", "4:cpu,memory:/a\n0::/a\n"}});
        QCOMPARE(int(hugePagesSetting(root())), int(HugePages::Never));
        QCOMPARE(controlGroupVersion(root()), 1U);
    }

private:
    [[nodiscard]] std::filesystem::path root() const { return m_folder->path().toStdString(); }

    std::unique_ptr<QTemporaryDir> m_folder;
};

QTEST_GUILESS_MAIN(TestLinuxFacts)
#include "tst_linux_facts.moc"
