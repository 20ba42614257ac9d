// The command line's grammar (spec: cli B.2): every option with a good and a bad value, without a value, in its
// "=" form and behind "--". A model that does not exist tells the two outcomes apart: what was understood ends
// with exit code 6 (no such model), what was not with 2.

#include "waste_program.h"

#include <QFile>
#include <QTemporaryDir>

namespace {

constexpr int kUsage = 2;
constexpr int kNotFound = 6;
const QString kNoModel = QStringLiteral("/nonexistent/model.waste");

struct OptionRow {
    const char* option;
    const char* good; // null: a switch
    const char* bad; // null: every value is good
};

// What a command needs beside the option to get as far as opening the model.
QStringList commandLine(const QString& command)
{
    if (command == "convert")
        return {"convert", "--src", kNoModel, "--out", "/nonexistent/out.waste"};
    if (command == "prompt")
        return {"prompt", kNoModel, "--messages", "-"};
    if (command == "reply")
        return {"reply", kNoModel, "--tokens", "-"};
    return {command, kNoModel};
}

const QList<OptionRow> kEngineRows = {{"--budget", "46G", "46X"}, {"--ctx", "8192", "0"}, {"--threads", "4", "-1"},
    {"--cpus", "0-2,5", "5-2"}, {"--cache", "lfru", "fifo"}, {"--lookahead", "auto", "9"},
    {"--lookahead", "off", "maybe"}, {"--lookahead", "6", ""}, {"--usage", "hot.waste", nullptr},
    {"--verify", nullptr, nullptr}, {"--no-direct-io", nullptr, nullptr}, {"--exact", nullptr, nullptr},
    {"--vision", nullptr, nullptr}, {"--learn", nullptr, nullptr}, {"--lock-trunk", nullptr, nullptr}};
const QList<OptionRow> kSamplingRows = {{"-n", "10", "0"}, {"--max-tokens", "10", "1.5"}, {"--temp", "0.7", "-0.1"},
    {"--temperature", "1e-1", "nan"}, {"--top-p", "1", "0"}, {"--top-p", "0.95", "1.01"}, {"--top-k", "0", "-1"},
    {"--min-p", "0.05", "2"}, {"--seed", "18446744073709551615", "18446744073709551616"}, {"--seed", "0", "x"},
    {"--stop", "END", nullptr}};
const QList<OptionRow> kChatRows = {{"--effort", "max", "medium"}, {"--effort", "none", "LOW"},
    {"--think", nullptr, nullptr}, {"--no-think", nullptr, nullptr}, {"--no-thinking", nullptr, nullptr},
    {"--raw", nullptr, nullptr}, {"--template", nullptr, nullptr}};
const QList<OptionRow> kCommonRows = {{"--json", nullptr, nullptr}, {"-q", nullptr, nullptr},
    {"--quiet", nullptr, nullptr}, {"-v", nullptr, nullptr}, {"--verbose", nullptr, nullptr}};

const QList<QPair<const char*, QList<OptionRow>>> kTable = {
    {"run",
        kEngineRows + kSamplingRows + kChatRows + kCommonRows
            + QList<OptionRow>{{"--file", "prompt.txt", nullptr}, {"--messages", "chat.json", nullptr},
                {"--system", "Be brief.", nullptr}, {"--tools", "tools.json", nullptr},
                {"--schema", "schema.json", nullptr}, {"--session", "Name", nullptr},
                {"--save-session", "Name", nullptr}, {"--image", "x.png", ""}, {"--markup", nullptr, nullptr},
                {"--show-thinking", nullptr, nullptr}, {"--no-stats", nullptr, nullptr}}},
    {"chat", kEngineRows + kSamplingRows + kChatRows + kCommonRows},
    {"eval",
        kEngineRows + kCommonRows
            + QList<OptionRow>{{"--ids", "1,2 3", nullptr}, {"--markup", nullptr, nullptr}, {"--chunk", "1", "0"},
                {"--top-k", "5", "-5"}, {"--logits", "out.f32", ""}, {"--dump-layers", "out.jsonl", ""},
                {"--perplexity", "text.txt", nullptr}, {"--ids-file", "ids.txt", nullptr}}},
    {"info", kEngineRows + kCommonRows + QList<OptionRow>{{"--load", nullptr, nullptr}}},
    {"plan", kEngineRows + kCommonRows + QList<OptionRow>{{"--table", nullptr, nullptr}}},
    {"tokenize",
        kCommonRows
            + QList<OptionRow>{{"--file", "text.txt", nullptr}, {"--plain", nullptr, nullptr},
                {"--markup", nullptr, nullptr}, {"--pieces", nullptr, nullptr}, {"--count", nullptr, nullptr}}},
    {"detokenize", kCommonRows + QList<OptionRow>{{"--file", "ids.txt", nullptr}}},
    {"prompt",
        kChatRows + kCommonRows
            + QList<OptionRow>{{"--ids", nullptr, nullptr}, {"--renderer-input", nullptr, nullptr}}},
    {"bench",
        kEngineRows + kCommonRows
            + QList<OptionRow>{{"-n", "10", "0"}, {"--max-tokens", "10", "1.5"}, {"--prompt-tokens", "512", "0"},
                {"--repeat", "3", "0"}, {"--warmup", nullptr, nullptr}, {"--record-routes", "routes.jsonl", ""}}},
    {"diskbench",
        kEngineRows + kCommonRows
            + QList<OptionRow>{{"--size", "1G", "1X"}, {"--record", "4096", "x"}, {"--seconds", "0.5", "0"}}},
    {"doctor", kEngineRows + kCommonRows},
    {"verify", kCommonRows + QList<OptionRow>{{"--fast", nullptr, nullptr}, {"--layer", "3", "-1"}}},
    {"reply", kCommonRows + QList<OptionRow>{{"--start-channel", "response", "answer"}}},
    {"convert",
        kCommonRows
            + QList<OptionRow>{{"--jobs", "2", "x"}, {"--expert-format", "vq4p", "vq5"}, {"--quality", "best", "good"},
                {"--trunk-bits", "8", "5"}, {"--force", nullptr, nullptr}}},
};

} // namespace

class TestWasteOptions : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyOptionTakesWhatIsGoodAndRefusesWhatIsBad_data()
    {
        QTest::addColumn<QString>("command");
        QTest::addColumn<QString>("option");
        QTest::addColumn<QString>("good");
        QTest::addColumn<QString>("bad");
        for (const auto& [command, rows] : kTable) {
            for (const OptionRow& row : rows)
                QTest::addRow("%s %s %s", command, row.option, row.good ? row.good : "") << QString(
                    command) << QString(row.option) << QString::fromUtf8(row.good) << QString::fromUtf8(row.bad);
        }
    }
    void everyOptionTakesWhatIsGoodAndRefusesWhatIsBad()
    {
        QFETCH(QString, command);
        QFETCH(QString, option);
        QFETCH(QString, good);
        QFETCH(QString, bad);
        const QStringList base = commandLine(command);
        const bool isLong = option.startsWith("--");
        if (good.isNull()) {
            COMPARE_EXIT(runWaste(base + QStringList{option}), kNotFound);
            if (isLong)
                expectUsage(base + QStringList{option + "=1"}, option + " takes no value");
            return;
        }
        COMPARE_EXIT(runWaste(base + QStringList{option, good}), kNotFound);
        if (isLong)
            COMPARE_EXIT(runWaste(base + QStringList{option + "=" + good}), kNotFound);
        expectUsage(base + QStringList{option}, option + " needs a value");
        expectUsage(base + QStringList{option, "--json"}, option + " needs a value");
        if (bad.isNull())
            return;
        expectUsage(base + QStringList{option, bad}, option + ": ");
        if (isLong)
            expectUsage(base + QStringList{option + "=" + bad}, option + ": ");
    }

    void twoDashesEndTheOptions()
    {
        // Behind "--" even a known option is the prompt.
        COMPARE_EXIT(runWaste({"run", kNoModel, "--", "--budget"}), kNotFound);
        COMPARE_EXIT(runWaste({"run", "--", kNoModel, "-n"}), kNotFound);
        expectUsage({"run", kNoModel, "--", "--budget", "46G"}, "'46G' is one argument too many");
    }

    void optionsAndArgumentsComeInAnyOrder()
    {
        COMPARE_EXIT(runWaste({"run", "-n", "3", kNoModel, "--temp=0", "hello", "-q"}), kNotFound);
        expectUsage({"run", kNoModel, "one", "two"}, "'two' is one argument too many");
        expectUsage({"run", kNoModel, "-foo"}, "unknown option -foo");
    }

    void ofAnOptionGivenTwiceTheLastOneCounts()
    {
        COMPARE_EXIT(runWaste({"run", kNoModel, "x", "--ctx", "1", "--ctx", "2"}), kNotFound);
    }

    void aNumberMayBeNegativeWithoutCountingAsMissing()
    {
        expectUsage({"run", kNoModel, "x", "--temp", "-1"}, "--temp: '-1' is not a number");
        expectUsage({"run", kNoModel, "x", "--stop", "-x"}, "--stop needs a value");
        COMPARE_EXIT(runWaste({"run", kNoModel, "x", "--stop=-x"}), kNotFound);
        COMPARE_EXIT(runWaste({"run", kNoModel, "x", "--stop="}), kNotFound);
    }

    void anUnknownNameGetsTheNearestOne()
    {
        expectUsage({"rnu"}, "unknown command rnu; did you mean run?");
        expectUsage({"tokenise"}, "did you mean tokenize?");
        expectUsage({"frobnicate"}, "unknown command frobnicate (");
        expectUsage({"help", "paln"}, "did you mean plan?");
        expectUsage({"run", kNoModel, "--budgt=1G"},
            "unknown option --budgt; did you mean --budget? (`waste help run` lists them all)");
        expectUsage({"eval", kNoModel, "--perplexty", "f"}, "did you mean --perplexity?");
        expectUsage({"run", kNoModel, "--zzzzzz"}, "unknown option --zzzzzz");
    }

    void helpIsOneScreenAndNamesOnlyWhatIsThere()
    {
        const auto nothing = runWaste({});
        COMPARE_EXIT(nothing, kUsage);
        for (const QStringList& arguments : {QStringList{"--help"}, {"-h"}, {"help"}}) {
            const auto help = runWaste(arguments);
            COMPARE_EXIT(help, 0);
            QCOMPARE(help.output, nothing.output);
            QVERIFY(help.errors.isEmpty());
        }
        for (const char* later : {"serve", "download", "--remote"})
            QVERIFY2(!nothing.output.contains(later), later);

        for (const auto& [command, rows] : kTable) {
            const auto help = runWaste({"help", command});
            COMPARE_EXIT(help, 0);
            QVERIFY(help.output.startsWith(QByteArray("usage: waste ") + command));
            QCOMPARE(runWaste({command, "--help"}).output, help.output);
            QVERIFY(help.output.count('\n') <= 60);
            for (const QByteArray& line : help.output.split('\n'))
                QVERIFY2(QString::fromUtf8(line).size() <= 110, line.constData());
            QCOMPARE(QJsonDocument::fromJson(runWaste({"help", command, "--json"}).output)["help"_L1].toString(),
                QString::fromUtf8(help.output));
        }
        QVERIFY(runWaste({"help", "run"}).output.contains("[128]"));
    }

    void errorsAreJsonOnTheLastLineToo()
    {
        for (const auto& [command, rows] : kTable) {
            const auto unknown = runWaste(commandLine(command) + QStringList{"--json", "--nonsense"});
            COMPARE_EXIT(unknown, kUsage);
            QCOMPARE(unknown.json()["event"_L1].toString(), QStringLiteral("error"));
            QCOMPARE(unknown.json()["code"_L1].toString(), QStringLiteral("usage"));
            QCOMPARE(unknown.json()["exit"_L1].toInt(), kUsage);
            QVERIFY(unknown.json()["message"_L1].toString().contains("--nonsense"));
        }
        QCOMPARE(runWaste({"rnu", "--json"}).json()["code"_L1].toString(), QStringLiteral("usage"));
        const auto notFound = runWaste({"info", kNoModel, "--json"});
        COMPARE_EXIT(notFound, kNotFound);
        QCOMPARE(notFound.json()["code"_L1].toString(), QStringLiteral("not_found"));
        QVERIFY(notFound.json()["message"_L1].toString().contains(kNoModel));
        // Behind "--" it is no option.
        QVERIFY(runWaste({"run", kNoModel, "a", "--", "--json", "b"}).output.isEmpty());
    }

    void environmentVariablesAreDefaults()
    {
        const QList<QPair<const char*, QPair<const char*, const char*>>> variables = {{"WASTE_BUDGET", {"1G", "x"}},
            {"WASTE_THREADS", {"2", "x"}}, {"WASTE_CPUS", {"0", "x"}}, {"WASTE_VERIFY", {"1", "x"}},
            {"WASTE_DIRECT", {"0", "x"}}, {"WASTE_LOOKAHEAD", {"0", "x"}}};
        for (const auto& [name, values] : variables) {
            WasteProgram program;
            program.environment.insert(name, values.first);
            COMPARE_EXIT(program.run({"run", kNoModel, "x"}), kNotFound);
            program.environment.insert(name, values.second);
            const auto bad = program.run({"run", kNoModel, "x"});
            COMPARE_EXIT(bad, kUsage);
            QVERIFY2(bad.errors.contains(name), bad.errors.constData());
        }
        // A flag wins, so the bad variable is not even read; help never reads any.
        WasteProgram program;
        program.environment.insert("WASTE_BUDGET", "x");
        COMPARE_EXIT(program.run({"run", kNoModel, "x", "--budget", "1G"}), kNotFound);
        COMPARE_EXIT(program.run({"run", "--help"}), 0);
        // MODEL, where no argument names one.
        program = WasteProgram();
        program.environment.insert("WASTE_MODEL", "/nonexistent/other");
        const auto info = program.run({"info"});
        COMPARE_EXIT(info, kNotFound);
        QVERIFY(info.errors.contains("/nonexistent/other"));
        QVERIFY(program.run({"info", kNoModel}).errors.contains(kNoModel.toUtf8()));
        expectUsage({"info"}, "MODEL is missing");
    }

    void theConfigurationFileComesLast()
    {
        QTemporaryDir folder;
        const QString file = folder.filePath("config.json");
        const auto write = [&](const QByteArray& text) {
            QFile config(file);
            QVERIFY(config.open(QIODevice::WriteOnly));
            config.write(text);
        };
        const QStringList run = {"run", kNoModel, "x"};
        WasteProgram program;
        program.environment.insert("WASTE_CONFIG", file);

        COMPARE_EXIT(program.run(run), kNotFound); // a named file must exist
        QVERIFY(program.run(run).errors.contains(file.toUtf8()));

        write(R"({"budget":"46G","ctx":8192,"stop":["a","b"],"verify":true,"exact":false,"all-positions":true})");
        const auto good = program.run(run);
        COMPARE_EXIT(good, kNotFound);
        QVERIFY(good.errors.contains(kNoModel.toUtf8()) && !good.errors.contains("warning"));

        write(R"({"bugdet":"46G"})");
        QVERIFY(program.run(run).errors.contains("unknown key \"bugdet\"; did you mean --budget?"));
        QVERIFY(!program.run(run + QStringList{"-q"}).errors.contains("warning"));

        for (const char* bad : {"", "[]", "{", R"({"budget":"x"})", R"({"budget":true})", R"({"verify":"yes"})",
                 R"({"ctx":[1,2]})", R"({"stop":[true]})"}) {
            write(bad);
            const auto outcome = program.run(run);
            QVERIFY2(outcome.exitCode == kUsage && outcome.errors.contains(file.toUtf8()), bad);
        }
        // Flag over environment over file.
        write(R"({"budget":"x"})");
        COMPARE_EXIT(program.run(run + QStringList{"--budget", "1G"}), kNotFound);
        program.environment.insert("WASTE_BUDGET", "1G");
        COMPARE_EXIT(program.run(run), kNotFound);

        // The default place, where absence is fine.
        program = WasteProgram();
        program.environment.insert("XDG_CONFIG_HOME", folder.path());
        COMPARE_EXIT(program.run(run), kNotFound);
        QDir(folder.path()).mkdir("waste");
        QVERIFY(QFile::rename(file, folder.filePath("waste/config.json")));
#ifdef Q_OS_LINUX
        COMPARE_EXIT(program.run(run), kUsage);
#endif
    }

    // The shell itself says what it would offer behind these words.
    void aShellCompletesCommandsAndOptions_data()
    {
        QTest::addColumn<QString>("words");
        QTest::addColumn<QStringList>("offers");
        QTest::newRow("commands") << "waste do" << QStringList{"doctor"};
        QTest::newRow("options of a command") << "waste bench --rep" << QStringList{"--repeat"};
        QTest::newRow("options of every command") << "waste info --verb" << QStringList{"--verbose"};
        QTest::newRow("words of a command") << "waste session l" << QStringList{"list"};
        QTest::newRow("commands to be explained") << "waste help verif" << QStringList{"verify"};
        QTest::newRow("a file: left to the shell") << "waste info mod" << QStringList{};
    }
    void aShellCompletesCommandsAndOptions()
    {
        QFETCH(QString, words);
        QFETCH(QStringList, offers);
        const auto script = runWaste({"completion", "bash"});
        COMPARE_EXIT(script, 0);
        QProcess bash;
        bash.start("bash",
            {"--norc", "-c",
                QString::fromUtf8(script.output) + "COMP_WORDS=(" + words
                    + ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_waste\necho \"${COMPREPLY[@]}\""});
        if (!bash.waitForStarted())
            QSKIP("bash is not installed");
        QVERIFY(bash.waitForFinished());
        QCOMPARE(bash.readAllStandardError(), QByteArray());
        QCOMPARE(QString::fromUtf8(bash.readAllStandardOutput()).split(' ', Qt::SkipEmptyParts).join(' ').trimmed(),
            offers.join(' '));
    }

    void completionScriptsNameEveryCommand()
    {
        const QByteArray commands = runWaste({"help"}).output;
        for (const QString shell : {"bash", "zsh", "fish"}) {
            const auto script = runWaste({"completion", shell});
            COMPARE_EXIT(script, 0);
            for (const char* name : {"run", "bench", "diskbench", "doctor", "verify", "completion"}) {
                QVERIFY(commands.contains(name));
                QVERIFY2(script.output.contains(name), name);
            }
            QCOMPARE(runWaste({"completion", shell, "--json"}).json()["script"].toString().toUtf8(), script.output);
        }
        COMPARE_EXIT(runWaste({"completion", "tcsh"}), kUsage);
        COMPARE_EXIT(runWaste({"completion"}), kUsage);
    }

private:
    static void expectUsage(const QStringList& arguments, const QString& message)
    {
        const auto outcome = runWaste(arguments);
        COMPARE_EXIT(outcome, kUsage);
        QVERIFY2(outcome.errors.contains(message.toUtf8()),
            (arguments.join(' ').toUtf8() + "\n" + outcome.description()).constData());
    }
};

QTEST_GUILESS_MAIN(TestWasteOptions)
#include "tst_waste_options.moc"
