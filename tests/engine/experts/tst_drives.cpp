// Experts on several drives: each drive is kept busy by itself, and what is read stays the same.

#include "container/codebooks.h"
#include "container/container_files.h"
#include "experts/bank_store.h"
#include "experts/expert_cache.h"
#include "support/fake_records.h"

#include <QTemporaryDir>
#include <QTest>

#include <numeric>
#include <set>
#include <thread>

using namespace waste;
using test::FakeRecords;
namespace fs = std::filesystem;

namespace {

constexpr RecordStore::Grid kGrid{.firstLayer = 1, .layerCount = 5, .expertCount = 24, .recordBytes = 4096};

std::unique_ptr<ExpertCache> makeCache(std::unique_ptr<const RecordStore> store, const ExpertCache::Options& options)
{
    auto cache = ExpertCache::create(std::move(store), options);
    if (!cache)
        qFatal("%s", cache.error().message.c_str());
    return std::move(*cache);
}

// Twenty tokens; every record that comes is the one that it should be.
CacheStatistics run(FakeRecords& disk, std::uint32_t readers)
{
    const auto cache = makeCache(disk.store(), {.slotCount = 30, .expertsPerToken = 4, .readerCount = readers});
    for (int token = 0; token < 20; ++token) {
        for (std::uint16_t layer = 1; layer <= kGrid.layerCount; ++layer) {
            std::vector<std::uint16_t> experts(4);
            std::iota(experts.begin(), experts.end(), static_cast<std::uint16_t>(token * 3 % 20));
            cache->announce(layer, experts);
            for (std::size_t i = 0; i < experts.size(); ++i) {
                const auto arrival = cache->acquireNext();
                if (!arrival || !disk.isRecord(arrival->pin.view(), {layer, arrival->expert}))
                    return {};
            }
        }
    }
    return cache->statistics();
}

} // namespace

class DrivesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // Layers 1 and 2 lie on different drives, which have one reader each.
    void aBusyDriveKeepsNoOtherOneWaiting()
    {
        FakeRecords disk(kGrid, 2);
        const auto cache = makeCache(disk.store(), {.slotCount = 40, .expertsPerToken = 4, .readerCount = 1});
        disk.close({1, 0});
        const std::uint16_t announced[] = {0, 1};
        cache->announce(1, announced);
        disk.waitUntilSomebodyWaits();
        const std::uint16_t guess[] = {7};
        cache->prefetch(2, guess, ExpertSource::GuessFor::Token);
        QTRY_COMPARE(disk.readCount({2, 7}), 1U); // beside the read that hangs
        QCOMPARE(disk.readCount({1, 1}), 0U); // that drive has as much to do as it should
        std::thread opener([&] { disk.open(); });
        for (int i = 0; i < 2; ++i) {
            const auto arrival = cache->acquireNext();
            QVERIFY(arrival && disk.isRecord(arrival->pin.view(), {1, arrival->expert}));
        }
        opener.join();
        cache->announce(2, guess);
        QVERIFY(cache->acquireNext());
        QCOMPARE(cache->statistics().guessesUseful, 1U);
        QCOMPARE(disk.readCount(), 3U);
    }

    void countsDoNotDependOnTheDrives_data()
    {
        QTest::addColumn<int>("drives");
        QTest::addColumn<int>("readers");
        for (int drives = 1; drives <= 4; ++drives) {
            for (const int readers : {0, 1, 2})
                QTest::addRow("%d drives, %d readers", drives, readers) << drives << readers;
        }
    }
    void countsDoNotDependOnTheDrives()
    {
        QFETCH(int, drives);
        QFETCH(int, readers);
        FakeRecords disk(kGrid, static_cast<std::uint32_t>(drives));
        FakeRecords single(kGrid);
        const CacheStatistics counts = run(disk, static_cast<std::uint32_t>(readers));
        const CacheStatistics expected = run(single, 0);
        QCOMPARE(counts.hits, expected.hits);
        QCOMPARE(counts.misses, expected.misses);
        QCOMPARE(counts.evictions, expected.evictions);
        QCOMPARE(disk.readCount(), single.readCount());
    }

    // The list of earlier runs names both drives in any order; a reader of one of them does not stop at the other's.
    void whatEarlierRunsLikedIsReadFromAllDrives()
    {
        for (const std::uint32_t readers : {1U, 2U}) {
            FakeRecords disk(kGrid, 3);
            const auto cache = makeCache(disk.store(), {.slotCount = 60, .expertsPerToken = 4, .readerCount = readers});
            UsageList list;
            for (std::uint16_t i = 0; i < 50; ++i)
                list.entries.push_back(
                    {{static_cast<std::uint16_t>(1 + i * i % 5), static_cast<std::uint16_t>(i % 24)}, 200U - i, 1});
            cache->recall(list);
            cache->waitUntilIdle();
            std::size_t distinct = 0;
            for (std::uint16_t layer = 1; layer <= kGrid.layerCount; ++layer) {
                for (std::uint16_t expert = 0; expert < kGrid.expertCount; ++expert) {
                    QVERIFY(disk.readCount({layer, expert}) <= 1);
                    distinct += disk.readCount({layer, expert});
                }
            }
            std::set<std::pair<std::uint16_t, std::uint16_t>> wanted;
            for (const UsageList::Entry& entry : list.entries)
                wanted.emplace(entry.key.layer, entry.key.expert);
            QCOMPARE(distinct, wanted.size());
        }
    }

    void linkedBanksAreReadFromTheirOwnDrive_data()
    {
        QTest::addColumn<bool>("asyncReads");
        QTest::newRow("asynchronous reads") << true;
        QTest::newRow("threads") << false;
    }
    void linkedBanksAreReadFromTheirOwnDrive()
    {
        QFETCH(bool, asyncReads);
        QTemporaryDir here;
        QTemporaryDir there("/dev/shm/waste-drives-XXXXXX");
        if (!there.isValid())
            QSKIP("no second file system here");
        const fs::path container = fs::path(here.path().toStdString()) / "model.waste";
        fs::copy(WASTE_TEST_DATA "/containers/kl-vq3r-q4g.waste", container);
        const auto plain = ContainerFiles::open(container);
        QVERIFY(plain);
        for (std::size_t i = 1; i < plain->manifest.banks.size(); i += 2) {
            const std::string& file = plain->manifest.banks[i].file;
            const fs::path other = fs::path(there.path().toStdString()) / file;
            fs::copy_file(container / file, other);
            fs::remove(container / file);
            std::error_code error;
            fs::create_symlink(other, container / file, error);
            if (error)
                QSKIP("this system makes no symbolic links");
        }
        const auto files = ContainerFiles::open(container);
        QVERIFY(files);
        std::vector<std::string> warnings;
        const auto codebooks = Codebooks::load(container, files->manifest, Verification::Full, warnings);
        auto store = BankStore::open(container, files->manifest, *codebooks, {.verification = Verification::Full});
        QVERIFY(store);
        const RecordStore::Grid grid = (*store)->grid();
        if ((*store)->driveOf({grid.firstLayer, 0}) == (*store)->driveOf({std::uint16_t(grid.firstLayer + 1), 0}))
            QSKIP("both folders are on one file system");
        QCOMPARE((*store)->driveCount(), 2U);
        const auto cache = makeCache(
            std::move(*store), {.slotCount = 8, .expertsPerToken = 4, .readerCount = 2, .asyncReads = asyncReads});
        std::vector<std::uint16_t> experts(grid.expertCount);
        std::iota(experts.begin(), experts.end(), std::uint16_t{0});
        for (std::uint16_t layer = 0; layer < grid.layerCount; ++layer) {
            const auto number = static_cast<std::uint16_t>(grid.firstLayer + layer);
            cache->announce(number, experts);
            if (layer + 1U < grid.layerCount)
                cache->prefetch(static_cast<std::uint16_t>(number + 1), experts, ExpertSource::GuessFor::Token);
            for (std::size_t i = 0; i < experts.size(); ++i) {
                const auto arrival = cache->acquireNext(); // checked against header and checksum
                QVERIFY2(arrival, arrival ? "" : arrival.error().message.c_str());
            }
        }
    }
};

QTEST_APPLESS_MAIN(DrivesTest)
#include "tst_drives.moc"
