// How `waste run` ends when somebody or something ends it: Ctrl-C, a reader that leaves, a full disk, damage; and how
// much memory the process really takes (spec: cli B.2, B.3, B.8).

#include "waste_program.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>

#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

const QString kModel = QStringLiteral(WASTE_K3_MINI_CONTAINER);
const QString kData = QStringLiteral(WASTE_TEST_DATA "/");
const QString kQuestion = QStringLiteral("What is the capital of France?");

// Starts `waste`, waits until standard output holds `marker` (until it runs at all if that is empty), sends
// the signal and waits for the end.
WasteProgram::Outcome interrupt(const QStringList& arguments, const QByteArray& input, const QByteArray& marker)
{
    WasteProgram program;
    QProcess process;
    process.setProcessEnvironment(program.environment);
    process.start(WASTE_CLI, arguments);
    process.waitForStarted();
    process.write(input);
    process.closeWriteChannel();
    QByteArray seen;
    while (!seen.contains(marker) && process.waitForReadyRead(program.timeoutMs))
        seen += process.readAllStandardOutput();
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    WasteProgram::Outcome outcome = program.wait(process);
    outcome.output.prepend(seen);
    return outcome;
}

// Peak resident memory of one run, as the system counted it.
long peakBytes(const QStringList& arguments)
{
    QList<QByteArray> words{WASTE_CLI};
    for (const QString& argument : arguments)
        words << argument.toUtf8();
    QList<char*> pointers;
    for (QByteArray& word : words)
        pointers << word.data();
    pointers << nullptr;
    const pid_t child = fork();
    if (child == 0) {
        freopen("/dev/null", "w", stdout);
        freopen("/dev/null", "w", stderr);
        execv(WASTE_CLI, pointers.data());
        _exit(127);
    }
    int status = 0;
    rusage usage{};
    if (wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return -1;
    return usage.ru_maxrss * 1024;
}

} // namespace

class TestWasteEndings : public QObject {
    Q_OBJECT

    QTemporaryDir m_pictures;

private Q_SLOTS:
    void ctrlCWhileReadingEndsCleanly()
    {
        const QByteArray large = QByteArray("All work and no play. ").repeated(4546);
        const auto outcome = interrupt({"run", kModel, "--json", "--ctx", "65536", "-"}, large, "\"event\":\"start\"");
        COMPARE_EXIT(outcome, 130);
        const auto events = outcome.jsonLines();
        QVERIFY(events.size() >= 3);
        QCOMPARE(events[events.size() - 2]["event"_L1].toString(), QStringLiteral("end"));
        QCOMPARE(events[events.size() - 2]["finish_reason"_L1].toString(), QStringLiteral("cancelled"));
        QCOMPARE(events.last()["code"_L1].toString(), QStringLiteral("cancelled"));
        QCOMPARE(events.last()["exit"_L1].toInt(), 130);
    }

    void ctrlCWhileWritingKeepsTheText()
    {
        const auto outcome = interrupt(
            {"run", kModel, "--raw", "Once", "--temp", "1", "--seed", "1", "-n", "1000000", "--ctx", "1000000"}, "",
            "Once");
        COMPARE_EXIT(outcome, 130);
        QVERIFY(outcome.output.startsWith("Once"));
        QVERIFY2(outcome.errors.contains(" tok/s"), outcome.errors.constData());
        QVERIFY(outcome.errors.count("waste: ") >= 1);
    }

    void signalsWhileWaitingForThePromptEndIt_data()
    {
        QTest::addColumn<int>("signal");
        QTest::newRow("Ctrl-C") << SIGINT;
        QTest::newRow("SIGTERM") << SIGTERM;
        QTest::newRow("the terminal is closed") << SIGHUP;
    }
    void signalsWhileWaitingForThePromptEndIt()
    {
        QFETCH(const int, signal);
        WasteProgram program;
        QProcess process;
        process.setProcessEnvironment(program.environment);
        process.start(WASTE_CLI, {"run", kModel, "-"});
        QVERIFY(process.waitForStarted());
        QTest::qWait(300);
        ::kill(static_cast<pid_t>(process.processId()), signal);
        COMPARE_EXIT(program.wait(process), 130);
    }

    void aReaderThatLeavesEndsItQuietly()
    {
        WasteProgram program;
        QProcess shell;
        shell.setProcessEnvironment(program.environment);
        shell.start("bash",
            {"-c", "set -o pipefail; \"$0\" run \"$1\" --raw Once --temp 1 -n 1000000 --ctx 1000000 --json | head -1",
                WASTE_CLI, kModel});
        const auto outcome = program.wait(shell);
        COMPARE_EXIT(outcome, 0);
        QCOMPARE(outcome.jsonLines().size(), 1);
        QVERIFY2(!outcome.errors.contains("ipe") && !outcome.errors.contains("error"), outcome.errors.constData());
    }

    void aFullDiskIsAnError()
    {
        QProcess shell;
        WasteProgram program;
        shell.setProcessEnvironment(program.environment);
        shell.start("bash", {"-c", "\"$0\" info \"$1\" > /dev/full", WASTE_CLI, kModel});
        const auto outcome = program.wait(shell);
        COMPARE_EXIT(outcome, 7);
        QVERIFY(outcome.errors.contains("standard output"));
    }

    void failuresHaveTheirExitCodes()
    {
        const auto floor = runWaste({"run", kModel, "x", "--budget", "1M", "--json"});
        COMPARE_EXIT(floor, 3);
        QCOMPARE(floor.json()["code"_L1].toString(), QStringLiteral("ram_budget"));
        QVERIFY(floor.json()["message"_L1].toString().contains("MiB"));
        COMPARE_EXIT(runWaste({"run", "/nonexistent", "x"}), 6);
        COMPARE_EXIT(runWaste({"run", kData + "containers/kl-vq3r-q4g.waste", "x"}), 5);
        WasteProgram program;
        program.environment.insert("WASTE_ISA", "nonsense");
        COMPARE_EXIT(program.run({"run", kModel, "x"}), 5);
        COMPARE_EXIT(runWaste({"run", kModel, "x", "--image", kData + "k3-mini/README.md"}), 1);
    }

    // No picture, cut, a folder, too large: one kind of error, in every command, with the name that was given. One that
    // is missing is what every missing file is.
    void aPictureThatCannotBeReadIsOneKindOfError_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QByteArray>("remedy");
        QTest::addColumn<int>("exitCode");
        const QString folder = m_pictures.path();
        QFile star(kData + "k3-mini/star.png");
        QVERIFY(star.open(QIODevice::ReadOnly));
        const QByteArray whole = star.readAll();
        const auto write = [&](const QString& name, const QByteArray& bytes) {
            QFile file(folder + '/' + name);
            if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
                qFatal("cannot write %s", qPrintable(name));
            return file.fileName();
        };
        QTest::newRow("missing") << "/nonexistent.png" << QByteArray("check its name") << 6;
        QTest::newRow("words") << write("words.png", "these are words") << QByteArray("supported are PNG") << 1;
        QTest::newRow("cut") << write("cut.png", whole.left(whole.size() / 2)) << QByteArray("another copy") << 1;
        QTest::newRow("folder") << folder << QByteArray("give a PNG") << 1;
        QTest::newRow("too large") << write("large.png", QByteArray(21 << 20, 'x')) << QByteArray("save the picture")
                                   << 1;
    }
    void aPictureThatCannotBeReadIsOneKindOfError()
    {
        QFETCH(const QString, file);
        QFETCH(const QByteArray, remedy);
        QFETCH(const int, exitCode);
        for (const QStringList& command :
            {QStringList{"run", kModel, "x"}, {"eval", kModel, "--ids", "1,2"}, {"chat", kModel}}) {
            const auto outcome = runWaste(command + QStringList{"--image", file}, "Hello\n");
            COMPARE_EXIT(outcome, exitCode);
            QCOMPARE(outcome.errors.count(file.toUtf8()), 1);
            QVERIFY2(outcome.errors.contains(remedy), outcome.errors.constData());
            QVERIFY2(!outcome.errors.contains("messages["), outcome.errors.constData());
        }
        const auto json = runWaste({"run", kModel, "x", "--json", "--image", file});
        QCOMPARE(json.json()["reason"_L1].toString(), QString(exitCode == 6 ? "not_found" : "invalid_image"));
    }

    // 84 MiB for looking at a picture that is only chosen: counted where pictures fit, and nowhere else.
    void aPictureIsLookedAtWithinThePlan()
    {
        QFile star(kData + "k3-mini/star.png");
        QVERIFY(star.open(QIODevice::ReadOnly));
        const QByteArray whole = star.readAll();
        QFile cut(m_pictures.filePath("half.png"));
        QVERIFY(cut.open(QIODevice::WriteOnly) && cut.write(whole.left(whole.size() / 2)) > 0);
        cut.close();
        WasteProgram program;
        program.environment.insert("XDG_DATA_HOME", m_pictures.path());
        program.input = "/image " + cut.fileName().toUtf8() + "\n/quit\n";
        const QJsonObject plan = runWaste({"plan", kModel, "--json"}).json();
        const auto floor = qint64(plan["floor_bytes"_L1].toDouble());
        const auto withPictures = floor + qint64(plan["vision_bytes"_L1].toDouble());
        for (const qint64 budget : {floor, withPictures + (83 << 20)}) {
            const auto unseen = program.run({"chat", kModel, "--budget", QString::number(budget)});
            COMPARE_EXIT(unseen, 0);
            QVERIFY2(unseen.errors.contains("goes with the next question"), unseen.errors.constData());
        }
        const auto seen = program.run({"chat", kModel, "--budget", QString::number(withPictures + (84 << 20))});
        COMPARE_EXIT(seen, 1);
        QVERIFY2(seen.errors.contains("another copy"), seen.errors.constData());
    }

    // A file of 12 MiB each: with one of them at a time it does not matter how many there are.
    void onePictureIsInMemoryAtATime_data()
    {
        QTest::addColumn<QString>("command");
        QTest::newRow("run") << "run";
        QTest::newRow("prompt") << "prompt";
    }
    void onePictureIsInMemoryAtATime()
    {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        QSKIP("sanitizers need memory of their own");
#endif
        QFETCH(const QString, command);
        constexpr int kPictures = 16;
        constexpr int kFileBytes = 12 << 20;
        QFile tiny(kData + "k3-mini/tiny.png");
        QVERIFY(tiny.open(QIODevice::ReadOnly));
        const QByteArray picture = tiny.readAll();
        QStringList images;
        QJsonArray parts{QJsonObject{{"type", "text"}, {"text", "What is it?"}}};
        for (int i = 0; i < kPictures; ++i) { // each of a content of its own, behind the end of the picture
            QFile file(m_pictures.filePath(QString("large-%1.png").arg(i)));
            QVERIFY(file.open(QIODevice::WriteOnly));
            QVERIFY(file.write(picture + QByteArray(kFileBytes - picture.size(), char('a' + i))) == kFileBytes);
            images << file.fileName();
            parts << QJsonObject{{"type", "image"}, {"image", QJsonObject{{"path", file.fileName()}}}};
        }
        const auto peak = [&](int count) {
            QJsonArray content;
            for (int i = 0; i <= count; ++i)
                content << parts[i];
            QFile request(m_pictures.filePath("request.json"));
            if (!request.open(QIODevice::WriteOnly))
                return -1L;
            request.write(QJsonDocument(QJsonArray{QJsonObject{{"role", "user"}, {"content", content}}}).toJson());
            request.close();
            if (command == "prompt")
                return peakBytes({"prompt", kModel, "--messages", request.fileName()});
            QStringList arguments = {"run", kModel, "What is it?", "--no-think", "-n", "1"};
            for (int i = 0; i < count; ++i)
                arguments << "--image" << images[i];
            return peakBytes(arguments);
        };
        const long one = peak(1);
        const long all = peak(kPictures);
        qInfo("peak %.1f MiB with one, %.1f MiB with %d", double(one) / 0x1p20, double(all) / 0x1p20, kPictures);
        QVERIFY(one > 0 && all > 0);
        QVERIFY(all - one < 2L * kFileBytes);
    }

    void aDamagedRecordNamesItsPlace()
    {
        QTemporaryDir folder;
        const QString copy = folder.filePath("damaged.waste");
        QVERIFY(QDir().mkpath(copy));
        for (const QFileInfo& file : QDir(kModel).entryInfoList(QDir::Files))
            QVERIFY(QFile::copy(file.filePath(), copy + "/" + file.fileName()));
        QFile bank(copy + "/experts-L3.bin");
        QVERIFY(bank.open(QIODevice::ReadWrite));
        const QByteArray bytes = bank.readAll();
        bank.seek(0);
        QVERIFY(bank.write(QByteArray(bytes.size(), '\x5a')) == bytes.size());
        bank.close();
        const auto outcome = runWaste({"run", copy, kQuestion, "--json"});
        COMPARE_EXIT(outcome, 4);
        QCOMPARE(outcome.json()["code"_L1].toString(), QStringLiteral("damaged"));
        const QString message = outcome.json()["message"_L1].toString();
        QVERIFY2(message.contains("experts-L3.bin") && message.contains("layer 3"), qPrintable(message));
    }

    // The same damage, and so the same exit code, whether it is there at the start or comes while the model answers.
    void aBankThatIsCutIsDamagedWheneverThatHappens()
    {
        QTemporaryDir folder;
        const QString copy = folder.filePath("cut.waste");
        QVERIFY(QDir().mkpath(copy));
        for (const QFileInfo& file : QDir(kModel).entryInfoList(QDir::Files))
            QVERIFY(QFile::copy(file.filePath(), copy + "/" + file.fileName()));
        const QJsonObject plan = runWaste({"plan", copy, "--ctx", "1000000", "--json"}).json();
        const QString floor = QString::number(plan["floor_bytes"_L1].toInteger());
        WasteProgram program;
        QProcess process;
        process.setProcessEnvironment(program.environment);
        process.start(WASTE_CLI,
            {"run", copy, "--raw", "Once", "--temp", "1", "--json", "-n", "900000", "--ctx", "1000000", "--budget",
                floor});
        QByteArray seen;
        while (seen.count("\"content\"") < 3 && process.waitForReadyRead(program.timeoutMs))
            seen += process.readAllStandardOutput();
        QVERIFY(QFile::resize(copy + "/experts-L5.bin", 20480));
        const auto running = program.wait(process);
        COMPARE_EXIT(running, 4);
        QCOMPARE(running.json()["code"_L1].toString(), QStringLiteral("damaged"));
        QCOMPARE(running.json()["reason"_L1].toString(), QStringLiteral("short_file"));
        const QString message = running.json()["message"_L1].toString();
        static const QRegularExpression place(
            "expert \\d+ of layer 5: .*experts-L5.bin ends at 20480.*Copy this file again");
        QVERIFY2(place.match(message).hasMatch(), qPrintable(message));

        const auto starting = runWaste({"run", copy, "x", "--json"});
        COMPARE_EXIT(starting, 4);
        QCOMPARE(starting.json()["reason"_L1].toString(), QStringLiteral("short_file"));
    }

    // Plan's total, program included, plus 32 MiB.
    void theProcessStaysInsideItsPlan()
    {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        QSKIP("sanitizers need memory of their own");
#endif
        const QJsonObject plan = runWaste({"info", kModel, "--load", "--json", "-q"}).json();
        const auto budget = qint64(plan["budget_bytes"_L1].toDouble());
        QVERIFY(budget > 0);
        const qint64 peak = peakBytes({"run", kModel, "Tell me a story.", "-n", "200"});
        qInfo("peak %.1f MiB, plan %.1f MiB", double(peak) / 0x1p20, double(budget) / 0x1p20);
        QVERIFY(peak > 0);
        QVERIFY(peak <= budget + (qint64{32} << 20));
    }
};

QTEST_GUILESS_MAIN(TestWasteEndings)
#include "tst_waste_endings.moc"
