// Banks in folders on other drives: the same bytes as a container in one folder, whenever the conversion is killed; a
// drive that is not there is told, and nothing of anybody else is written over or deleted.

#include "container/container_files.h"
#include "support/conversion_folder.h"
#include "support/directory_content.h"
#include "support/failing_disk.h"
#include "support/safetensors_writer.h"
#include "support/tiny_checkpoint.h"
#include "waste/container.h"
#include "waste/converter.h"
#include "waste/verifier.h"

#include <QTest>

#include <cerrno>
#include <fstream>

using namespace waste;
namespace fs = std::filesystem;

class BankPlacesTest : public QObject, test::ConversionFolder {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        std::error_code error;
        fs::create_symlink("nowhere", place("link"), error);
        if (error)
            QSKIP("this system makes no symbolic links");
        test::writeTinyCheckpoint(place("source"), {.layerCount = 5, .expertCount = 3});
        QVERIFY(convert(optionsFor("reference", {})));
        m_reference = contentOf("reference");
        QVERIFY(m_reference.contains("experts-L4.bin"));
    }
    void init()
    {
        for (const char* name : {"b", "c", "m.waste", "moved"})
            fs::remove_all(place(name));
        fs::create_directory(place("b"));
        fs::create_directory(place("c"));
    }

    // Layers 1 to 4 in three places.
    void banksTakeTurnsAndAreTheSame()
    {
        const auto report = convert(optionsFor("m.waste", {"b", "c"}));
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        QVERIFY(!fs::is_symlink(place("m.waste") / "experts-L1.bin"));
        QCOMPARE(fs::read_symlink(place("m.waste") / "experts-L2.bin"), place("b") / "m.waste.experts-L2.bin");
        QCOMPARE(fs::read_symlink(place("m.waste") / "experts-L3.bin"), place("c") / "m.waste.experts-L3.bin");
        QVERIFY(!fs::is_symlink(place("m.waste") / "experts-L4.bin"));
        compareWithReference();
        const auto container = Container::open(place("m.waste"));
        QVERIFY(container);
        const std::vector<ModelInfo::BankFolder>& folders = (*container)->info().bankFolders;
        QCOMPARE(folders.size(), std::size_t{2});
        QCOMPARE(folders[0].path, place("b").string());
        QCOMPARE(folders[0].layers, 1U);
        QCOMPARE(folders[0].bytes, fs::file_size(place("b") / "m.waste.experts-L2.bin"));
        QVERIFY(verify()->damageCount == 0);
        // Links are absolute: the container may be moved within its drive.
        fs::rename(place("m.waste"), place("moved"));
        QVERIFY(ContainerFiles::open(place("moved")));
    }

    void aStoppedConversionGoesOnAndKeepsWhatIsElsewhere()
    {
        CancelFlag cancel;
        const auto stopAtLayer3 = [&](const ConvertEvent& event) {
            const auto* progress = std::get_if<Progress>(&event);
            const bool inLayer3 = fs::exists(place("c") / "m.waste.experts-L3.bin");
            if (progress != nullptr && inLayer3)
                cancel.cancel();
        };
        QVERIFY(!convert(optionsFor("m.waste", {"b", "c"}), stopAtLayer3, &cancel));
        QVERIFY(!fs::exists(fs::symlink_status(place("m.waste") / "experts-L3.bin"))); // it is not whole
        const auto report = convert(optionsFor("m.waste", {"b", "c"}));
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        QCOMPARE(report->layersKept, 2U);
        compareWithReference();
    }

    void aDriveThatIsNotThereIsNamed()
    {
        QVERIFY(convert(optionsFor("m.waste", {"b"})));
        fs::rename(place("b"), place("b-elsewhere"));
        const auto opened = ContainerFiles::open(place("m.waste"));
        QVERIFY(!opened);
        QCOMPARE(opened.error().code, ErrorCode::Corrupt);
        QVERIFY2(opened.error().message.find(place("b").string()) != std::string::npos
                && opened.error().message.find("Connect the drive") != std::string::npos,
            opened.error().message.c_str());
        // Nor is the layer quietly made once more.
        const auto again = convert(optionsFor("m.waste", {}));
        QVERIFY(!again);
        QVERIFY2(again.error().message.find("Connect the drive") != std::string::npos, again.error().message.c_str());
        const auto missing = convert(optionsFor("m.waste", {"b"}));
        QVERIFY(!missing);
        QCOMPARE(missing.error().code, ErrorCode::NotFound);
        fs::rename(place("b-elsewhere"), place("b"));
        QVERIFY(convert(optionsFor("m.waste", {"b"})));
        compareWithReference();
    }

    void filesOfOthersAreNotWrittenOver()
    {
        std::ofstream(place("b") / "m.waste.experts-L2.bin") << "precious";
        const auto refused = convert(optionsFor("m.waste", {"b"}));
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::InvalidArgument);
        QCOMPARE(test::readBytes(place("b") / "m.waste.experts-L2.bin").size(), std::size_t{8});
    }

    void foldersInsideOfModelOrCheckpointAreRefused()
    {
        fs::create_directories(place("m.waste") / "banks");
        for (const char* folder : {"m.waste/banks", "m.waste", "source"}) {
            const auto refused = convert(optionsFor("m.waste", {folder}));
            QVERIFY(!refused);
            QCOMPARE(refused.error().code, ErrorCode::InvalidArgument);
        }
    }

    void whatIsReplacedLeavesNothingBehind()
    {
        QVERIFY(convert(optionsFor("m.waste", {"b"})));
        ConvertOptions other = optionsFor("m.waste", {"c"});
        other.trunkBits = 8;
        other.force = true;
        QVERIFY(convert(other));
        QVERIFY(fs::is_empty(place("b")));
        QCOMPARE(test::readDirectory(place("c")).size(), std::size_t{2});
    }

    void aDamagedBankIsMadeAgainInItsNewPlace()
    {
        QVERIFY(convert(optionsFor("m.waste", {"b"})));
        std::vector<std::byte> bank = test::readBytes(place("b") / "m.waste.experts-L2.bin");
        bank[100] ^= std::byte{1};
        test::writeBytes(place("b") / "m.waste.experts-L2.bin", bank);
        const auto same = convert(optionsFor("m.waste", {"b"}));
        QVERIFY(same && same->layersConverted == 1);
        compareWithReference();
        test::writeBytes(place("b") / "m.waste.experts-L2.bin", bank);
        const auto report = convert(optionsFor("m.waste", {"c"}));
        QVERIFY(report && report->layersConverted == 1);
        QVERIFY(!fs::exists(place("b") / "m.waste.experts-L2.bin"));
        QVERIFY(fs::exists(place("c") / "m.waste.experts-L2.bin"));
        compareWithReference();
    }

    void everyFailureOnTheWayLeavesAStateToGoOnFrom_data()
    {
        QTest::addColumn<int>("call");
        QTest::newRow("flush") << static_cast<int>(test::FailingDisk::Call::Flush);
        QTest::newRow("close") << static_cast<int>(test::FailingDisk::Call::Close);
        QTest::newRow("rename") << static_cast<int>(test::FailingDisk::Call::Rename);
        QTest::newRow("remove") << static_cast<int>(test::FailingDisk::Call::Remove);
    }
    void everyFailureOnTheWayLeavesAStateToGoOnFrom()
    {
        if (!test::FailingDisk::isSupported())
            QSKIP("no failing disk on this system");
        QFETCH(int, call);
        const auto which = static_cast<test::FailingDisk::Call>(call);
        std::uint32_t calls = 0;
        {
            const test::FailingDisk disk({.call = which});
            (void)convert(optionsFor("m.waste", {"b", "c"}));
            calls = disk.callCount();
        }
        for (std::uint32_t n = 1; n <= calls; n += 1 + calls / 4) {
            init();
            {
                const test::FailingDisk disk({.call = which, .firstFailing = n, .failingCount = 1, .error = EIO});
                (void)convert(optionsFor("m.waste", {"b", "c"}));
            }
            const auto report = convert(optionsFor("m.waste", {"b", "c"}));
            QVERIFY2(report, report ? "" : report.error().message.c_str());
            compareWithReference();
            QCOMPARE(test::readDirectory(place("b")).size(), std::size_t{1});
            QCOMPARE(test::readDirectory(place("c")).size(), std::size_t{1});
        }
    }

private:
    [[nodiscard]] ConvertOptions optionsFor(const std::string& target, const std::vector<std::string>& folders) const
    {
        ConvertOptions options = test::conversionOf(place("source"), place(target));
        options.quality = ConvertQuality::Fast;
        for (const std::string& folder : folders)
            options.bankFolders.push_back(place(folder));
        return options;
    }
    // Whatever stands behind a name.
    [[nodiscard]] test::DirectoryContent contentOf(const std::string& target) const
    {
        return test::readDirectory(place(target));
    }
    void compareWithReference() const { QCOMPARE(test::difference(contentOf("m.waste"), m_reference), std::string()); }
    [[nodiscard]] Result<VerifyReport> verify() const
    {
        auto container = Container::open(place("m.waste"));
        CancelFlag cancel;
        return verifyContainer(**container, {}, {}, {}, cancel);
    }

    test::DirectoryContent m_reference;
};

QTEST_APPLESS_MAIN(BankPlacesTest)
#include "tst_bank_places.moc"
