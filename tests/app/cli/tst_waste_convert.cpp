// `waste convert` (spec: cli B.7): what it says, what it leaves behind, and how it is interrupted and refused.

#include "support/fake_download.h"
#include "waste_program.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>

#include <csignal>

namespace {

const QString kSource = QStringLiteral(WASTE_TEST_DATA "/kl-mini");

QByteArray contentOf(const QString& folder)
{
    QByteArray content;
    for (const QFileInfo& info : QDir(folder).entryInfoList(QDir::Files, QDir::Name)) {
        QFile file(info.filePath());
        if (info.fileName() == "manifest.json" || info.fileName() == "integrity.json"
            || !file.open(QIODevice::ReadOnly))
            continue; // the manifest holds the time, and integrity.json its checksum
        content += info.fileName().toUtf8() + '\n' + file.readAll();
    }
    return content;
}

} // namespace

class TestWasteConvert : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void makesAModelThatOpens()
    {
        const auto outcome = runWaste({"convert", "--src", kSource, "--out", target()});
        COMPARE_EXIT(outcome, 0);
        QVERIFY(outcome.output.isEmpty());
        QVERIFY2(outcome.errors.contains("waste: layer 6: "), outcome.errors.constData());
        QVERIFY(outcome.errors.contains("waste: done in "));
        const QJsonObject info = runWaste({"info", target(), "--json"}).json();
        QCOMPARE(info["arch"_L1].toString(), QString("kimi-linear"));
        QCOMPARE(info["experts"_L1].toInt(), 16);
        COMPARE_EXIT(runWaste({"eval", target(), "--ids", "1 2 3", "--verify"}), 0);
    }

    void quietMeansQuiet()
    {
        const auto outcome = runWaste({"convert", "--src", kSource, "--out", target(), "--quiet"});
        COMPARE_EXIT(outcome, 0);
        QVERIFY(outcome.output.isEmpty() && outcome.errors.isEmpty());
    }

    void eventsTellTheWholeWay()
    {
        const auto outcome = runWaste({"convert", "--src", kSource, "--out", target(), "--json"});
        COMPARE_EXIT(outcome, 0);
        const auto events = outcome.jsonLines();
        QStringList kinds;
        for (const QJsonObject& event : events)
            kinds << event["event"_L1].toString();
        QCOMPARE(kinds.first(), QString("plan"));
        QCOMPARE(events.first()["layers"_L1].toArray(), QJsonArray({1, 2, 3, 4, 5, 6}));
        QVERIFY(events.first()["settings"_L1].toString().startsWith("VQ4P default, trunk 4 bits"));
        QVERIFY(events.first()["container_bytes"_L1].toInt() > 0);
        QCOMPARE(kinds.count("layer_start"), 6);
        QCOMPARE(kinds.count("layer_done"), 6);
        const auto last = std::find_if(events.rbegin(), events.rend(),
            [](const QJsonObject& event) { return event["event"_L1] == "progress"_L1; });
        QVERIFY(last != events.rend());
        QCOMPARE((*last)["stage"_L1].toString(), QString("experts"));
        QCOMPARE((*last)["done"_L1].toInteger(), (*last)["total"_L1].toInteger());
        QCOMPARE((*last)["total"_L1].toInteger(), events.first()["expert_bytes"_L1].toInteger());
        QCOMPARE((*last)["experts_done"_L1].toInt(), 6 * 16);
        QCOMPARE((*last)["experts"_L1].toInt(), 6 * 16);
        const QJsonObject done = events.last();
        QCOMPARE(done["event"_L1].toString(), QString("done"));
        QCOMPARE(done["layers_converted"_L1].toInt(), 6);
        QVERIFY(done["expert_error"_L1].toDouble() > 0.05 && done["expert_error"_L1].toDouble() < 0.3);
        QVERIFY(runWaste({"info", target(), "--json"}).json()["quantization"_L1].toString().contains("VQ4P"));
    }

    void anInterruptedRunIsContinued()
    {
        const QString whole = m_folder->filePath("whole.waste");
        COMPARE_EXIT(runWaste({"convert", "--src", WASTE_K3_MINI_CHECKPOINT, "--out", whole, "-q"}), 0);

        WasteProgram program;
        QProcess process;
        process.setProcessEnvironment(program.environment);
        process.start(WASTE_CLI, {"convert", "--src", WASTE_K3_MINI_CHECKPOINT, "--out", target(), "--json"});
        QVERIFY(process.waitForStarted());
        QByteArray seen;
        while (!seen.contains("layer_done") && process.waitForReadyRead(program.timeoutMs))
            seen += process.readAllStandardOutput();
        ::kill(static_cast<pid_t>(process.processId()), SIGINT);
        const auto interrupted = program.wait(process);
        COMPARE_EXIT(interrupted, 130);
        QCOMPARE(interrupted.json()["code"_L1].toString(), QString("cancelled"));
        QVERIFY2(interrupted.errors.contains("the same command goes on"), interrupted.errors.constData());
        const auto tooEarly = runWaste({"info", target()});
        COMPARE_EXIT(tooEarly, 6);
        QVERIFY2(tooEarly.errors.contains("unfinished conversion"), tooEarly.errors.constData());

        const auto continued = runWaste({"convert", "--src", WASTE_K3_MINI_CHECKPOINT, "--out", target(), "--json"});
        COMPARE_EXIT(continued, 0);
        const auto events = continued.jsonLines();
        QCOMPARE(events.first()["stage"_L1].toString(), QString("checking")); // what the first run has left
        const auto isPlan = [](const QJsonObject& event) { return event["event"_L1] == "plan"_L1; };
        const auto plan = std::find_if(events.begin(), events.end(), isPlan);
        QVERIFY(plan != events.end());
        QVERIFY(!(*plan)["layers_kept"_L1].toArray().isEmpty());
        QVERIFY(contentOf(target()) == contentOf(whole));
    }

    void aSecondRunSaysWhatItFound()
    {
        COMPARE_EXIT(runWaste({"convert", "--src", kSource, "--out", target(), "--quality", "fast", "-q"}), 0);
        const auto again = runWaste({"convert", "--src", kSource, "--out", target(), "--quality", "fast"});
        COMPARE_EXIT(again, 0);
        QVERIFY2(again.errors.contains("an earlier run has converted everything: 6 layers with experts and the trunk"),
            again.errors.constData());
        for (const char* nonsense : {"converting", "trunk 0.0 %"})
            QVERIFY2(!again.errors.contains(nonsense), again.errors.constData());
    }

    void whatIsNoCheckpointIsNamed()
    {
        const auto refused = [this](const QString& source) {
            const auto outcome = runWaste({"convert", "--src", source, "--out", m_folder->filePath("none.waste")});
            return outcome.exitCode == 6 ? outcome.errors : outcome.description();
        };
        const auto make = [this](const QString& name) {
            QFile file(m_folder->filePath(name));
            QDir().mkpath(QFileInfo(file).path());
            return file.open(QIODevice::WriteOnly) ? file.fileName() : QString();
        };
        const QByteArray container = refused(QStringLiteral(WASTE_K3_MINI_CONTAINER));
        QVERIFY2(container.contains("converted already"), container.constData());
        QVERIFY(container.contains("`waste chat \"" WASTE_K3_MINI_CONTAINER "\"`"));
        const QByteArray gguf = refused(make("model.gguf"));
        QVERIFY2(gguf.contains("GGUF"), gguf.constData());
        QVERIFY(refused(make("a/model-Q4.gguf").section('/', 0, -2)).contains("GGUF"));
        QVERIFY(refused(make("b/model.safetensors")).contains("name the folder that holds it"));
        QVERIFY(!make("c/config.json").isEmpty());
        QVERIFY(refused(m_folder->filePath("c")).contains("is the download complete?"));
        QVERIFY(!make("c/pytorch_model.bin").isEmpty());
        QVERIFY(refused(m_folder->filePath("c")).contains("safetensors release"));
        QVERIFY(refused("/usr").contains("holds no checkpoint"));
    }

    void refusalsHaveTheirExitCodes()
    {
        COMPARE_EXIT(runWaste({"convert"}), 2);
        COMPARE_EXIT(runWaste({"convert", "--src", kSource}), 2);
        const auto missing = runWaste({"convert", "--src", "/nonexistent", "--out", target(), "--json"});
        COMPARE_EXIT(missing, 6);
        QCOMPARE(missing.json()["code"_L1].toString(), QString("not_found"));
        // A folder that is no checkpoint.
        COMPARE_EXIT(runWaste({"convert", "--src", m_folder->path(), "--out", target()}), 6);
        const auto foreign = runWaste({"convert", "--src", kSource, "--out", m_folder->filePath("a.waste"), "-q"});
        COMPARE_EXIT(foreign, 0);
        COMPARE_EXIT(
            runWaste({"convert", "--src", kSource, "--out", m_folder->filePath("a.waste"), "--expert-format", "vq3r"}),
            2);
        COMPARE_EXIT(runWaste({"convert", "--src", kSource, "--out", m_folder->filePath("a.waste"), "--expert-format",
                         "vq3r", "--force", "-q"}),
            0);
    }

    void moreWorkLosesLess()
    {
        double before = 1;
        for (const char* quality : {"fast", "default", "best"}) {
            const QString model = m_folder->filePath(quality);
            const auto outcome =
                runWaste({"convert", "--src", kSource, "--out", model, "--quality", quality, "--json"});
            COMPARE_EXIT(outcome, 0);
            const double error = outcome.jsonLines().last()["expert_error"_L1].toDouble();
            QVERIFY2(error > 0 && error < before, qPrintable(QString::number(error)));
            before = error;
        }
    }

    void twoBitsAreWarnedAbout()
    {
        const auto outcome = runWaste({"convert", "--src", kSource, "--out", target(), "--expert-format", "vq2r"});
        COMPARE_EXIT(outcome, 0);
        QVERIFY(outcome.errors.contains("warning: vq2r"));
        QCOMPARE(outcome.errors.count("lose a third of every weight"), 1); // each warning once
    }

    void shardsAreDeletedOnlyWhereThatIsWished()
    {
        const QString source = m_folder->filePath("source");
        std::filesystem::copy(kSource.toStdString(), source.toStdString());
        const auto shards = [&source] { return QDir(source).entryList({"*.safetensors"}); };
        const QStringList all = shards();
        QVERIFY(!all.isEmpty());

        const auto refused =
            runWaste({"convert", "--src", source, "--out", target(), "--quality", "fast", "--reclaim", "on"});
        COMPARE_EXIT(refused, 2);
        QVERIFY2(refused.errors.contains("--i-can-download-again"), refused.errors.constData());
        const auto dry =
            runWaste({"convert", "--src", source, "--out", target(), "--quality", "fast", "--reclaim", "dry"});
        COMPARE_EXIT(dry, 0);
        QVERIFY2(dry.errors.contains("is not needed any more"), dry.errors.constData());
        QCOMPARE(shards(), all);

        const QString other = m_folder->filePath("other.waste");
        const auto deleted = runWaste({"convert", "--src", source, "--out", other, "--quality", "fast", "--reclaim",
            "on", "--i-can-download-again", "--json"});
        COMPARE_EXIT(deleted, 0);
        QStringList names;
        for (const QJsonObject& event : deleted.jsonLines()) {
            if (event["event"_L1] != "reclaimed"_L1)
                continue;
            names << event["name"_L1].toString();
            QVERIFY(event["deleted"_L1].toBool() && event["bytes"_L1].toInt() > 0);
        }
        names.sort();
        QCOMPARE(names, all);
        QVERIFY(shards().isEmpty());
        QVERIFY(contentOf(other) == contentOf(target()));
    }

    void expertsAreSpreadOverDrives()
    {
        const QString folder = m_folder->filePath("other-drive");
        const QStringList command = {
            "convert", "--src", kSource, "--out", target(), "--bank-dir", folder, "--quality", "fast", "-q"};
        COMPARE_EXIT(runWaste(command), 6); // a folder that is missing may be a drive that is
        QVERIFY(QDir().mkdir(folder));
        COMPARE_EXIT(runWaste(command), 0);
        QCOMPARE(QDir(folder).entryList(QDir::Files).size(), 3);
        const QJsonObject info = runWaste({"info", target(), "--json"}).json();
        QCOMPARE(info["bank_dirs"_L1].toArray().size(), 1);
        const QJsonObject place = info["bank_dirs"_L1].toArray().first().toObject();
        QCOMPARE(place["path"_L1].toString(), QFileInfo(folder).canonicalFilePath());
        QCOMPARE(place["layers"_L1].toInt(), 3);
        QVERIFY(runWaste({"info", target()}).output.contains("experts on"));
        const auto verified = runWaste({"verify", target()});
        COMPARE_EXIT(verified, 0);
        QVERIFY2(verified.errors.contains("experts of 3 layers are in"), verified.errors.constData());
        COMPARE_EXIT(runWaste({"eval", target(), "--ids", "1 2 3", "--verify"}), 0);
        QVERIFY(QDir().rename(folder, m_folder->filePath("unplugged")));
        const auto missing = runWaste({"verify", target()});
        COMPARE_EXIT(missing, 4);
        QVERIFY2(missing.errors.contains("Connect the drive"), missing.errors.constData());
    }

    // In the first seconds of a download there is nothing yet by which to judge the folder.
    void aDownloadIsFollowedFromItsFirstMoment()
    {
        const QString source = m_folder->filePath("download");
        waste::test::FakeDownload download(kSource.toStdString(), source.toStdString());
        const QString config = source + "/config.json";
        const QString later = m_folder->filePath("config.json");
        QVERIFY(QFile::rename(config, later));
        WasteProgram program;
        QProcess process;
        process.setProcessEnvironment(program.environment);
        process.start(
            WASTE_CLI, {"convert", "--src", source, "--out", target(), "--follow", "--quality", "fast", "--json"});
        QVERIFY(process.waitForStarted());
        QByteArray seen;
        while (!seen.contains("\"waiting\"") && process.waitForReadyRead(program.timeoutMs))
            seen += process.readAllStandardOutput();
        QVERIFY2(seen.contains("\"waiting\""), (seen + process.readAllStandardError()).constData());
        QVERIFY(QFile::rename(later, config));
        download.deliverAll();
        COMPARE_EXIT(program.wait(process), 0);
        COMPARE_EXIT(runWaste({"eval", target(), "--ids", "1 2 3", "--verify"}), 0);
    }

    void onlyADownloadOfOursCanBeFollowed()
    {
        const auto refused = runWaste({"convert", "--src", kSource, "--out", target(), "--follow"});
        COMPARE_EXIT(refused, 2);
        QVERIFY2(refused.errors.contains("without --follow"), refused.errors.constData());
    }

private:
    QString target() const { return m_folder->filePath("model.waste"); }

    std::unique_ptr<QTemporaryDir> m_folder;
};

QTEST_GUILESS_MAIN(TestWasteConvert)
#include "tst_waste_convert.moc"
