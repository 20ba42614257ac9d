// A conversion that is killed without warning at random moments, again and again: at no time does the target
// hold half a container, no layer that was finished is begun again, and in the end it has the bytes of a conversion
// that nobody disturbed.
//
// The conversion runs in a process of its own: this program, started with --convert. WASTE_KILLS is how often it is
// killed.

#include "container/container_files.h"
#include "container/verifier.h"
#include "support/conversion_folder.h"
#include "support/directory_content.h"
#include "support/tiny_checkpoint.h"
#include "waste/converter.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QProcess>
#include <QTest>

#include <cstdio>
#include <random>
#include <set>

using namespace waste;
namespace fs = std::filesystem;

namespace {

constexpr int kKills = 25;

Result<ConvertReport> convertQuietly(const fs::path& source, const fs::path& target, const ConvertSink& sink = {})
{
    ConvertOptions options = test::conversionOf(source, target);
    options.threadCount = 2;
    return convert(options, sink);
}

// Says on standard output which units of work are kept, begun and finished.
void tellUnits(const ConvertEvent& event)
{
    if (const auto* plan = std::get_if<ConvertPlan>(&event))
        std::printf("trunk %llu\n", static_cast<unsigned long long>(plan->trunkBytesKept));
    if (const auto* start = std::get_if<ConvertLayerStart>(&event))
        std::printf("start %u\n", start->layer);
    if (const auto* done = std::get_if<ConvertLayerDone>(&event))
        std::printf("done %u\n", done->layer);
    std::fflush(stdout);
}

// What all runs over one target have told so far.
struct Units {
    std::set<unsigned> layersDone;
    unsigned long long trunkBytes = 0;
    std::string repeated; // a unit that was finished and yet begun again

    void add(const QByteArray& output)
    {
        for (const QByteArray& line : output.split('\n')) {
            const QList<QByteArray> words = line.split(' ');
            if (words.size() != 2 || !line.endsWith(words[1]))
                continue;
            if (words[0] == "start" && layersDone.contains(words[1].toUInt()))
                repeated = line.toStdString();
            if (words[0] == "done")
                layersDone.insert(words[1].toUInt());
            if (words[0] == "trunk" && words[1].toULongLong() < trunkBytes)
                repeated = line.toStdString();
            if (words[0] == "trunk")
                trunkBytes = words[1].toULongLong();
        }
    }
};

} // namespace

class InterruptedConverterTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aKilledConversionLosesNothing()
    {
        const test::ConversionFolder folder;
        const fs::path source = folder.place("source");
        const fs::path undisturbed = folder.place("undisturbed");
        const fs::path target = folder.place("target");
        test::writeTinyCheckpoint(source,
            {.family = test::TinyFamily::KimiK3,
                .layerCount = 6,
                .expertCount = 4,
                .shardCount = 40,
                .cutAnywhere = true,
                .tokenizer = true});
        QElapsedTimer timer;
        timer.start();
        QVERIFY(convertQuietly(source, undisturbed).has_value());
        const auto wholeMs = static_cast<unsigned>(timer.elapsed());
        const test::DirectoryContent expected = test::readDirectory(undisturbed);

        bool isGiven = false;
        const int wanted = qEnvironmentVariableIntValue("WASTE_KILLS", &isGiven);
        const int kills = isGiven ? wanted : kKills;
        std::mt19937 random(1);
        Units units;
        int killed = 0;
        int finished = 0;
        while (killed < kills) {
            QVERIFY2(finished <= kills, "the conversion is too fast to be killed");
            QProcess process;
            process.start(QCoreApplication::applicationFilePath(),
                {"--convert", QString::fromStdString(source.string()), QString::fromStdString(target.string())});
            // A conversion is killed some times on its way before it is finished.
            const bool isFinished = process.waitForFinished(static_cast<int>(random() % (wholeMs / 2 + 20)));
            if (!isFinished) {
                process.kill();
                process.waitForFinished();
                ++killed;
            }
            units.add(process.readAllStandardOutput());
            QCOMPARE(units.repeated, std::string());
            if (*ContainerFiles::isContainer(target))
                QCOMPARE(damagesOf(target), std::string());
            if (!isFinished)
                continue;
            QCOMPARE(process.exitCode(), 0);
            QCOMPARE(test::difference(test::readDirectory(target), expected), std::string());
            fs::remove_all(target);
            units = {};
            ++finished;
        }
        qInfo("killed %d times, finished %d times; undisturbed %u ms", killed, finished, wholeMs);
        const auto report = convertQuietly(source, target);
        QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
        QCOMPARE(test::difference(test::readDirectory(target), expected), std::string());
    }

private:
    // A container that can be opened is whole, whatever else lies beside it.
    static std::string damagesOf(const fs::path& target)
    {
        const auto files = ContainerFiles::open(target);
        if (!files)
            return files.error().message;
        std::string damages;
        for (const std::string& warning : files->warnings)
            damages += warning;
        const auto tell = [&damages](const Damage& damage) { damages += damage.error.message; };
        const auto report = verifyContainer(*files, {}, tell, {}, CancelFlag());
        return report ? damages : report.error().message;
    }
};

int main(int argc, char** argv)
{
    QCoreApplication application(argc, argv);
    const QStringList arguments = QCoreApplication::arguments();
    if (arguments.size() == 4 && arguments[1] == "--convert")
        return convertQuietly(arguments[2].toStdString(), arguments[3].toStdString(), tellUnits) ? 0 : 1;
    InterruptedConverterTest test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_interrupted_converter.moc"
