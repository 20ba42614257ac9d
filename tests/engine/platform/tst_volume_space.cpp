// The room of a drive, and how much of it long jobs leave to others.

#include "platform/volume_space.h"

#include <QTemporaryDir>
#include <QTest>

using namespace waste;

class VolumeSpaceTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void freeSpaceIsKnownWhereNothingExistsYet()
    {
        const QTemporaryDir folder;
        const auto here = freeSpaceBytes(folder.path().toStdString());
        const auto below = freeSpaceBytes(folder.filePath("not/yet/there").toStdString());
        QVERIFY(here && below);
        QVERIFY(*here > 0);
        QVERIFY(*below > 0);
        QVERIFY(freeSpaceBytes("relative/path"));
        QVERIFY(*spaceReserveBytes(folder.filePath("not/yet/there").toStdString()) >= std::uint64_t{10} << 30);
    }

    void moreIsLeftOnLargeVolumesAndToTheSystem()
    {
        constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
        QCOMPARE(spaceReserveBytes(100 * kGiB, false), 10 * kGiB);
        QCOMPARE(spaceReserveBytes(4000 * kGiB, false), 80 * kGiB);
        QCOMPARE(spaceReserveBytes(100 * kGiB, true), 20 * kGiB);
        QCOMPARE(spaceReserveBytes(4000 * kGiB, true), 200 * kGiB);
    }
};

QTEST_APPLESS_MAIN(VolumeSpaceTest)
#include "tst_volume_space.moc"
