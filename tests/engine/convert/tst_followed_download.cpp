// A conversion that runs beside the download of its source: it takes what is verified, nothing else, in whatever order
// it comes, and writes the bytes of a conversion that had everything from the beginning.

#include "support/conversion_folder.h"
#include "support/directory_content.h"
#include "support/fake_download.h"
#include "support/tiny_checkpoint.h"
#include "waste/converter.h"

#include <QTest>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <thread>

using namespace waste;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

class FollowedDownloadTest : public QObject, test::ConversionFolder {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        test::writeTinyCheckpoint(place("published"),
            {.family = test::TinyFamily::KimiK3,
                .layerCount = 4,
                .expertCount = 3,
                .shardCount = 7,
                .cutAnywhere = true,
                .tokenizer = true});
        test::FakeDownload whole(place("published"), place("whole"));
        whole.deliverAll();
        QVERIFY(whole.shards().size() > 5);
        ConvertOptions options = optionsFor("whole", "reference");
        options.follow = false;
        const auto report = convert(options);
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        m_reference = test::readDirectory(place("reference"));
    }

    void shardsComeInAnyOrder_data()
    {
        QTest::addColumn<int>("order");
        QTest::newRow("by name") << 0;
        QTest::newRow("backwards") << 1;
        QTest::newRow("random") << 2;
    }
    void shardsComeInAnyOrder()
    {
        QFETCH(int, order);
        const std::string name = "order" + std::to_string(order);
        test::FakeDownload download(place("published"), place(name));
        std::vector<std::string> shards = download.shards();
        if (order == 1)
            std::ranges::reverse(shards);
        if (order == 2)
            std::ranges::shuffle(shards, std::mt19937(3));
        std::thread thread([&] {
            for (const std::string& shard : shards) {
                std::this_thread::sleep_for(120ms);
                download.deliver(shard);
            }
        });
        int waits = 0;
        const auto report = convert(optionsFor(name, name + ".waste"), [&waits](const ConvertEvent& event) {
            const auto* waiting = std::get_if<ConvertWaiting>(&event);
            waits += waiting != nullptr && waiting->cause == ConvertWaiting::Cause::Download ? 1 : 0;
        });
        thread.join();
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        QVERIFY(waits > 0);
        compareWithReference(name + ".waste");
    }

    void workBeginsBeforeTheLastShardHasCome()
    {
        test::FakeDownload download(place("published"), place("early"));
        const std::vector<std::string> shards = download.shards();
        std::atomic<bool> aLayerIsDone = false;
        std::thread thread([&] {
            for (std::size_t i = 0; i + 1 < shards.size(); ++i)
                download.deliver(shards[i]);
            while (!aLayerIsDone)
                std::this_thread::sleep_for(10ms);
            download.deliver(shards.back());
        });
        const auto report = convert(optionsFor("early", "early.waste"), [&](const ConvertEvent& event) {
            if (std::holds_alternative<ConvertLayerDone>(event) || std::holds_alternative<ConvertReport>(event))
                aLayerIsDone = true;
        });
        aLayerIsDone = true;
        thread.join();
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        compareWithReference("early.waste");
    }

    void whatNobodyVouchesForIsNotRead()
    {
        test::FakeDownload download(place("published"), place("garbage"));
        for (const std::string& shard : download.shards())
            download.putUnverified(shard);
        std::thread thread([&] {
            std::this_thread::sleep_for(500ms); // time to make a mistake in
            download.deliverAll();
        });
        const auto report = convert(optionsFor("garbage", "garbage.waste"));
        thread.join();
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        compareWithReference("garbage.waste");
    }

    void theWaitIsCancelledAndContinued()
    {
        test::FakeDownload download(place("published"), place("stopped"));
        for (std::size_t i = 0; i < 3; ++i)
            download.deliver(download.shards()[i]);
        CancelFlag cancel;
        const auto stopped = convert(
            optionsFor("stopped", "stopped.waste"),
            [&](const ConvertEvent& event) {
                if (std::holds_alternative<ConvertWaiting>(event))
                    cancel.cancel();
            },
            &cancel);
        QVERIFY(!stopped);
        QCOMPARE(stopped.error().code, ErrorCode::Cancelled);
        download.deliverAll();
        std::uint64_t keptBytes = 0;
        const auto report = convert(optionsFor("stopped", "stopped.waste"), [&](const ConvertEvent& event) {
            if (const auto* plan = std::get_if<ConvertPlan>(&event))
                keptBytes = plan->trunkBytesKept;
        });
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        QVERIFY(keptBytes > 0); // the first shards' part of the trunk
        compareWithReference("stopped.waste");
    }

    void deletingShardsOnTheWayNeedsLittleRoom()
    {
        test::FakeDownload download(place("published"), place("reclaimed"));
        std::thread thread([&] {
            for (const std::string& shard : download.shards()) {
                std::this_thread::sleep_for(150ms);
                download.deliver(shard);
            }
        });
        ConvertOptions options = optionsFor("reclaimed", "reclaimed.waste");
        options.reclaim = Reclaim::On;
        std::size_t deleted = 0;
        const auto report = convert(options, [&](const ConvertEvent& event) {
            const auto* reclaimed = std::get_if<ConvertReclaimed>(&event);
            deleted += reclaimed != nullptr && reclaimed->isDeleted ? 1 : 0;
        });
        thread.join();
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        QCOMPARE(deleted, download.shards().size());
        for (const std::string& shard : download.shards())
            QVERIFY(!fs::exists(place("reclaimed") / shard));
        QVERIFY(fs::exists(place("reclaimed") / "config.json"));
        compareWithReference("reclaimed.waste");
    }

    void aFolderThatNobodyDownloadsIntoCannotBeFollowed()
    {
        const auto refused = convert(optionsFor("published", "refused.waste"));
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::InvalidArgument);
    }

    void anIncompleteDownloadIsRefusedWithoutFollowing()
    {
        test::FakeDownload download(place("published"), place("half"));
        download.deliver(download.shards().front());
        ConvertOptions options = optionsFor("half", "half.waste");
        options.follow = false;
        const auto refused = convert(options);
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::NotFound);
        QVERIFY2(
            refused.error().message.find(download.shards()[1]) != std::string::npos, refused.error().message.c_str());
        QVERIFY(!fs::exists(options.target));
    }

private:
    [[nodiscard]] ConvertOptions optionsFor(const std::string& source, const std::string& target) const
    {
        ConvertOptions options = test::conversionOf(place(source), place(target));
        options.follow = true;
        return options;
    }
    void compareWithReference(const std::string& target) const
    {
        QCOMPARE(test::difference(test::readDirectory(place(target)), m_reference), std::string());
    }

    test::DirectoryContent m_reference;
};

QTEST_APPLESS_MAIN(FollowedDownloadTest)
#include "tst_followed_download.moc"
