// A conversion that goes on where another one stopped: it keeps what is sound, makes again what is not and says
// so, and waits where the drive is full.

#include "container/container_files.h"
#include "convert/work_folder.h"
#include "support/conversion_folder.h"
#include "support/directory_content.h"
#include "support/failing_disk.h"
#include "support/safetensors_writer.h"
#include "support/small_drive.h"
#include "support/tiny_checkpoint.h"
#include "waste/converter.h"

#include <QTest>

#include <cerrno>
#include <optional>

using namespace waste;
namespace fs = std::filesystem;

class ResumedConverterTest : public QObject, test::ConversionFolder {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        test::writeTinyCheckpoint(place("source"), {.expertCount = 3, .expertWidth = 40, .tokenizer = true});
        QVERIFY(convert(optionsFor("reference")).has_value());
        m_reference = test::readDirectory(place("reference"));
        stopAfterLayer(2, "stopped"); // layers 1 and 2 are finished, 3 is not
    }

    void whatIsKeptIsCheckedFirst()
    {
        const ConvertOptions options = copyOfStopped("checked");
        std::string order;
        std::uint64_t checkedBytes = 0;
        const auto sink = [&](const ConvertEvent& event) {
            const auto* progress = std::get_if<Progress>(&event);
            if (progress != nullptr && progress->stage == "checking") {
                checkedBytes = progress->done;
                QCOMPARE(progress->total, 2 * bankBytes() + trunkBytes());
                QVERIFY(order.empty());
            } else if (std::holds_alternative<ConvertPlan>(event)) {
                order += 'p';
            }
        };
        const auto report = convert(options, sink);
        QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
        QCOMPARE(checkedBytes, 2 * bankBytes() + trunkBytes());
        QCOMPARE(report->layersKept, 2U);
        QVERIFY(report->warnings.empty());
        compareWithReference(options.target);
    }

    void damageOfWhatIsKeptIsSaidAndMadeGood_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<double>("place"); // part of the file's length
        QTest::newRow("codebooks, first byte") << ".waste-convert/codebooks-L2.bin" << 0.0;
        QTest::newRow("codebooks, a value") << ".waste-convert/codebooks-L2.bin" << 0.4;
        QTest::newRow("codebooks, last byte") << ".waste-convert/codebooks-L2.bin" << 1.0;
        QTest::newRow("facts") << ".waste-convert/layer-L2.json" << 0.5;
        QTest::newRow("bank, first record") << "experts-L2.bin" << 0.1;
        QTest::newRow("bank, middle record") << "experts-L2.bin" << 0.5;
        QTest::newRow("bank, last record") << "experts-L2.bin" << 0.7;
    }
    void damageOfWhatIsKeptIsSaidAndMadeGood()
    {
        QFETCH(QString, file);
        QFETCH(double, place);
        const ConvertOptions options = copyOfStopped("damaged" + std::to_string(++m_copies));
        const fs::path path = options.target / file.toStdString();
        std::vector<std::byte> bytes = test::readBytes(path);
        QVERIFY(!bytes.empty());
        bytes[static_cast<std::size_t>(place * static_cast<double>(bytes.size() - 1))] ^= std::byte{1};
        test::writeBytes(path, bytes);

        const auto report = convert(options);
        QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
        QCOMPARE(report->layersKept, 1U);
        QCOMPARE(report->warnings.size(), std::size_t{1});
        QVERIFY2(report->warnings[0].starts_with("layer 2 is converted again"), report->warnings[0].c_str());
        compareWithReference(options.target);
    }

    // What to do is to convert it again, which is what happens: nobody has to copy anything.
    void aBankThatIsCutWhileItIsCheckedHasOneRemedy()
    {
        const ConvertOptions options = copyOfStopped("cut");
        const std::uint64_t recordBytes = bankBytes() / 3;
        const auto sink = [&](const ConvertEvent& event) {
            const auto* progress = std::get_if<Progress>(&event);
            if (progress != nullptr && progress->stage == "checking"
                && progress->done == trunkBytes() + bankBytes() + recordBytes) // of layer 2
                fs::resize_file(options.target / "experts-L2.bin", recordBytes);
        };
        const auto report = convert(options, sink);
        QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
        QCOMPARE(report->warnings.size(), std::size_t{1});
        const std::string& warning = report->warnings[0];
        QVERIFY2(warning.starts_with("layer 2 is converted again"), warning.c_str());
        QVERIFY2(warning.ends_with("bytes are needed at offset " + std::to_string(recordBytes)), warning.c_str());
        compareWithReference(options.target);
    }

    void damageOfTheKeptTrunkIsSaidAndMadeGood_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<double>("place"); // part of the file's length
        QTest::addColumn<bool>("isSaid");
        QTest::newRow("a weight") << ".waste-convert/trunk.bin" << 0.0 << true;
        QTest::newRow("the end") << ".waste-convert/trunk.bin" << 1.0 << true;
        QTest::newRow("the journal's first line") << ".waste-convert/trunk.journal" << 0.0 << false;
        QTest::newRow("a torn line") << ".waste-convert/trunk.journal" << 1.0 << false;
    }
    void damageOfTheKeptTrunkIsSaidAndMadeGood()
    {
        QFETCH(QString, file);
        QFETCH(double, place);
        QFETCH(bool, isSaid);
        const ConvertOptions options = copyOfStopped("trunk" + std::to_string(++m_copies));
        const fs::path path = options.target / file.toStdString();
        std::vector<std::byte> bytes = test::readBytes(path);
        bytes[static_cast<std::size_t>(place * static_cast<double>(bytes.size() - 1))] ^= std::byte{1};
        test::writeBytes(path, bytes);
        const auto report = convert(options);
        QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
        QCOMPARE(report->layersKept, 2U);
        QCOMPARE(report->warnings.size(), isSaid ? std::size_t{1} : std::size_t{0});
        QVERIFY(!isSaid || report->warnings[0].starts_with("parts of the trunk are converted again"));
        compareWithReference(options.target);
    }

    void aTrunkThatWasRenamedBeforeTheCommitIsKept()
    {
        const ConvertOptions options = copyOfStopped("renamed");
        fs::rename(options.target / ".waste-convert" / "trunk.bin", options.target / "trunk.bin.new");
        std::uint64_t keptBytes = 0;
        const auto report = convert(options, [&](const ConvertEvent& event) {
            if (const auto* plan = std::get_if<ConvertPlan>(&event))
                keptBytes = plan->trunkBytesKept;
        });
        QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
        QCOMPARE(keptBytes, trunkBytes());
        compareWithReference(options.target);
    }

    void aFullDriveIsWaitedFor_data()
    {
        QTest::addColumn<quint32>("firstFailing"); // of the writes
        QTest::addColumn<int>("error");
        QTest::newRow("in the trunk") << 5U << ENOSPC;
#ifdef EDQUOT
        QTest::newRow("in the trunk, a quota") << 6U << EDQUOT;
#endif
        QTest::newRow("in a bank") << codebooksWrite() - 4 << ENOSPC;
        QTest::newRow("codebooks") << codebooksWrite() << ENOSPC;
        QTest::newRow("last file") << lastWrite() << ENOSPC;
    }
    void aFullDriveIsWaitedFor()
    {
        if (!test::FailingDisk::isSupported())
            QSKIP("no failing disk on this system");
        QFETCH(quint32, firstFailing);
        QFETCH(int, error);
        const ConvertOptions options = optionsFor("full" + std::to_string(++m_copies));
        int waits = 0;
        const auto sink = [&](const ConvertEvent& event) {
            if (const auto* waiting = std::get_if<ConvertWaiting>(&event)) {
                ++waits;
                QVERIFY(waiting->bytesNeeded > 0);
            }
        };
        const test::FailingDisk disk(
            {.call = test::FailingDisk::Call::Write, .firstFailing = firstFailing, .failingCount = 1, .error = error});
        const auto report = convert(options, sink);
        QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
        QCOMPARE(waits, 1);
        compareWithReference(options.target);
    }

    // So that, for one, a download on the same drive, which pauses below its reserve, can go on.
    void theLastOfADriveIsLeftFree()
    {
        if (!test::SmallDrive::isSupported())
            QSKIP("no small drive on this system");
        std::uint64_t containerBytes = 0;
        std::vector<std::uint64_t> needed;
        test::SmallDrive drive(std::uint64_t{1} << 40);
        const auto sink = [&](const ConvertEvent& event) {
            if (const auto* plan = std::get_if<ConvertPlan>(&event))
                containerBytes = plan->containerBytes;
            else if (const auto* start = std::get_if<ConvertLayerStart>(&event); start && start->layer == 1)
                drive.setFreeBytes(bankBytes() + containerBytes - 1); // one byte less than the next layer wants
            else if (const auto* waiting = std::get_if<ConvertWaiting>(&event)) {
                needed.push_back(waiting->bytesNeeded);
                drive.setFreeBytes(waiting->bytesNeeded);
            }
        };
        const ConvertOptions options = optionsFor("scarce");
        const auto report = convert(options, sink);
        QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
        QCOMPARE(needed, std::vector<std::uint64_t>{bankBytes() + containerBytes});
        compareWithReference(options.target);
    }

    void aDriveWithoutThatReserveIsRefused()
    {
        if (!test::SmallDrive::isSupported())
            QSKIP("no small drive on this system");
        test::SmallDrive drive(0);
        const ConvertOptions options = optionsFor("refused");
        std::uint64_t containerBytes = 0;
        const auto refused = convert(options, [&](const ConvertEvent& event) {
            if (const auto* plan = std::get_if<ConvertPlan>(&event))
                containerBytes = plan->containerBytes;
        });
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::NoSpace);
        drive.setFreeBytes(2 * containerBytes);
        QVERIFY(!convert(options));
        drive.setFreeBytes(2 * containerBytes + containerBytes / 100);
        QVERIFY(convert(options).has_value());
    }

    void theWaitForRoomCanBeCancelledAndContinued()
    {
        if (!test::FailingDisk::isSupported())
            QSKIP("no failing disk on this system");
        const ConvertOptions options = optionsFor("cancelled");
        CancelFlag cancel;
        const auto sink = [&](const ConvertEvent& event) {
            if (std::holds_alternative<ConvertWaiting>(event))
                cancel.cancel();
        };
        {
            const test::FailingDisk disk({.call = test::FailingDisk::Call::Write, .firstFailing = 10, .error = ENOSPC});
            const auto stopped = convert(options, sink, &cancel);
            QVERIFY(!stopped);
            QCOMPARE(stopped.error().code, ErrorCode::Cancelled);
        }
        QVERIFY(convert(options).has_value());
        compareWithReference(options.target);
    }

    void aTargetThatCannotBeFoundIsRefusedWithTheReason()
    {
        const fs::path loop = place("loop");
        std::error_code error;
        fs::create_symlink(loop, loop, error);
        if (error)
            QSKIP("this file system has no symbolic links");
        ConvertOptions options = optionsFor("loop");
        options.target = loop / "model.waste";
        const auto refused = convert(options);
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::Io);
        QVERIFY2(refused.error().message.find("loop") != std::string::npos
                && refused.error().message.find("contains") == std::string::npos,
            refused.error().message.c_str());
    }

private:
    [[nodiscard]] ConvertOptions optionsFor(const std::string& target) const
    {
        return test::conversionOf(place("source"), place(target));
    }
    [[nodiscard]] std::uint64_t bankBytes() const { return m_reference.at("experts-L1.bin").size(); }
    [[nodiscard]] std::uint64_t trunkBytes() const // without the gaps of the file
    {
        std::uint64_t bytes = 0;
        const auto files = ContainerFiles::open(place("reference"));
        for (const TrunkEntry& entry : files->manifest.trunk)
            bytes += entry.layout.bytes();
        return bytes;
    }

    void stopAfterLayer(std::uint32_t layer, const std::string& target) const
    {
        CancelFlag cancel;
        const auto sink = [&](const ConvertEvent& event) {
            const auto* done = std::get_if<ConvertLayerDone>(&event);
            if (done != nullptr && done->layer == layer)
                cancel.cancel();
        };
        QVERIFY(!convert(optionsFor(target), sink, &cancel));
    }
    [[nodiscard]] ConvertOptions copyOfStopped(const std::string& target) const
    {
        fs::copy(place("stopped"), place(target), fs::copy_options::recursive);
        return optionsFor(target);
    }
    void compareWithReference(const fs::path& target) const
    {
        QCOMPARE(test::difference(test::readDirectory(target), m_reference), std::string());
    }

    // Numbers of write calls in an undisturbed conversion: the last, and the one that writes codebooks.bin.
    [[nodiscard]] quint32 lastWrite() const { return countWrites("counted-all", {}); }
    [[nodiscard]] quint32 codebooksWrite() const { return countWrites("counted-layers", 3U) + 1; }
    [[nodiscard]] quint32 countWrites(const std::string& target, std::optional<std::uint32_t> layersOnly) const
    {
        const test::FailingDisk disk({.call = test::FailingDisk::Call::Write});
        if (layersOnly)
            stopAfterLayer(*layersOnly, target);
        else
            (void)convert(optionsFor(target));
        fs::remove_all(place(target));
        return disk.callCount();
    }

    test::DirectoryContent m_reference;
    int m_copies = 0;
};

QTEST_APPLESS_MAIN(ResumedConverterTest)
#include "tst_resumed_converter.moc"
