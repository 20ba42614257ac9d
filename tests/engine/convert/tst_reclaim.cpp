// Deleting source shards while converting: nothing that a later step needs is ever gone, whenever the conversion is
// killed; what is gone stands in the ledger; and what must not be deleted is not (spec: download 9.3).
//
// The conversion that is killed runs in a process of its own: this program, started with --convert. WASTE_KILLS is how
// often it is killed.

#include "support/conversion_folder.h"
#include "support/directory_content.h"
#include "support/failing_disk.h"
#include "support/fake_download.h"
#include "support/safetensors_writer.h"
#include "support/tiny_checkpoint.h"
#include "waste/converter.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QProcess>
#include <QTest>

#include <cerrno>
#include <fstream>
#include <random>

using namespace waste;
namespace fs = std::filesystem;

namespace {

constexpr int kKills = 15;

ConvertOptions optionsFor(const fs::path& source, const fs::path& target, Reclaim reclaim)
{
    ConvertOptions options = test::conversionOf(source, target);
    options.threadCount = 2;
    options.reclaim = reclaim;
    return options;
}

std::string ledgerOf(const fs::path& source)
{
    const auto bytes = test::readBytes(source / ".waste-download" / "reclaimed");
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace

class ReclaimTest : public QObject, test::ConversionFolder {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        test::writeTinyCheckpoint(place("published"),
            {.family = test::TinyFamily::KimiK3,
                .layerCount = 6,
                .expertCount = 4,
                .shardCount = 20,
                .cutAnywhere = true,
                .tokenizer = true});
        const auto report = convert(optionsFor(freshSource("whole"), place("reference"), Reclaim::Off));
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        m_reference = test::readDirectory(place("reference"));
    }

    void everyShardIsDeletedAndTheModelIsTheSame()
    {
        const fs::path source = freshSource("all");
        std::string order;
        std::uint64_t freed = 0;
        const auto report =
            convert(optionsFor(source, place("all.waste"), Reclaim::On), [&](const ConvertEvent& event) {
                if (const auto* reclaimed = std::get_if<ConvertReclaimed>(&event)) {
                    order += 'r';
                    freed = reclaimed->freedBytes;
                    QVERIFY(reclaimed->isDeleted && reclaimed->bytes > 0);
                    QVERIFY(ledgerOf(source).find(reclaimed->shard + '\t') != std::string::npos);
                }
                if (std::holds_alternative<ConvertLayerDone>(event))
                    order += 'd';
            });
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        QVERIFY2(order.starts_with('d'), order.c_str()); // the first layer is proven before anything goes
        QVERIFY2(order.find("rd") != std::string::npos, order.c_str()); // and others go before the end
        std::uint64_t shardBytes = 0;
        for (const std::string& shard : m_shards) {
            QVERIFY(!fs::exists(source / shard));
            shardBytes += fs::file_size(place("published") / shard);
        }
        QCOMPARE(freed, shardBytes);
        QVERIFY(fs::exists(source / "config.json") && fs::exists(source / "tokenizer.model"));
        compareWithReference("all.waste");
        // Once more: there is nothing left to do.
        const auto again = convert(optionsFor(source, place("all.waste"), Reclaim::On));
        QVERIFY2(again, again ? "" : again.error().message.c_str());
        compareWithReference("all.waste");
    }

    void aFinishedConversionIsOneWhateverIsLeftOfItsWork()
    {
        const fs::path source = place("left"); // no download of ours, which would have its own record of the headers
        fs::copy(place("published"), source, fs::copy_options::recursive);
        const fs::path target = place("left.waste");
        ConvertOptions options = optionsFor(source, target, Reclaim::On);
        options.canDownloadAgain = true;
        const auto report = convert(options, [&](const ConvertEvent& event) {
            if (!std::holds_alternative<ConvertLayerDone>(event))
                return;
            fs::remove_all(place("left-work"));
            fs::copy(target / ".waste-convert", place("left-work"), fs::copy_options::recursive);
        });
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        const test::DirectoryContent before = test::readDirectory(target);
        // As if killed while the work folder was deleted: its files are gone, the folders in it are not.
        fs::create_directories(target / ".waste-convert");
        for (const auto& entry : fs::directory_iterator(place("left-work"))) {
            if (entry.is_directory())
                fs::rename(entry.path(), target / ".waste-convert" / entry.path().filename());
        }
        QVERIFY(!fs::is_empty(target / ".waste-convert"));
        const auto again = convert(options);
        QVERIFY2(again, again ? "" : again.error().message.c_str());
        QVERIFY(!fs::exists(target / ".waste-convert"));
        QCOMPARE(test::difference(test::readDirectory(target), before), std::string());
    }

    void aDryRunOnlySaysWhatWouldGo()
    {
        const fs::path source = freshSource("dry");
        const auto before = test::readDirectory(source);
        std::size_t told = 0;
        const auto report =
            convert(optionsFor(source, place("dry.waste"), Reclaim::Dry), [&](const ConvertEvent& event) {
                const auto* reclaimed = std::get_if<ConvertReclaimed>(&event);
                told += reclaimed != nullptr && !reclaimed->isDeleted ? 1 : 0;
            });
        QVERIFY(report);
        QCOMPARE(told, m_shards.size());
        QCOMPARE(test::difference(test::readDirectory(source), before), std::string());
        compareWithReference("dry.waste");
    }

    void aKilledConversionNeverMissesWhatItDeleted_data()
    {
        QTest::addColumn<bool>("isDownload");
        QTest::newRow("a download of ours") << true;
        QTest::newRow("a folder from elsewhere") << false;
    }
    void aKilledConversionNeverMissesWhatItDeleted()
    {
        QFETCH(bool, isDownload);
        bool isGiven = false;
        const int wanted = qEnvironmentVariableIntValue("WASTE_KILLS", &isGiven);
        const int kills = isGiven ? wanted : kKills;
        std::mt19937 random(isDownload ? 5 : 6);
        int killed = 0;
        int finished = 0;
        test::DirectoryContent expected;
        while (killed < kills || finished == 0) {
            QVERIFY2(finished <= kills, "the conversion is too fast to be killed");
            const std::string name = (isDownload ? "ours" : "foreign") + std::to_string(finished);
            const fs::path source = isDownload ? freshSource(name) : place(name);
            if (!isDownload)
                fs::copy(place("published"), source, fs::copy_options::recursive);
            if (expected.empty()) { // a folder from elsewhere is told from others in another way
                QVERIFY(convert(optionsFor(source, place(name + "-whole"), Reclaim::Off)));
                expected = test::readDirectory(place(name + "-whole"));
            }
            const fs::path target = place(name + ".waste");
            for (bool isFinished = false; !isFinished;) {
                QProcess process;
                process.start(QCoreApplication::applicationFilePath(),
                    {"--convert", QString::fromStdString(source.string()), QString::fromStdString(target.string())});
                isFinished = process.waitForFinished(killed < kills ? static_cast<int>(random() % 900) : 60'000);
                if (!isFinished) {
                    process.kill();
                    process.waitForFinished();
                    ++killed;
                }
                QVERIFY2(!isFinished || process.exitCode() == 0, process.readAllStandardError().constData());
                for (const std::string& shard : m_shards)
                    QVERIFY2(fs::exists(source / shard) || ledgerOf(source).find(shard + '\t') != std::string::npos,
                        shard.c_str());
            }
            for (const std::string& shard : m_shards)
                QVERIFY2(!fs::exists(source / shard), shard.c_str());
            QCOMPARE(test::difference(test::readDirectory(target), expected), std::string());
            fs::remove_all(target);
            fs::remove_all(source);
            ++finished;
        }
        qInfo("killed %d times, finished %d times", killed, finished);
    }

    void whatIsNotOursIsRefused()
    {
        const fs::path foreign = place("published");
        const auto refused = convert(optionsFor(foreign, place("refused.waste"), Reclaim::On));
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::InvalidArgument);
        QVERIFY(!fs::exists(place("refused.waste")));
        const fs::path ours = freshSource("inside");
        const auto inside = convert(optionsFor(ours, ours / "model.waste", Reclaim::On));
        QVERIFY(!inside);
        QCOMPARE(inside.error().code, ErrorCode::InvalidArgument);
        const fs::path cache = freshSource("snapshots");
        QCOMPARE(
            convert(optionsFor(cache, place("refused.waste"), Reclaim::On)).error().code, ErrorCode::InvalidArgument);
    }

    void aShardWithAnotherNameOrChangedIsKept()
    {
        const fs::path source = freshSource("kept");
        fs::create_hard_link(source / m_shards[2], place("other-name"));
        const auto sink = [&](const ConvertEvent& event) {
            const auto* done = std::get_if<ConvertLayerDone>(&event);
            if (done != nullptr && done->layer == 1) // before the first one goes
                fs::last_write_time(source / m_shards[5], fs::file_time_type::clock::now() + std::chrono::hours(1));
        };
        const auto report = convert(optionsFor(source, place("kept.waste"), Reclaim::On), sink);
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        QCOMPARE(report->warnings.size(), std::size_t{2});
        for (std::size_t i = 0; i < m_shards.size(); ++i)
            QCOMPARE(fs::exists(source / m_shards[i]), i == 2 || i == 5);
        compareWithReference("kept.waste");
    }

    void whatIsGoneCannotBeConvertedAgain()
    {
        const fs::path source = freshSource("gone");
        CancelFlag cancel;
        const auto sink = [&](const ConvertEvent& event) {
            const auto* done = std::get_if<ConvertLayerDone>(&event);
            if (done != nullptr && done->layer == 3)
                cancel.cancel();
        };
        QVERIFY(!convert(optionsFor(source, place("gone.waste"), Reclaim::On), sink, &cancel));
        const auto before = test::readDirectory(place("gone.waste"));
        ConvertOptions other = optionsFor(source, place("gone.waste"), Reclaim::Off);
        other.expertFormat = ExpertFormat::Vq3r;
        other.force = true;
        QCOMPARE(convert(other).error().code, ErrorCode::InvalidArgument);
        QCOMPARE(test::difference(test::readDirectory(place("gone.waste")), before), std::string());

        std::vector<std::byte> bank = test::readBytes(place("gone.waste") / "experts-L1.bin");
        bank[5000] ^= std::byte{1};
        test::writeBytes(place("gone.waste") / "experts-L1.bin", bank);
        const auto refused = convert(optionsFor(source, place("gone.waste"), Reclaim::On));
        QVERIFY(!refused);
        QCOMPARE(refused.error().reason, std::string("reclaimed"));
        QVERIFY(test::readBytes(place("gone.waste") / "experts-L1.bin") == bank); // not touched
    }

    void aFailedDeletionIsAWarningAndTriedAgain()
    {
        if (!test::FailingDisk::isSupported())
            QSKIP("no failing disk on this system");
        const fs::path source = freshSource("busy");
        CancelFlag cancel;
        bool isTold = false;
        Result<ConvertReport> stopped = Error{};
        ConvertOptions options = optionsFor(source, place("busy.waste"), Reclaim::On);
        std::unique_ptr<test::FailingDisk> disk;
        options.log = [&](LogLevel, std::string_view message) {
            isTold = isTold || message.find("tried again") != std::string_view::npos;
            disk.reset();
        };
        stopped = convert(
            options,
            [&](const ConvertEvent& event) {
                const auto* done = std::get_if<ConvertLayerDone>(&event);
                if (done != nullptr && done->layer == 1)
                    disk = std::make_unique<test::FailingDisk>(
                        test::FailingDisk::Plan{.call = test::FailingDisk::Call::Remove, .error = EACCES});
                if (std::holds_alternative<ConvertLayerStart>(event) && isTold)
                    cancel.cancel();
            },
            &cancel);
        disk.reset();
        QVERIFY(isTold);
        QVERIFY(!stopped);
        const auto isLeft = [&](const std::string& shard) {
            return fs::exists(source / shard) && ledgerOf(source).find(shard + '\t') != std::string::npos;
        };
        QVERIFY(std::ranges::any_of(m_shards, isLeft));
        QVERIFY(convert(optionsFor(source, place("busy.waste"), Reclaim::On)));
        QVERIFY(std::ranges::none_of(m_shards, isLeft));
        compareWithReference("busy.waste");
    }

private:
    // A finished download.
    fs::path freshSource(const std::string& name)
    {
        test::FakeDownload download(place("published"), place(name));
        download.deliverAll();
        m_shards = download.shards();
        return place(name);
    }
    void compareWithReference(const std::string& target) const
    {
        QCOMPARE(test::difference(test::readDirectory(place(target)), m_reference), std::string());
    }

    std::vector<std::string> m_shards;
    test::DirectoryContent m_reference;
};

int main(int argc, char** argv)
{
    QCoreApplication application(argc, argv);
    const QStringList arguments = QCoreApplication::arguments();
    if (arguments.size() == 4 && arguments[1] == "--convert") {
        ConvertOptions options = optionsFor(arguments[2].toStdString(), arguments[3].toStdString(), Reclaim::On);
        options.canDownloadAgain = true;
        const auto report = convert(options);
        if (!report)
            std::fprintf(stderr, "%s\n", report.error().message.c_str());
        return report ? 0 : 1;
    }
    ReclaimTest test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_reclaim.moc"
