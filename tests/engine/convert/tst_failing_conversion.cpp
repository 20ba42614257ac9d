// Every open, read, write, resize, flush, close, rename, removal and new folder or link of a conversion fails once: it
// says which file and what is kept, and the next run ends with the bytes of a conversion that nobody disturbed. Where
// the drive is full it does not even end, but waits and goes on.
//
// WASTE_FAULTS=all fails every call; otherwise some of each kind.

#include "container/container_files.h"
#include "support/conversion_folder.h"
#include "support/directory_content.h"
#include "support/failing_disk.h"
#include "support/tiny_checkpoint.h"
#include "waste/converter.h"

#include <QTest>

#include <algorithm>
#include <cerrno>
#include <fstream>

using namespace waste;
using Call = test::FailingDisk::Call;
namespace fs = std::filesystem;

class FailingConversionTest : public QObject, test::ConversionFolder {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        if (!test::FailingDisk::isSupported())
            QSKIP("no failing disk on this system");
        test::writeTinyCheckpoint(place("source"),
            {.layerCount = 3,
                .expertCount = 2,
                .expertWidth = 40,
                .shardCount = 3,
                .cutAnywhere = true,
                .tokenizer = true});
        fs::create_directory(place("drive"));
        QVERIFY(convert(optionsFor("reference")).has_value());
        m_reference = test::readDirectory(place("reference"));
        clear(place("reference"));
    }

    void init()
    {
        clear(place("failing"));
        clear(place("full"));
    }

    void aFailureIsExplainedAndTheNextRunGoesOn_data() { addCalls(); }
    void aFailureIsExplainedAndTheNextRunGoesOn()
    {
        QFETCH(int, call);
        // A failed read is tried once more before it counts.
        const std::uint32_t failingCount = static_cast<Call>(call) == Call::Read ? 2 : 1;
        const std::uint32_t calls = countCalls(static_cast<Call>(call));
        QVERIFY(calls > 0);
        int failures = 0;
        for (std::uint32_t n = 1; n <= calls; n += step(calls, kFailuresTried)) {
            const ConvertOptions options = optionsFor("failing");
            Result<ConvertReport> report = Error{};
            {
                const test::FailingDisk disk(
                    {.call = static_cast<Call>(call), .firstFailing = n, .failingCount = failingCount, .error = EIO});
                report = convert(options);
            }
            const std::string which = "call " + std::to_string(n) + " of " + std::to_string(calls) + ": ";
            if (!report) {
                ++failures;
                const Error& error = report.error();
                QVERIFY2(error.code == ErrorCode::Io, (which + error.message).c_str());
                QVERIFY2(error.message.find(place("").string()) != std::string::npos, (which + error.message).c_str());
                const bool hasBegun = fs::exists(options.target / ".waste-convert" / "plan.json");
                QVERIFY2(!hasBegun || error.message.find("kept") != std::string::npos, (which + error.message).c_str());
            }
            const auto resumed = convert(options);
            QVERIFY2(resumed, (which + (resumed ? "" : resumed.error().message)).c_str());
            QVERIFY2(difference(options.target).empty(), (which + difference(options.target)).c_str());
            clear(options.target);
        }
        qInfo("%d failures, of %u calls", failures, calls);
        QVERIFY(failures > 0 || static_cast<Call>(call) == Call::Remove);
    }

    void aFullDriveIsWaitedForWhereverItIsNoticed_data() { addCalls(); }
    void aFullDriveIsWaitedForWhereverItIsNoticed()
    {
        QFETCH(int, call);
        if (static_cast<Call>(call) == Call::Read || static_cast<Call>(call) == Call::Remove
            || static_cast<Call>(call) == Call::Open)
            QSKIP("needs no room");
        const std::uint32_t calls = countCalls(static_cast<Call>(call));
        int waits = 0;
        for (std::uint32_t n = 1; n <= calls; n += step(calls, kWaitsTried)) {
            const ConvertOptions options = optionsFor("full");
            const test::FailingDisk disk(
                {.call = static_cast<Call>(call), .firstFailing = n, .failingCount = 1, .error = ENOSPC});
            const auto report = convert(options, [&waits](const ConvertEvent& event) {
                waits += std::holds_alternative<ConvertWaiting>(event) ? 1 : 0;
            });
            const std::string which = "call " + std::to_string(n) + " of " + std::to_string(calls) + ": ";
            // Before anything is planned there is nothing to wait for: the conversion is refused.
            const bool isRefused = !report && report.error().code == ErrorCode::NoSpace
                && !fs::exists(options.target / ".waste-convert" / "plan.json");
            QVERIFY2(report || isRefused, (which + (report ? "" : report.error().message)).c_str());
            if (report)
                QVERIFY2(difference(options.target).empty(), (which + difference(options.target)).c_str());
            clear(options.target);
        }
        QVERIFY(waits > 0 || static_cast<Call>(call) == Call::MakeFolder);
    }

    // The trunk of an earlier run is cut to what its journal vouches for.
    void aFailureToResizeIsExplainedAndTheNextRunGoesOn()
    {
        const ConvertOptions options = optionsFor("failing");
        CancelFlag cancel;
        const auto stopAtExperts = [&cancel](const ConvertEvent& event) {
            if (std::holds_alternative<ConvertLayerStart>(event))
                cancel.cancel();
        };
        QVERIFY(!convert(options, stopAtExperts, &cancel));
        std::ofstream(options.target / ".waste-convert" / "trunk.journal", std::ios::app) << "{\"tensor\":";
        {
            const test::FailingDisk disk({.call = Call::Resize, .error = EIO});
            const auto report = convert(options);
            QVERIFY(disk.callCount() > 0);
            QVERIFY(!report);
            QCOMPARE(report.error().code, ErrorCode::Io);
            QVERIFY2(report.error().message.find("kept") != std::string::npos, report.error().message.c_str());
        }
        const auto resumed = convert(options);
        QVERIFY2(resumed, resumed ? "" : resumed.error().message.c_str());
        QVERIFY2(difference(options.target).empty(), difference(options.target).c_str());
        clear(options.target);
    }

private:
    static constexpr std::uint32_t kFailuresTried = 8;
    static constexpr std::uint32_t kWaitsTried = 3;

    static void addCalls()
    {
        QTest::addColumn<int>("call");
        QTest::newRow("read") << static_cast<int>(Call::Read);
        QTest::newRow("write") << static_cast<int>(Call::Write);
        QTest::newRow("flush") << static_cast<int>(Call::Flush);
        QTest::newRow("close") << static_cast<int>(Call::Close);
        QTest::newRow("rename") << static_cast<int>(Call::Rename);
        QTest::newRow("remove") << static_cast<int>(Call::Remove);
        QTest::newRow("open") << static_cast<int>(Call::Open);
        QTest::newRow("create") << static_cast<int>(Call::Create);
        QTest::newRow("make a folder") << static_cast<int>(Call::MakeFolder);
        QTest::newRow("link") << static_cast<int>(Call::Link);
    }
    static std::uint32_t step(std::uint32_t calls, std::uint32_t tried)
    {
        return qEnvironmentVariable("WASTE_FAULTS") == "all" ? 1 : std::max(1U, calls / tried);
    }

    [[nodiscard]] ConvertOptions optionsFor(const std::string& target) const
    {
        ConvertOptions options = test::conversionOf(place("source"), place(target));
        options.quality = ConvertQuality::Fast;
        options.bankFolders = {place("drive")}; // every second bank
        return options;
    }
    void clear(const fs::path& target) const
    {
        fs::remove_all(target);
        fs::remove_all(place("drive"));
        fs::create_directory(place("drive"));
    }
    [[nodiscard]] std::uint32_t countCalls(Call call) const
    {
        const test::FailingDisk disk({.call = call});
        (void)convert(optionsFor("counted"));
        const std::uint32_t count = disk.callCount();
        clear(place("counted"));
        return count;
    }
    [[nodiscard]] std::string difference(const fs::path& target) const
    {
        return test::difference(test::readDirectory(target), m_reference);
    }

    test::DirectoryContent m_reference;
};

QTEST_APPLESS_MAIN(FailingConversionTest)
#include "tst_failing_conversion.moc"
