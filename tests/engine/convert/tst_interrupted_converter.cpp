// A conversion that is killed without warning at random moments, again and again: at no time does the target
// hold half a container, and in the end it has the bytes of a conversion that nobody disturbed.
//
// The conversion runs in a process of its own: this program, started with --convert.

#include "container/container_files.h"
#include "container/verifier.h"
#include "support/directory_content.h"
#include "support/tiny_checkpoint.h"
#include "waste/converter.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <random>

using namespace waste;
namespace fs = std::filesystem;

namespace {

Result<ConvertReport> convertQuietly(const fs::path& source, const fs::path& target)
{
    ConvertOptions options;
    options.source = source;
    options.target = target;
    options.threadCount = 2;
    options.created = "2026-01-31T12:00:00Z";
    return convert(options);
}

} // namespace

class InterruptedConverterTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aKilledConversionLosesNothing()
    {
        const QTemporaryDir folder;
        const fs::path source = folder.filePath("source").toStdString();
        const fs::path undisturbed = folder.filePath("undisturbed").toStdString();
        const fs::path target = folder.filePath("target").toStdString();
        test::writeTinyCheckpoint(source, {.family = test::TinyFamily::KimiK3, .expertCount = 3, .tokenizer = true});
        QElapsedTimer timer;
        timer.start();
        QVERIFY(convertQuietly(source, undisturbed).has_value());
        const auto wholeMs = static_cast<int>(timer.elapsed());
        const test::DirectoryContent expected = test::readDirectory(undisturbed);

        std::mt19937 random(1);
        int killed = 0;
        for (int round = 0; round < kRounds; ++round) {
            QProcess process;
            process.start(QCoreApplication::applicationFilePath(),
                {"--convert", QString::fromStdString(source.string()), QString::fromStdString(target.string())});
            // Later rounds have less left to do: what was finished is kept.
            const int ms = static_cast<int>(random() % static_cast<unsigned>(wholeMs + 20));
            if (process.waitForFinished(ms)) {
                QCOMPARE(process.exitCode(), 0);
                fs::remove_all(target); // it was faster; begin again
                continue;
            }
            process.kill();
            process.waitForFinished();
            ++killed;
            if (*ContainerFiles::isContainer(target))
                QCOMPARE(damagesOf(target), std::string());
        }
        qInfo("%d of %d runs were killed within %d ms", killed, kRounds, wholeMs);
        QVERIFY(killed >= kRounds / 4);
        const auto report = convertQuietly(source, target);
        QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
        QCOMPARE(test::difference(test::readDirectory(target), expected), std::string());
    }

private:
    static constexpr int kRounds = 16;

    // A container that can be opened is whole, whatever else lies beside it.
    static std::string damagesOf(const fs::path& target)
    {
        const auto files = ContainerFiles::open(target);
        if (!files)
            return files.error().message;
        std::string damages;
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
        return convertQuietly(arguments[2].toStdString(), arguments[3].toStdString()) ? 0 : 1;
    InterruptedConverterTest test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_interrupted_converter.moc"
