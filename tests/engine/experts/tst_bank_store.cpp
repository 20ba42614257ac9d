// The cache over real banks: one read of one stride per miss, past the page cache, checked.

#include "container/codebooks.h"
#include "container/container_files.h"
#include "experts/bank_store.h"
#include "experts/expert_cache.h"
#include "support/failing_disk.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <cerrno>
#include <cstring>
#include <random>
#include <set>

using namespace waste;
using test::FailingDisk;

namespace {

// A golden container with its banks behind a cache. `disk` belongs to the cache.
struct OpenBanks {
    ContainerFiles files;
    std::unique_ptr<Codebooks> codebooks;
    const BankStore* disk = nullptr;
    std::unique_ptr<ExpertCache> cache;
};

std::unique_ptr<OpenBanks> openBanks(
    const std::filesystem::path& directory, const BankStore::Options& options, const ExpertCache::Options& cacheOptions)
{
    auto banks = std::make_unique<OpenBanks>();
    auto files = ContainerFiles::open(directory);
    if (!files)
        qFatal("%s", files.error().message.c_str());
    banks->files = std::move(*files);
    std::vector<std::string> warnings;
    auto codebooks = Codebooks::load(directory, banks->files.manifest, Verification::Headers, warnings);
    if (!codebooks)
        qFatal("%s", codebooks.error().message.c_str());
    banks->codebooks = std::make_unique<Codebooks>(std::move(*codebooks));
    auto store = BankStore::open(directory, banks->files.manifest, *banks->codebooks, options);
    if (!store)
        qFatal("%s", store.error().message.c_str());
    banks->disk = store->get();
    auto cache = ExpertCache::create(std::move(*store), cacheOptions);
    if (!cache)
        qFatal("%s", cache.error().message.c_str());
    banks->cache = std::move(*cache);
    return banks;
}

// Where a record that the cache gave out begins: its gate indices follow the header.
const std::byte* recordOf(const ExpertSource::Pin& pin)
{
    return reinterpret_cast<const std::byte*>(std::get<VqExpert>(pin.view())[0].indices) - kRecordHeaderBytes;
}

std::filesystem::path golden(const QString& name)
{
    return QString(WASTE_TEST_DATA "/containers/%1.waste").arg(name).toStdString();
}

} // namespace

class TestBankStore : public QObject {
    Q_OBJECT

    static void addContainers()
    {
        QTest::addColumn<QString>("name");
        for (const char* name : {"kl-vq3r-q4g", "kl-vq2r-q8g", "kl-vq4p-q3g", "kl-vq4p-mixed", "kl-rows-f32", "k3-odd"})
            QTest::newRow(name) << QString(name);
    }

    static std::filesystem::path copyOf(const QString& name, const QTemporaryDir& directory)
    {
        const std::filesystem::path copy = directory.filePath("copy.waste").toStdString();
        std::filesystem::copy(golden(name), copy);
        for (const auto& entry : std::filesystem::directory_iterator(copy))
            std::filesystem::permissions(entry, std::filesystem::perms::owner_all);
        return copy;
    }

    static void flipByte(const std::filesystem::path& path, std::uint64_t offset)
    {
        QFile file(QString::fromStdString(path.string()));
        QVERIFY(file.open(QIODevice::ReadWrite));
        QVERIFY(file.seek(static_cast<qint64>(offset)));
        char byte = 0;
        QVERIFY(file.getChar(&byte));
        QVERIFY(file.seek(static_cast<qint64>(offset)));
        QVERIFY(file.putChar(static_cast<char>(byte ^ 0x10)));
    }

private Q_SLOTS:
    void everyMissIsOneDirectReadOfOneStride_data() { addContainers(); }
    void everyMissIsOneDirectReadOfOneStride()
    {
        QFETCH(QString, name);
        const auto banks = openBanks(golden(name), {}, {.slotCount = 5, .expertsPerToken = 2});
        const RecordStore::Grid& grid = banks->disk->grid();
        if (FailingDisk::isSupported() && !banks->disk->isDirect())
            qWarning("this file system allows no uncached reads");
        QCOMPARE(banks->disk->readCount(), 0U);

        std::mt19937 random(1);
        for (int step = 0; step < 300; ++step) {
            const ExpertKey key{static_cast<std::uint16_t>(grid.firstLayer + random() % grid.layerCount),
                static_cast<std::uint16_t>(random() % grid.expertCount)};
            const std::uint16_t announced[] = {key.expert};
            if (step % 2 == 0)
                banks->cache->announce(key.layer, announced);
            const std::uint64_t missesBefore = banks->cache->statistics().misses;
            const FailingDisk counter({}); // lets everything pass and counts
            const auto pin = banks->cache->acquire(key);
            QVERIFY(pin);
            if (step % 2 != 0 && FailingDisk::isSupported())
                QCOMPARE(counter.callCount(), banks->cache->statistics().misses - missesBefore);
        }
        const CacheStatistics statistics = banks->cache->statistics();
        QVERIFY(statistics.hits > 0);
        QVERIFY(statistics.evictions > 0);
        QCOMPARE(banks->disk->readCount(), statistics.misses);
        QCOMPARE(statistics.readsIssued, statistics.misses);
        QCOMPARE(statistics.bytesRead, statistics.misses * banks->files.manifest.geometry.strideBytes);
    }

    void recordsAreTheBytesOfTheirBank_data() { addContainers(); }
    void recordsAreTheBytesOfTheirBank()
    {
        QFETCH(QString, name);
        for (const bool direct : {true, false}) {
            const auto banks = openBanks(golden(name), {.direct = direct, .verification = Verification::Full},
                {.slotCount = 3, .expertsPerToken = 2});
            if (!direct)
                QVERIFY(!banks->disk->isDirect());
            const RecordStore::Grid& grid = banks->disk->grid();
            for (const BankEntry& entry : banks->files.manifest.banks) {
                QFile file(QString::fromStdString((golden(name) / entry.file).string()));
                QVERIFY(file.open(QIODevice::ReadOnly));
                const QByteArray content = file.readAll();
                for (std::uint16_t expert = 0; expert < grid.expertCount; ++expert) {
                    const auto pin = banks->cache->acquire({static_cast<std::uint16_t>(entry.layer), expert});
                    QVERIFY(pin);
                    const char* expected = content.constData() + expert * grid.recordBytes;
                    QCOMPARE(std::memcmp(recordOf(*pin), expected, grid.recordBytes), 0);
                }
            }
        }
    }

    void recordsAreTheSameWhoeverReadsThem_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("asyncReads");
        for (const char* name : {"kl-vq3r-q4g", "kl-vq4p-mixed", "k3-odd"}) {
            QTest::addRow("%s, asynchronous", name) << QString(name) << true;
            QTest::addRow("%s, threads", name) << QString(name) << false;
        }
    }
    void recordsAreTheSameWhoeverReadsThem()
    {
        QFETCH(QString, name);
        QFETCH(bool, asyncReads);
        const auto banks =
            openBanks(golden(name), {}, {.slotCount = 6, .expertsPerToken = 3, .asyncReads = asyncReads});
        if (asyncReads && banks->cache->readerName() != "io_uring")
            QSKIP("this system has no asynchronous reads, or forbids them");
        QCOMPARE(banks->cache->readerName(), std::string_view(asyncReads ? "io_uring" : "threads"));
        const RecordStore::Grid& grid = banks->disk->grid();
        std::vector<QByteArray> contents;
        for (const BankEntry& entry : banks->files.manifest.banks) {
            QFile file(QString::fromStdString((golden(name) / entry.file).string()));
            QVERIFY(file.open(QIODevice::ReadOnly));
            contents.push_back(file.readAll());
        }
        std::mt19937 random(5);
        for (std::size_t step = 0; step < 400; ++step) {
            const std::size_t bank = step % contents.size();
            const auto layer = static_cast<std::uint16_t>(grid.firstLayer + bank);
            std::set<std::uint16_t> experts;
            while (experts.size() < 3)
                experts.insert(static_cast<std::uint16_t>(random() % grid.expertCount));
            const std::vector<std::uint16_t> announced(experts.begin(), experts.end());
            banks->cache->announce(layer, announced);
            for (std::size_t i = 0; i < announced.size(); ++i) {
                const auto arrival = banks->cache->acquireNext();
                QVERIFY(arrival);
                QCOMPARE(experts.erase(arrival->expert), std::size_t{1});
                const char* expected = contents[bank].constData() + arrival->expert * grid.recordBytes;
                QCOMPARE(std::memcmp(recordOf(arrival->pin), expected, grid.recordBytes), 0);
            }
            const std::uint16_t guess[] = {static_cast<std::uint16_t>(random() % grid.expertCount)};
            banks->cache->prefetch(static_cast<std::uint16_t>(grid.firstLayer + (bank + 1) % contents.size()), guess,
                ExpertSource::GuessFor::Token);
        }
        // How many of those guesses were read in time is the disk's affair; one that is waited for is useful.
        const std::uint64_t usefulBefore = banks->cache->statistics().guessesUseful;
        for (std::uint16_t expert = 0; expert < grid.expertCount; ++expert) {
            const std::uint16_t only[] = {expert};
            banks->cache->waitUntilIdle();
            banks->cache->prefetch(grid.firstLayer, only, ExpertSource::GuessFor::Token);
            banks->cache->waitUntilIdle();
            banks->cache->announce(grid.firstLayer, only);
            QVERIFY(banks->cache->acquireNext());
        }
        QVERIFY(banks->cache->statistics().guessesUseful > usefulBefore);
        QCOMPARE(banks->disk->readCount(), banks->cache->statistics().readsIssued);
    }

    void damageIsFoundWhoeverReads_data()
    {
        QTest::addColumn<bool>("asyncReads");
        QTest::newRow("asynchronous") << true;
        QTest::newRow("threads") << false;
    }
    void damageIsFoundWhoeverReads()
    {
        QFETCH(bool, asyncReads);
        const QTemporaryDir directory;
        const std::filesystem::path copy = copyOf("kl-vq3r-q4g", directory);
        const auto banks = openBanks(copy, {}, {.slotCount = 8, .expertsPerToken = 4, .asyncReads = asyncReads});
        const std::uint64_t stride = banks->disk->grid().recordBytes;
        flipByte(copy / "experts-L1.bin", 1 * stride + 6);
        std::filesystem::resize_file(copy / "experts-L1.bin", 3 * stride + 100);
        const std::uint16_t announced[] = {0, 1, 2, 3};
        banks->cache->announce(1, announced);
        std::string damage;
        std::set<std::uint16_t> arrived;
        for (int i = 0; i < 3; ++i) {
            const auto arrival = banks->cache->acquireNext();
            if (arrival)
                arrived.insert(arrival->expert);
            else
                damage += arrival.error().message;
        }
        QCOMPARE(arrived, (std::set<std::uint16_t>{0, 2}));
        QVERIFY2(damage.find("expert 1 of layer 1: header does not fit") != std::string::npos, damage.c_str());
        // A failure ends a token; the one after it asks for something else.
        const std::uint16_t last[] = {3};
        banks->cache->announce(1, last);
        const auto cut = banks->cache->acquireNext();
        QVERIFY(!cut);
        QVERIFY2(cut.error().message.find("experts-L1.bin ends at") != std::string::npos, cut.error().message.c_str());
    }

    // The header of one record is damaged; everything around it stays usable and a repaired file is read again.
    void aDamagedRecordIsNamedAndHarmsNoOther()
    {
        const QTemporaryDir directory;
        const std::filesystem::path copy = copyOf("kl-vq3r-q4g", directory);
        const auto banks = openBanks(copy, {}, {.slotCount = 4, .expertsPerToken = 2});
        const RecordStore::Grid& grid = banks->disk->grid();
        const BankEntry& entry = banks->files.manifest.banks[1];
        const auto layer = static_cast<std::uint16_t>(entry.layer);
        flipByte(copy / entry.file, 2 * grid.recordBytes + 6); // its expert number
        for (int round = 0; round < 3; ++round) {
            const auto failed = banks->cache->acquire({layer, 2});
            QVERIFY(!failed);
            QCOMPARE(failed.error().code, ErrorCode::Corrupt);
            const std::string expected = "expert 2 of layer " + std::to_string(layer);
            QVERIFY2(failed.error().message.find(expected) != std::string::npos, failed.error().message.c_str());
            QVERIFY2(failed.error().message.find(entry.file) != std::string::npos, failed.error().message.c_str());
            QVERIFY(banks->cache->acquire({layer, 1}));
            QVERIFY(banks->cache->acquire({layer, 3}));
        }
        flipByte(copy / entry.file, 2 * grid.recordBytes + 6);
        QVERIFY(banks->cache->acquire({layer, 2}));
    }

    void checksumsAreComparedInVerifyModeOnly()
    {
        const QTemporaryDir directory;
        const std::filesystem::path copy = copyOf("kl-vq3r-q4g", directory);
        const std::filesystem::path bank = copy / "experts-L1.bin";
        flipByte(bank, 1000); // an index of expert 0
        {
            const auto banks = openBanks(copy, {}, {.slotCount = 4});
            QVERIFY(banks->cache->acquire({1, 0}));
        }
        const auto banks = openBanks(copy, {.verification = Verification::Full}, {.slotCount = 4});
        const auto failed = banks->cache->acquire({1, 0});
        QVERIFY(!failed);
        QVERIFY(failed.error().message.find("checksum mismatch") != std::string::npos);
        QVERIFY(banks->cache->acquire({1, 1}));
    }

    void aBankThatIsCutWhileOpenFailsTheTokenWithFileAndPlace()
    {
        const QTemporaryDir directory;
        const std::filesystem::path copy = copyOf("kl-vq3r-q4g", directory);
        const auto banks = openBanks(copy, {}, {.slotCount = 4});
        const std::uint64_t stride = banks->disk->grid().recordBytes;
        std::filesystem::resize_file(copy / "experts-L1.bin", 2 * stride + 100);
        QVERIFY(banks->cache->acquire({1, 1}));
        const auto failed = banks->cache->acquire({1, 2});
        QVERIFY(!failed);
        QVERIFY2(failed.error().message.find("experts-L1.bin") != std::string::npos, failed.error().message.c_str());
        QVERIFY2(failed.error().message.find(std::to_string(2 * stride)) != std::string::npos,
            failed.error().message.c_str());
    }

    // EIO twice in a row is damage; the cache stays right whichever read it hits.
    void aDiskFailureAtAnyReadIsAnErrorOfThatTokenOnly()
    {
        if (!FailingDisk::isSupported())
            QSKIP("the disk cannot be made to fail here");
        const std::uint32_t accesses = 20;
        for (std::uint32_t failing = 1; failing <= accesses; ++failing) {
            const auto banks =
                openBanks(golden("kl-vq2r-q8g"), {}, {.slotCount = 4, .expertsPerToken = 2, .readerCount = 0});
            const RecordStore::Grid& grid = banks->disk->grid();
            const FailingDisk disk({.firstFailing = failing, .failingCount = 2, .error = EIO});
            std::uint32_t errors = 0;
            std::mt19937 random(3);
            for (std::uint32_t access = 0; access < 3 * accesses; ++access) {
                const ExpertKey key{static_cast<std::uint16_t>(grid.firstLayer + random() % grid.layerCount),
                    static_cast<std::uint16_t>(random() % grid.expertCount)};
                const auto pin = banks->cache->acquire(key);
                errors += pin ? 0 : 1;
                if (!pin)
                    QVERIFY(
                        pin.error().message.find(std::to_string(key.expert * grid.recordBytes)) != std::string::npos);
            }
            QCOMPARE(errors, 1U);
            QCOMPARE(banks->cache->statistics().readsFailed, 1U);
        }
    }
};

QTEST_APPLESS_MAIN(TestBankStore)
#include "tst_bank_store.moc"
