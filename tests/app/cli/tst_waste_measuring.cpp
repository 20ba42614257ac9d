// bench, diskbench and doctor: their JSON key by key, and figures that have to fit each other. No test looks at a
// speed.

#include "terminal.h"
#include "waste_program.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>

#include <sys/mman.h>
#include <sys/resource.h>
#include <vector>

namespace {

const QString kModel = QStringLiteral(WASTE_K3_MINI_CONTAINER);
constexpr int kAccessesPerToken = 7 * 4; // MoE layers and experts a token of K3-mini

QStringList missingKeys(const QJsonObject& object, const QStringList& keys)
{
    QStringList missing;
    for (const QString& key : keys)
        if (!object.contains(key))
            missing << key;
    return missing;
}

QStringList bench(const QStringList& options)
{
    return QStringList{"bench", kModel, "--json"} + options;
}

QStringList quickDiskBench(const QString& path, const QStringList& options = {})
{
    return QStringList{"diskbench", path, "--json", "--seconds", "0.05", "--size", "32M", "--record", "256K"} + options;
}

// As root may, unless it is root of a container alone.
bool mayLockMoreThanTheLimit()
{
    std::vector<char> bytes(1 << 20);
    rlimit before = {};
    getrlimit(RLIMIT_MEMLOCK, &before);
    rlimit tight = before;
    tight.rlim_cur = 64 << 10;
    setrlimit(RLIMIT_MEMLOCK, &tight);
    const bool isLocked = mlock(bytes.data(), bytes.size()) == 0;
    munlock(bytes.data(), bytes.size());
    setrlimit(RLIMIT_MEMLOCK, &before);
    return isLocked;
}

} // namespace

class TestWasteMeasuring : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void benchHasTheKeysOfTheReferenceAndOurs()
    {
        const auto outcome = runWaste(bench({"-n", "4"}));
        COMPARE_EXIT(outcome, 0);
        QCOMPARE(outcome.jsonLines().size(), 1);
        const QJsonObject json = outcome.json();
        QCOMPARE(missingKeys(json,
                     {"tokens", "tok_per_s", "experts_hit", "experts_missed", "bytes_read", "direct_io",
                         "prefill_tok_per_s", "decode_tok_per_s", "ms_per_token", "repeat", "budget_bytes",
                         "expert_cache_bytes", "io_seconds", "disk_busy_seconds", "compute_seconds", "total_seconds"}),
            QStringList());
        QCOMPARE(json["tokens"].toInt(), 4);
        QCOMPARE(json["repeat"].toInt(), 1);
        QVERIFY(json["decode_tok_per_s"].toDouble() > 0);
        QVERIFY(json["prefill_tok_per_s"].toDouble() > 0);
        QVERIFY(!json["stopped"].toBool(true));
    }

    void benchCountsEveryExpertOfTheDecodedTokens()
    {
        const QJsonObject json = runWaste(bench({"-n", "6", "--repeat", "2", "--prompt-tokens", "40"})).json();
        QCOMPARE(json["tokens"].toInt(), 12);
        QCOMPARE(json["prompt_tokens"].toInt(), 40);
        QCOMPARE(json["experts_hit"].toInt() + json["experts_missed"].toInt(), 12 * kAccessesPerToken);
        const double accesses = 12.0 * kAccessesPerToken;
        QCOMPARE(json["hit_rate"].toDouble(), json["experts_hit"].toDouble() / accesses);
        QCOMPARE(json["bytes_per_token"].toDouble(), json["bytes_read"].toDouble() / 12);
    }

    void theMedianLiesBetweenTheFastestAndTheSlowestRound()
    {
        const QJsonObject json = runWaste(bench({"-n", "2", "--repeat", "3", "--warmup"})).json();
        for (const char* phase : {"prefill", "decode"}) {
            const QString key = QString(phase) + "_tok_per_s";
            QVERIFY(json[key + "_min"].toDouble() <= json[key].toDouble());
            QVERIFY(json[key].toDouble() <= json[key + "_max"].toDouble());
        }
    }

    // Interrupted after longer and longer times, until a token is there: a slow machine just takes more of them.
    void aStoppedRoundShowsWhatItMeasured_data()
    {
        QTest::addColumn<bool>("json");
        QTest::newRow("text") << false;
        QTest::newRow("JSON") << true;
    }
    void aStoppedRoundShowsWhatItMeasured()
    {
        QFETCH(const bool, json);
        const QStringList arguments = {"bench", kModel, "-n", "900000", "--ctx", "1000000"};
        WasteProgram::Outcome outcome;
        for (int waitMs = 500; waitMs < 300'000; waitMs *= 2) {
            WasteProgram program;
            QProcess process;
            process.setProcessEnvironment(program.environment);
            process.start(WASTE_CLI, json ? arguments + QStringList{"--json"} : arguments);
            QVERIFY(process.waitForStarted());
            process.waitForFinished(waitMs);
            ::kill(static_cast<pid_t>(process.processId()), json ? SIGTERM : SIGINT);
            outcome = program.wait(process);
            COMPARE_EXIT(outcome, 130);
            QVERIFY2(!outcome.errors.contains("layer") && !outcome.errors.contains("an expert"), outcome.errors);
            if (!outcome.errors.contains("stopped before the first token") && !outcome.errors.contains("opening"))
                break;
        }
        static const QRegularExpression message("stopped after (\\d+) of 900000 tokens");
        const auto told = message.match(QString::fromUtf8(outcome.errors));
        QVERIFY2(told.hasMatch(), outcome.description().constData());
        const int tokens = told.captured(1).toInt();
        QVERIFY(tokens > 0);
        if (!json) {
            static const QRegularExpression row("decode +(\\d+) tokens +[0-9]");
            QCOMPARE(row.match(QString::fromUtf8(outcome.output)).captured(1).toInt(), tokens);
            return;
        }
        const auto lines = outcome.jsonLines();
        QCOMPARE(lines.size(), 2);
        QCOMPARE(lines[0]["tokens"].toInt(), tokens);
        QVERIFY(lines[0]["stopped"].toBool());
        QVERIFY(lines[0]["decode_tok_per_s"].toDouble() > 0);
        // The token that was cut is in none of the figures.
        QCOMPARE(lines[0]["experts_hit"].toInt() + lines[0]["experts_missed"].toInt(), tokens * kAccessesPerToken);
        QCOMPARE(lines[1]["code"].toString(), u"cancelled"_s);
        QCOMPARE(lines[1]["exit"].toInt(), 130);
    }

    void stoppedBetweenRoundsTheWholeOnesCount()
    {
        WasteProgram program;
        Terminal terminal({"bench", kModel, "-n", "64", "--repeat", "1000", "--json"}, program.environment);
        QVERIFY2(terminal.shows("round 3 of 1000"), terminal.screen().constData());
        terminal.type(QByteArray(1, Terminal::kCtrlC));
        QCOMPARE(terminal.exitCode(), 130);
        const QByteArray screen = terminal.screen();
        const qsizetype begin = screen.indexOf("{\"tokens\"");
        QVERIFY2(begin >= 0, screen.constData());
        const auto json = QJsonDocument::fromJson(screen.mid(begin, screen.indexOf('\n', begin) - begin)).object();
        const int rounds = json["repeat"].toInt();
        QVERIFY(rounds >= 2 && rounds < 1000);
        QCOMPARE(json["tokens"].toInt(), rounds * 64);
        QVERIFY(screen.contains("stopped after " + QByteArray::number(rounds) + " of 1000 rounds"));
    }

    void hitsThatAGuessBroughtAreTold()
    {
        const QString floor = QString::number(runWaste({"plan", kModel, "--json"}).json()["floor_bytes"].toInteger());
        const auto figures = [&](const char* lookahead) {
            return runWaste(bench({"-n", "32", "--budget", floor, "--lookahead", lookahead})).json();
        };
        const QJsonObject guessing = figures("6");
        QVERIFY(guessing["experts_hit_by_guess"].toInt() > 0);
        QVERIFY(guessing["experts_hit_by_guess"].toInt() <= guessing["experts_hit"].toInt());
        QVERIFY(guessing["experts_hit_by_guess"].toInt() <= guessing["guesses_read"].toInt());
        // What the cache has by itself is about what it has without guesses.
        const QJsonObject plain = figures("0");
        QCOMPARE(plain["experts_hit_by_guess"].toInt(), 0);
        QCOMPARE(plain["guesses_read"].toInt(), 0);
        QVERIFY(plain["experts_hit"].toInt() < guessing["experts_hit"].toInt());
    }

    void aSmallCacheReadsFromTheDisk()
    {
        const QJsonObject plan = runWaste({"plan", kModel, "--json"}).json();
        const QString floor = QString::number(plan["floor_bytes"].toInteger());
        const QJsonObject json = runWaste(bench({"-n", "8", "--budget", floor})).json();
        QVERIFY(json["bytes_read"].toInteger() > 0);
        QVERIFY(json["disk_busy_seconds"].toDouble() > 0);
        QVERIFY(json["disk_bytes_per_s"].toDouble() > 0);
        QVERIFY(json["io_seconds"].toDouble() <= json["total_seconds"].toDouble());
    }

    void routesOfEveryDecodedTokenAreRecorded()
    {
        const QTemporaryDir folder;
        const QString file = folder.filePath("routes.jsonl");
        // Rounds do the same work, so one of them is enough.
        COMPARE_EXIT(runWaste(bench({"-n", "5", "--repeat", "2", "--record-routes", file})), 0);
        QFile routes(file);
        QVERIFY(routes.open(QIODevice::ReadOnly));
        const QByteArrayList lines = routes.readAll().trimmed().split('\n');
        QCOMPARE(lines.size(), 5);
        for (qsizetype tok = 0; tok < lines.size(); ++tok) {
            const QJsonObject token = QJsonDocument::fromJson(lines[tok]).object();
            QCOMPARE(token["tok"].toInt(-1), int(tok));
            const QJsonArray layers = token["layers"].toArray();
            QCOMPARE(layers.size(), 7);
            for (const auto& layer : layers) {
                const QJsonArray experts = layer.toArray();
                QCOMPARE(experts.size(), 4);
                for (qsizetype i = 1; i < experts.size(); ++i)
                    QVERIFY(experts[i - 1].toInt() < experts[i].toInt());
            }
        }
    }

    void aPlaceForRoutesThatIsNoneIsSaidBeforeMeasuring()
    {
        const QTemporaryDir folder;
        QVERIFY(QDir(folder.path()).mkdir("taken"));
        const auto missing = runWaste(bench({"-n", "2", "--record-routes", folder.filePath("missing/routes.jsonl")}));
        COMPARE_EXIT(missing, 6);
        QCOMPARE(missing.jsonLines().size(), 1); // the error, and no figures
        const auto taken = runWaste(bench({"-n", "2", "--record-routes", folder.filePath("taken")}));
        COMPARE_EXIT(taken, 2);
        QCOMPARE(taken.jsonLines().size(), 1);
        QCOMPARE(QDir(folder.path()).entryList(QDir::AllEntries | QDir::NoDotAndDotDot), QStringList("taken"));
    }

    // There is room for a kibibyte, which is less than the routes take.
    void figuresAreToldAlsoWhereTheRoutesCannotBeWritten()
    {
        const QTemporaryDir folder;
        WasteProgram program;
        QProcess shell;
        shell.setProcessEnvironment(program.environment);
        shell.start("bash",
            QStringList{"-c", "ulimit -f 1; exec \"$0\" \"$@\"", WASTE_CLI}
                + bench({"-n", "64", "--repeat", "3", "--record-routes", folder.filePath("routes.jsonl")}));
        const auto outcome = program.wait(shell);
        COMPARE_EXIT(outcome, 1);
        const auto lines = outcome.jsonLines();
        QCOMPARE(lines.size(), 2);
        QCOMPARE(lines[0]["repeat"].toInt(), 3);
        QVERIFY(!lines[0]["stopped"].toBool(true));
        QVERIFY2(lines[1]["message"].toString().contains("routes.jsonl"), outcome.description().constData());
        QVERIFY(QDir(folder.path()).isEmpty());
    }

    // The routes are written after the first round: from then on a bank is cut.
    void damageInALaterRoundLeavesTheFinishedOnes()
    {
        const QTemporaryDir folder;
        const QString model = folder.filePath("damaged.waste");
        QVERIFY(QDir().mkpath(model));
        for (const QFileInfo& file : QDir(kModel).entryInfoList(QDir::Files))
            QVERIFY(QFile::copy(file.filePath(), model + "/" + file.fileName()));
        const QString floor = QString::number(runWaste({"plan", kModel, "--json"}).json()["floor_bytes"].toInteger());
        const QString routes = folder.filePath("routes.jsonl");
        WasteProgram program;
        QProcess process;
        process.setProcessEnvironment(program.environment);
        process.start(WASTE_CLI,
            {"bench", model, "--json", "-n", "64", "--repeat", "1000", "--budget", floor, "--record-routes", routes});
        QVERIFY(process.waitForStarted());
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(routes), program.timeoutMs);
        QVERIFY(QFile::resize(model + "/experts-L5.bin", 20480));
        const auto outcome = program.wait(process);
        COMPARE_EXIT(outcome, 4);
        const auto lines = outcome.jsonLines();
        QCOMPARE(lines.size(), 2);
        QVERIFY(lines[0]["repeat"].toInt() >= 1 && lines[0]["stopped"].toBool());
        QCOMPARE(lines[1]["code"].toString(), u"damaged"_s);
    }

    void benchRefusesWhatDoesNotFitTheContext()
    {
        const auto outcome = runWaste(bench({"--ctx", "64", "--prompt-tokens", "60", "-n", "8"}));
        COMPARE_EXIT(outcome, 2);
        QCOMPARE(outcome.json()["reason"].toString(), u"context_length_exceeded"_s);
    }

    void cpusThatAreNotThereAreRefused()
    {
        const auto outcome = runWaste(bench({"-n", "2", "--cpus", "0,1023"}));
        COMPARE_EXIT(outcome, 2);
        QCOMPARE(outcome.json()["reason"].toString(), u"cpus"_s);
        const QString message = outcome.json()["message"].toString();
        QVERIFY2(message.contains("no CPU 1023") && message.contains("it may use "), qPrintable(message));
    }

    void benchSpeaksToPeopleToo()
    {
        const auto outcome = runWaste({"bench", kModel, "-n", "2", "-q"});
        COMPARE_EXIT(outcome, 0);
        for (const char* word : {"prefill", "decode", "tok/s", "found in the cache", "waiting for reads"})
            QVERIFY2(outcome.output.contains(word), outcome.output.constData());
        QVERIFY(outcome.errors.isEmpty());
    }

    void aDriveIsMeasuredAndLeftAsItWas()
    {
        const QTemporaryDir folder;
        const auto outcome = runWaste(quickDiskBench(folder.path()));
        COMPARE_EXIT(outcome, 0);
        const QJsonObject json = outcome.json();
        QCOMPARE(missingKeys(json,
                     {"path", "file_bytes", "record_bytes", "direct_io", "sequential_bytes_per_s", "random",
                         "random_bytes_per_s", "verdict"}),
            QStringList());
        QVERIFY(json["wrote_test_file"].toBool());
        QCOMPARE(json["file_bytes"].toInteger(), qint64{32} << 20);
        QCOMPARE(json["record_bytes"].toInteger(), qint64{256} << 10);
        QList<int> depths;
        for (const auto& value : json["random"].toArray()) {
            const QJsonObject run = value.toObject();
            depths << run["depth"].toInt();
            QVERIFY(run["bytes_per_s"].toDouble() > 0);
            QVERIFY(run["latency_ms_p50"].toDouble() <= run["latency_ms_p95"].toDouble());
        }
        QCOMPARE(depths, QList<int>({1, 2, 4, 8}));
        QVERIFY(QDir(folder.path()).isEmpty());
    }

    void aModelIsPredictedFromItsDrive()
    {
        const QTemporaryDir folder;
        const QString floor = QString::number(runWaste({"plan", kModel, "--json"}).json()["floor_bytes"].toInteger());
        const QJsonObject json = runWaste(quickDiskBench(folder.path(), {kModel, "--budget", floor})).json();
        const QJsonObject prediction = json["prediction"].toObject();
        QCOMPARE(prediction["model"].toString(), u"k3-mini"_s);
        const double tokenBytes = kAccessesPerToken * 20480.0;
        QCOMPARE(prediction["cold_tok_per_s"].toDouble(), json["random_bytes_per_s"].toDouble() / tokenBytes);
        const double hits = prediction["expected_hit_rate"].toDouble();
        QVERIFY(hits > 0 && hits < 1);
        QCOMPARE(prediction["tok_per_s"].toDouble(), prediction["cold_tok_per_s"].toDouble() / (1 - hits));

        // With everything in RAM the drive decides nothing.
        const QJsonObject cached = runWaste(quickDiskBench(folder.path(), {kModel})).json()["prediction"].toObject();
        QCOMPARE(cached["expected_hit_rate"].toDouble(), 1.0);
        QVERIFY(cached["tok_per_s"].isNull());
        QCOMPARE(cached["verdict"].toString(), u"good"_s);
        WasteProgram program;
        const auto text = program.run({"diskbench", folder.path(), kModel, "--seconds", "0.05", "--size", "32M"});
        QVERIFY2(
            text.output.endsWith("\ngood for k3-mini: all its experts fit in RAM, so the drive matters only at the "
                                 "start.\n"),
            text.output.constData());
    }

    void whatCannotBeMeasuredIsRefused_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("exitCode");
        QTest::newRow("no path") << QStringList{"diskbench"} << 2;
        QTest::newRow("no such path") << QStringList{"diskbench", "/nonexistent/place"} << 6;
        QTest::newRow("an odd record") << QStringList{"diskbench", ".", "--record", "1000"} << 2;
        QTest::newRow("a file smaller than a record")
            << QStringList{"diskbench", kModel + "/manifest.json", "--record", "1G"} << 2;
        QTest::newRow("a test file that does not fit") << QStringList{"diskbench", ".", "--size", "900T"} << 7;
        QTest::newRow("no such model") << QStringList{"doctor", "/nonexistent/model"} << 6;
    }
    void whatCannotBeMeasuredIsRefused()
    {
        QFETCH(QStringList, arguments);
        QFETCH(int, exitCode);
        COMPARE_EXIT(runWaste(arguments), exitCode);
    }

    void theDoctorLooksAtEverythingThatMatters()
    {
        const auto outcome = runWaste({"doctor", kModel, "--json"});
        COMPARE_EXIT(outcome, 0);
        const QJsonObject json = outcome.json();
        QCOMPARE(missingKeys(json,
                     {"physical_ram_bytes", "usable_ram_bytes", "cgroup_version", "huge_pages", "io_uring", "cores",
                         "cpu_features", "drive", "findings"}),
            QStringList());
        QVERIFY(json["usable_ram_bytes"].toInteger() <= json["physical_ram_bytes"].toInteger());
        QVERIFY(json["drive"].toObject()["free_bytes"].toInteger() > 0);
        QStringList topics;
        for (const auto& value : json["findings"].toArray()) {
            const QJsonObject finding = value.toObject();
            topics << finding["topic"].toString();
            const QString text = finding["text"].toString();
            QVERIFY(!text.isEmpty());
            if (topics.last() == "model"_L1)
                QVERIFY2(QRegularExpression("MiB \\((all experts fit|half of .* pages)\\), of which ")
                             .match(text)
                             .hasMatch(),
                    qPrintable(text));
        }
        for (const char* topic :
            {"ram", "cgroup", "cpu", "huge_pages", "io_uring", "drive", "space", "direct_io", "model"})
            QVERIFY2(topics.contains(QLatin1String(topic)), topic);
    }

    void theDoctorSaysWhatMayBeLocked()
    {
        const bool isFree = mayLockMoreThanTheLimit();
        const auto findings = [](const QString& command, const QStringList& options) {
            WasteProgram program;
            QProcess shell;
            shell.setProcessEnvironment(program.environment);
            shell.start("bash",
                QStringList{"-c", "ulimit -l 64; exec " + command + " \"$0\" doctor \"$@\" --json", WASTE_CLI, kModel}
                    + options);
            QMap<QString, QString> texts; // by topic
            for (const auto& value : program.wait(shell).json()["findings"].toArray())
                texts[value.toObject()["topic"].toString()] = value.toObject()["text"].toString();
            return texts;
        };
        if (isFree) {
            const auto free = findings({}, {"--lock-trunk"});
            QVERIFY(!free.contains("lock_trunk"));
            QCOMPARE(free["memory_lock"], QString("Memory may be locked, so --lock-trunk works."));
        }
        if (isFree && QProcess::execute("setpriv", {"--bounding-set=-ipc_lock", "true"}) != 0)
            QSKIP("whatever this user starts may lock memory");
        const QString limited = isFree ? "setpriv --bounding-set=-ipc_lock" : "";
        const auto usual = findings(limited, {});
        QVERIFY2(usual["memory_lock"].contains("Up to 64.0 KiB may be"), qPrintable(usual["memory_lock"]));
        QVERIFY(!usual.contains("lock_trunk"));
        const QString advice = findings(limited, {"--lock-trunk"})["lock_trunk"];
        QVERIFY2(advice.contains("only 64.0 KiB of memory may be locked (`ulimit -l` raises it)"), qPrintable(advice));
    }

    void theDoctorSaysWhenAModelDoesNotFit()
    {
        const QJsonObject json = runWaste({"doctor", kModel, "--json", "--budget", "1M"}).json();
        bool told = false;
        for (const auto& value : json["findings"].toArray()) {
            const QJsonObject finding = value.toObject();
            told = told || (finding["topic"] == "model"_L1 && finding["level"] == "problem"_L1);
        }
        QVERIFY(told);
    }
};

QTEST_GUILESS_MAIN(TestWasteMeasuring)
#include "tst_waste_measuring.moc"
