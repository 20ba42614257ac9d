// The learned hot list: its bytes, hostile ones too, and what the cache makes of it.

#include "experts/expert_cache.h"
#include "experts/usage_list.h"
#include "support/fake_records.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <random>

using namespace waste;
using test::FakeRecords;

namespace {

constexpr RecordStore::Grid kGrid{.firstLayer = 1, .layerCount = 3, .expertCount = 10, .recordBytes = 4096};

QByteArray encoded(const UsageList& list)
{
    const std::vector<std::byte> bytes = list.encode();
    return {reinterpret_cast<const char*>(bytes.data()), static_cast<qsizetype>(bytes.size())};
}

Result<UsageList> parsed(const QByteArray& bytes)
{
    return UsageList::parse(std::as_bytes(std::span(bytes.constData(), static_cast<std::size_t>(bytes.size()))), kGrid);
}

UsageList someUses()
{
    return {.clock = 47, .entries = {{{2, 4}, 9, 40}, {{1, 0}, 7, 46}, {{3, 9}, 7, 3}, {{1, 5}, 2, 11}}};
}

std::unique_ptr<ExpertCache> makeCache(FakeRecords& disk, std::uint32_t slotCount, std::uint32_t readers = 2)
{
    auto cache =
        ExpertCache::create(disk.store(), {.slotCount = slotCount, .expertsPerToken = 2, .readerCount = readers});
    if (!cache)
        qFatal("no cache");
    return std::move(*cache);
}

} // namespace

class TestUsageList : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void bytesAreThoseOfTheSpecification()
    {
        const UsageList list{.clock = 47, .entries = {{{2, 4}, 9, 40}}};
        QCOMPARE(encoded(list).toHex(),
            QByteArray("57555347"
                       "01000000"
                       "2f00000000000000"
                       "0200"
                       "0400"
                       "09000000"
                       "28000000"
                       "00000000"));
    }

    void whatWasWrittenIsReadMostUsedFirst()
    {
        UsageList shuffled = someUses();
        std::reverse(shuffled.entries.begin(), shuffled.entries.end());
        const auto list = parsed(encoded(shuffled));
        QVERIFY(list);
        QCOMPARE(list->clock, 47U);
        QVERIFY(list->entries == someUses().entries);
    }

    void absentExpertsAndRepetitionsArePassedOver()
    {
        UsageList list = someUses();
        for (const ExpertKey absent : {ExpertKey{0, 1}, ExpertKey{4, 1}, ExpertKey{2, 10}, ExpertKey{65535, 65535}})
            list.entries.push_back({absent, 1000, 1});
        list.entries.push_back({{2, 4}, 8, 41});
        list.entries.push_back({{2, 4}, 1, 42});
        const auto read = parsed(encoded(list));
        QVERIFY(read);
        QVERIFY(read->entries == someUses().entries);
    }

    // 250 MiB of them took half a gigabyte beside a budget of 66 MiB.
    void repetitionsTakeNoMemory()
    {
        UsageList list = someUses();
        for (int i = 0; i < 1000; ++i)
            list.entries.push_back({{2, 4}, 9, 1});
        const auto read = parsed(encoded(list));
        QVERIFY(read);
        QVERIFY(read->entries == someUses().entries);
        QVERIFY(read->entries.capacity() <= std::size_t{kGrid.layerCount} * kGrid.expertCount);

        const QTemporaryDir directory;
        const std::filesystem::path file = directory.filePath("usage.waste").toStdString();
        QVERIFY(list.save(file));
        const auto loaded = UsageList::load(file, kGrid);
        QVERIFY(!loaded);
        QCOMPARE(loaded.error().code, ErrorCode::Corrupt);
        QCOMPARE(loaded.error().reason, std::string("too_large"));
    }

    void anyOtherBytesAreRefusedOrHarmless()
    {
        QVERIFY(!parsed({}));
        QVERIFY(!parsed("WUSG"));
        QVERIFY(!parsed(QByteArray(16, 'x')));
        const QByteArray good = encoded(someUses());
        for (qsizetype length = 0; length < good.size(); ++length) {
            const auto cut = parsed(good.left(length));
            QCOMPARE(cut.has_value(), length >= 16);
            if (cut)
                QCOMPARE(cut->entries.size(), static_cast<std::size_t>((length - 16) / 16));
        }
        std::mt19937 random(1);
        for (int round = 0; round < 2000; ++round) {
            QByteArray damaged = good;
            for (int i = 0; i < 4; ++i)
                damaged[static_cast<qsizetype>(random() % static_cast<unsigned>(good.size()))] =
                    static_cast<char>(random());
            const auto list = parsed(damaged);
            if (list)
                QVERIFY(list->entries.size() <= 4);
        }
    }

    void savingReplacesTheFileAsAWhole()
    {
        const QTemporaryDir directory;
        const std::filesystem::path file = directory.filePath("usage.waste").toStdString();
        QCOMPARE(UsageList::load(file, kGrid).error().code, ErrorCode::NotFound);
        QVERIFY(UsageList({.clock = 1, .entries = {}}).save(file));
        QVERIFY(someUses().save(file));
        const auto list = UsageList::load(file, kGrid);
        QVERIFY(list && list->entries == someUses().entries);
        QCOMPARE(std::distance(std::filesystem::directory_iterator(file.parent_path()), {}), 1);
        QVERIFY(!someUses().save(directory.filePath("absent/usage.waste").toStdString()));
    }

    // Most used first, as far as slots are free, and nothing is counted that nobody demanded.
    void theCacheReadsWhatWasUsedMostWhileItIsIdle()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 3);
        cache->recall(someUses());
        cache->waitUntilIdle();
        QCOMPARE(disk.readCount(), 3U);
        QCOMPARE(disk.readCount({1, 5}), 0U);
        QCOMPARE(cache->statistics().misses, 0U);
        QVERIFY(cache->acquire({2, 4}));
        QVERIFY(cache->acquire({3, 9}));
        QCOMPARE(cache->statistics().hits, 2U);
        QCOMPARE(cache->statistics().evictions, 0U);
        QCOMPARE(disk.readCount(), 3U);
    }

    void demandGoesFirstAndTakesTheSlotsThatItNeeds()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 4, 1);
        disk.close({2, 4});
        cache->recall(someUses());
        disk.waitUntilSomebodyWaits(); // the only reader is in the first of the list
        const std::uint16_t announced[] = {6, 7};
        cache->announce(1, announced);
        disk.open();
        QCOMPARE(cache->acquireNext()->expert, 6);
        QCOMPARE(cache->acquireNext()->expert, 7);
        cache->waitUntilIdle();
        QCOMPARE(cache->statistics().evictions, 0U);
        QCOMPARE(disk.readCount(), 4U); // one more of the list found a slot
    }

    void aListThatCannotBeReadHarmsNothing()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 6);
        disk.failReads(1, 2);
        cache->recall(someUses());
        cache->waitUntilIdle();
        QCOMPARE(cache->statistics().readsFailed, 2U);
        for (const UsageList::Entry& entry : someUses().entries) {
            const auto pin = cache->acquire(entry.key);
            QVERIFY(pin && disk.isRecord(pin->view(), entry.key));
        }
    }

    void countsComeBackHalvedAndGoOn()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 2, 0);
        cache->recall(someUses());
        QVERIFY(cache->acquire({3, 1}));
        QVERIFY(cache->acquire({2, 4}));
        const UsageList list = cache->usage();
        QCOMPARE(list.clock, 2U);
        const std::vector<UsageList::Entry> expected = {
            {{2, 4}, 5, 2}, {{3, 1}, 1, 1}, {{1, 0}, 3, 0}, {{3, 9}, 3, 0}, {{1, 5}, 1, 0}};
        QVERIFY(list.entries == expected); // those in memory first, as other programs take the first ones
    }

    // An expert that was popular in earlier runs outlasts one that was used once in this one.
    void whatWasPopularStays()
    {
        FakeRecords disk(kGrid);
        const auto cache = makeCache(disk, 2, 0);
        cache->recall({.clock = 100, .entries = {{{1, 0}, 40, 90}}});
        for (std::uint16_t expert = 0; expert < 6; ++expert)
            QVERIFY(cache->acquire({1, expert}));
        QVERIFY(cache->acquire({1, 0}));
        QCOMPARE(disk.readCount({1, 0}), 1U);
    }
};

QTEST_APPLESS_MAIN(TestUsageList)
#include "tst_usage_list.moc"
