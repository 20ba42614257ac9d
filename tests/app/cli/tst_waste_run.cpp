// `waste run`: the references' continuations, JSON events, where prompts come from, how it ends (spec: cli A, B.2,
// B.4).

#include "waste_program.h"

#include <QFile>
#include <QJsonArray>
#include <QRegularExpression>
#include <QTemporaryDir>

#if defined(__linux__)
#include <sched.h>
#endif

namespace {

const QString kModel = QStringLiteral(WASTE_K3_MINI_CONTAINER);
const QString kCheckpoint = QStringLiteral(WASTE_K3_MINI_CHECKPOINT);
const QString kData = QStringLiteral(WASTE_TEST_DATA "/");
const QString kQuestion = QStringLiteral("What is the capital of France?");

QJsonObject readJson(const QString& file)
{
    QFile json(kData + file);
    return json.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(json.readAll()).object() : QJsonObject();
}

QJsonObject byName(const QJsonArray& items, const QString& name)
{
    for (const auto& item : items) {
        if (item["name"_L1].toString() == name)
            return item.toObject();
    }
    return {};
}

QString joined(const QList<QJsonObject>& events, const QString& kind)
{
    QString text;
    for (const QJsonObject& event : events) {
        if (event["event"_L1] == kind)
            text += event["text"_L1].toString();
    }
    return text;
}

QJsonObject eventOf(const QList<QJsonObject>& events, const QString& kind)
{
    for (const QJsonObject& event : events) {
        if (event["event"_L1] == kind)
            return event;
    }
    return {};
}

// A chat request of the fixtures with its pictures as data: URLs, in the way a client sends them.
QByteArray requestWithPictures(QJsonObject request, const QJsonArray& images)
{
    QJsonArray messages = request["messages"_L1].toArray();
    int next = 0;
    for (auto&& message : messages) {
        QJsonObject changed = message.toObject();
        QJsonArray parts = changed["content"_L1].toArray();
        for (auto&& part : parts) {
            if (!part.toObject().contains("image_url"))
                continue;
            QFile picture(kData + "k3-mini/" + images[next++]["file"_L1].toString());
            if (!picture.open(QIODevice::ReadOnly))
                return {};
            const QString url = "data:image/png;base64," + QString::fromLatin1(picture.readAll().toBase64());
            part = QJsonObject{{"type", "image_url"}, {"image_url", QJsonObject{{"url", url}}}};
        }
        if (!parts.isEmpty())
            changed["content"_L1] = parts;
        message = changed;
    }
    request["messages"_L1] = messages;
    return QJsonDocument(request).toJson();
}

} // namespace

class TestWasteRun : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theExactPathWritesTheReferencesContinuations_data()
    {
        QTest::addColumn<QJsonObject>("chatCase");
        for (const auto& row : readJson("k3-mini/chat.json")["cases"_L1].toArray())
            QTest::newRow(row["name"_L1].toString().toUtf8()) << row.toObject();
    }
    void theExactPathWritesTheReferencesContinuations()
    {
        QFETCH(QJsonObject, chatCase);
        const QJsonObject golden =
            byName(readJson("k3-mini/prompts.json")["prompts"_L1].toArray(), chatCase["name"_L1].toString());
        const QByteArray request =
            requestWithPictures(chatCase["request"_L1].toObject(), golden["images"_L1].toArray());
        const auto outcome =
            runWaste({"run", kCheckpoint, "--messages", "-", "--effort", "none", "-n", "96", "--json"}, request);
        COMPARE_EXIT(outcome, 0);
        const auto events = outcome.jsonLines();
        const QJsonObject end = events.last();
        QCOMPARE(end["event"_L1].toString(), QStringLiteral("end"));
        QCOMPARE(end["usage"_L1]["prompt_tokens"_L1].toInt(), int(golden["ids"_L1].toArray().size()));
        QCOMPARE(end["usage"_L1]["completion_tokens"_L1].toInt(), int(golden["greedy"_L1].toArray().size()));

        // What the reference's tokens mean, `waste reply` says; its reading has tests of its own.
        QJsonArray tokens;
        for (const auto& id : golden["greedy"_L1].toArray())
            tokens.append(QJsonObject{{"id", id}});
        const bool thinking = chatCase["request"_L1]["thinking"_L1].toBool();
        const QJsonObject expected =
            runWaste({"reply", kModel, "--tokens", "-", "--start-channel", thinking ? "think" : "response"},
                QJsonDocument(tokens).toJson())
                .json()["final"_L1]
                .toObject();
        const QJsonObject message = end["message"_L1].toObject();
        QCOMPARE(message["content"_L1].toString(), expected["content"_L1].toString());
        QCOMPARE(message["reasoning_content"_L1].toString(), expected["reasoning"_L1].toString());
        const QJsonArray calls = message["tool_calls"_L1].toArray();
        const QJsonArray expectedCalls = expected["tool_calls"_L1].toArray();
        QCOMPARE(calls.size(), expectedCalls.size());
        for (int i = 0; i < calls.size(); ++i) {
            QCOMPARE(calls[i]["function"_L1]["name"_L1].toString(), expectedCalls[i]["name"_L1].toString());
            QCOMPARE(
                calls[i]["function"_L1]["arguments"_L1].toString(), expectedCalls[i]["arguments_text"_L1].toString());
        }
        QCOMPARE(end["finish_reason"_L1].toString(), calls.isEmpty() ? QString("stop") : QString("tool_calls"));
        QCOMPARE(joined(events, "content"), message["content"_L1].toString());
        QCOMPARE(joined(events, "reasoning"), message["reasoning_content"_L1].toString());
        int callEvents = 0;
        for (const QJsonObject& event : events)
            callEvents += event["event"_L1] == "tool_call" ? 1 : 0;
        QCOMPARE(callEvents, int(calls.size()));
    }

    void eventsHaveTheirKeys()
    {
        const auto outcome = runWaste({"run", kModel, kQuestion, "--json", "--effort", "low"});
        COMPARE_EXIT(outcome, 0);
        const auto events = outcome.jsonLines();
        const QJsonObject start = events.first();
        QCOMPARE(start.keys(),
            QStringList({"cached_tokens", "ctx", "effort", "event", "model", "prompt_tokens", "seed", "thinking"}));
        QCOMPARE(start["event"_L1].toString(), QStringLiteral("start"));
        QCOMPARE(start["model"_L1].toString(), QStringLiteral("k3-mini"));
        QCOMPARE(start["ctx"_L1].toInt(), 4096);
        QCOMPARE(start["thinking"_L1].toBool(), true);
        QCOMPARE(start["effort"_L1].toString(), QStringLiteral("low"));
        QVERIFY(start["seed"_L1].isString());
        const QJsonObject prefill = eventOf(events, "prefill");
        QCOMPARE(prefill.keys(), QStringList({"done", "event", "ms", "total"}));
        QCOMPARE(prefill["total"_L1], start["prompt_tokens"_L1]);

        const QJsonObject end = events.last();
        QCOMPARE(end.keys(), QStringList({"event", "finish_reason", "message", "stats", "usage"}));
        const QJsonObject stats = end["stats"_L1].toObject();
        for (const char* key : {"tokens_generated", "prompt_tokens_computed", "experts_hit", "experts_missed",
                 "expert_hit_rate", "bytes_read", "direct_io", "queue_ms", "prefill_ms", "decode_ms", "ms", "tok_per_s",
                 "seed", "thinking", "effort", "session", "warnings", "temperature", "top_p"})
            QVERIFY2(stats.contains(QLatin1String(key)), key);
        const QJsonObject usage = end["usage"_L1].toObject();
        QCOMPARE(usage["total_tokens"_L1].toInt(),
            usage["prompt_tokens"_L1].toInt() + usage["completion_tokens"_L1].toInt());
        QVERIFY(usage["completion_tokens_details"_L1]["reasoning_tokens"_L1].toInt() > 0);
        QCOMPARE(usage["prompt_tokens_details"_L1]["cached_tokens"_L1].toInt(-1), 0);
        QVERIFY(!runWaste({"run", kModel, kQuestion, "--json", "--no-stats"}).json().contains("stats"));
    }

    void textGoesToStandardOutputAndTheRestBesideIt()
    {
        const auto outcome = runWaste({"run", kModel, kQuestion, "--no-think"});
        COMPARE_EXIT(outcome, 0);
        QCOMPARE(outcome.output, QByteArray("The capital of France is Paris.\n"));
        static const QRegularExpression notes(
            R"(^waste: no --budget, using \S+ MiB of \S+ GiB \(expert cache \d+ MiB\)
\[15 tokens, \d+\.\d s, \d+\.\d\d tok/s \| prompt 28 in \d+\.\d s \| experts \d+ % hit \| [\d.]+ \w+/token from disk\]
$)");
        QVERIFY2(notes.match(QString::fromUtf8(outcome.errors)).hasMatch(), outcome.errors.constData());
        QVERIFY(!outcome.errors.contains('\x1b')); // no colours and no bars away from a terminal

        const auto quiet = runWaste({"run", kModel, kQuestion, "--no-think", "-q"});
        COMPARE_EXIT(quiet, 0);
        QCOMPARE(quiet.output, outcome.output);
        QVERIFY(quiet.errors.isEmpty());
        QVERIFY(!runWaste({"run", kModel, kQuestion, "--no-stats", "--budget", "128M"}).errors.contains("tok/s"));

        const auto thinking = runWaste({"run", kModel, kQuestion});
        QVERIFY(!thinking.errors.contains("Paris"));
        const auto shown = runWaste({"run", kModel, kQuestion, "--show-thinking"});
        QCOMPARE(shown.output, thinking.output);
        QVERIFY2(shown.errors.contains("Paris"), shown.errors.constData());
    }

    void rawTextIsContinued()
    {
        const auto outcome = runWaste({"run", kModel, "--raw", "The capital of France is", "-n", "3"});
        COMPARE_EXIT(outcome, 0);
        QVERIFY2(outcome.output.startsWith("The capital of France is P"), outcome.output.constData());
        QVERIFY(outcome.output.endsWith('\n'));
        // Special tokens in a raw text are letters, unless they are asked for.
        const QStringList special = {"run", kModel, "--raw", "<|open|>", "-n", "1", "--json"};
        QVERIFY(runWaste(special).jsonLines().first()["prompt_tokens"_L1].toInt() > 1);
        QCOMPARE(runWaste(special + QStringList{"--markup"}).jsonLines().first()["prompt_tokens"_L1].toInt(), 1);
        COMPARE_EXIT(runWaste({"run", kModel, "x", "--markup"}), 2);
        COMPARE_EXIT(runWaste({"run", kModel, "x", "--raw", "--template"}), 2);
        QVERIFY(runWaste({"run", kModel, "x", "--raw", "--system", "s", "-n", "1"}).errors.contains("--system"));
    }

    void theTemplateServesInPlaceOfTheNativeFormat()
    {
        const auto outcome = runWaste({"run", kModel, kQuestion, "--template", "--json"});
        COMPARE_EXIT(outcome, 0);
        QCOMPARE(outcome.jsonLines().first()["thinking"_L1].toBool(), false);
        QCOMPARE(outcome.json()["message"_L1]["content"_L1].toString(), QString("The capital of France is Paris."));
    }

    void promptsComeFromEverywhere()
    {
        QTemporaryDir folder;
        QFile file(folder.filePath("prompt"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(kQuestion.toUtf8() + "\r\n\n");
        file.close();
        const QStringList run = {"run", kModel, "--no-think", "-q"};
        const QByteArray expected = "The capital of France is Paris.\n";
        QCOMPARE(runWaste(run + QStringList{kQuestion}).output, expected);
        QCOMPARE(runWaste(run, kQuestion.toUtf8() + "\n").output, expected);
        QCOMPARE(runWaste(run + QStringList{"-"}, kQuestion.toUtf8()).output, expected);
        QCOMPARE(runWaste(run + QStringList{"--file", "-"}, kQuestion.toUtf8() + "\r\n").output, expected);
        QCOMPARE(runWaste(run + QStringList{"--file", file.fileName()}).output, expected);
        for (const char* nothing : {"", "\n\r\n"})
            COMPARE_EXIT(runWaste(run, nothing), 2);
        COMPARE_EXIT(runWaste(run + QStringList{"--file", "/nonexistent"}), 6);
        COMPARE_EXIT(runWaste(run + QStringList{"--messages", file.fileName()}), 2);
        COMPARE_EXIT(runWaste(run + QStringList{"--messages", "-", "and a prompt"}, "[]"), 2);

        // One that begins with a dash, and 100,000 bytes.
        const auto dash = runWaste({"run", kModel, "--json", "-n", "1", "--", "-5 is negative"});
        COMPARE_EXIT(dash, 0);
        const QByteArray large = QByteArray("All work and no play. ").repeated(4546).left(100'000);
        const auto refused = runWaste({"run", kModel, "--json", "-"}, large);
        COMPARE_EXIT(refused, 2);
        QCOMPARE(refused.json()["reason"_L1].toString(), QStringLiteral("context_length_exceeded"));
        QCOMPARE(runWaste({"run", kModel, "--json", QString::fromUtf8(large)}).output, refused.output);
    }

    void toolsAndSchemaCompleteARequest()
    {
        QTemporaryDir folder;
        const auto write = [&](const QString& name, const QByteArray& text) {
            QFile file(folder.filePath(name));
            return file.open(QIODevice::WriteOnly) && file.write(text) == text.size() ? file.fileName() : QString();
        };
        const QJsonObject request =
            byName(readJson("k3-mini/chat.json")["cases"_L1].toArray(), "weather_call")["request"_L1].toObject();
        const QString tools = write("tools", QJsonDocument(request["tools"_L1].toArray()).toJson());
        const QByteArray messages = QJsonDocument(request["messages"_L1].toArray()).toJson();
        const QStringList base = {"run", kModel, "--messages", "-", "--json", "-n", "1", "--effort", "none"};
        const QString thinking = request["thinking"_L1].toBool() ? "--think" : "--no-think";
        const auto whole = runWaste(base, QJsonDocument(request).toJson()).jsonLines().first();
        const auto parts = runWaste(base + QStringList{thinking, "--tools", tools}, messages).jsonLines().first();
        QVERIFY(whole["prompt_tokens"_L1].toInt() > 0);
        QCOMPARE(parts["prompt_tokens"_L1], whole["prompt_tokens"_L1]);

        const QString schema = write("schema", R"({"type":"object","properties":{"a":{"type":"number"}}})");
        const auto asked = runWaste({"run", kModel, "--schema", schema, "-n", "1", "Give me JSON."});
        COMPARE_EXIT(asked, 0);
        QVERIFY(asked.errors.contains("schema"));
        COMPARE_EXIT(runWaste({"run", kModel, "--schema", tools, "x"}), 2);
        COMPARE_EXIT(runWaste({"run", kModel, "--tools", schema, "x"}), 2);
        COMPARE_EXIT(runWaste({"run", kModel, "--tools", write("bad", "{"), "x"}), 2);
    }

    void samplingIsRepeatableWithASeedAndSaysItOtherwise()
    {
        const QStringList run = {"run", kModel, "--raw", "Once upon a time", "--temp", "1.5", "-n", "24"};
        const auto first = runWaste(run + QStringList{"--seed", "7"});
        COMPARE_EXIT(first, 0);
        QVERIFY(first.errors.contains("| seed 7]"));
        QCOMPARE(runWaste(run + QStringList{"--seed", "7"}).output, first.output);
        QVERIFY(runWaste(run + QStringList{"--seed", "8"}).output != first.output);
        const auto random = runWaste(run);
        static const QRegularExpression seed(R"(\| seed (\d+)\])");
        const auto match = seed.match(QString::fromUtf8(random.errors));
        QVERIFY(match.hasMatch());
        QCOMPARE(runWaste(run + QStringList{"--seed", match.captured(1)}).output, random.output);
        QVERIFY(!runWaste({"run", kModel, "x", "-n", "1"}).errors.contains("seed"));
        QCOMPARE(runWaste(run + QStringList{"--seed", "18446744073709551615", "--json"})
                     .json()["stats"_L1]["seed"_L1]
                     .toString(),
            QString("18446744073709551615"));
    }

    void neitherThreadsNorKernelsNorBudgetChangeTheText()
    {
        const QStringList run = {"run", kModel, "Count from one to five.", "-q"};
        const auto expected = runWaste(run);
        COMPARE_EXIT(expected, 0);
        QList<QStringList> changes = {{"--threads", "1"}, {"--threads", "3"}, {"--budget", "1G"}, {"--cache", "lru"},
            {"--no-direct-io"}, {"--verify"}, {"--exact"}};
#if defined(__linux__)
        changes << QStringList{"--cpus", QString::number(sched_getcpu())};
#endif
        for (const QStringList& options : changes)
            QCOMPARE(runWaste(run + options).output, expected.output);
        WasteProgram scalar;
        scalar.environment.insert("WASTE_ISA", "scalar");
        QCOMPARE(scalar.run(run).output, expected.output);
    }

    // With room for two layers' experts: where all of them fit nothing is guessed.
    void whatTheCacheLearnsAndGuessesChangesNoAnswer()
    {
        const QTemporaryDir folder;
        const QString list = folder.filePath("hot.waste");
        const QStringList run = {"run", kModel, "Count from one to five.", "-q"};
        const auto expected = runWaste(run);
        COMPARE_EXIT(expected, 0);
        const auto floorBytes = runWaste({"plan", kModel, "--json"}).json()["floor_bytes"_L1].toInteger();
        const QStringList tight = run + QStringList{"--budget", QString::number(floorBytes)};
        const QStringList learning = {"--learn", "--usage", list, "--lock-trunk", "--lookahead", "6"};
        QCOMPARE(runWaste(tight + learning).output, expected.output);
        QVERIFY(QFile::exists(list));
        QCOMPARE(runWaste(tight + learning).output, expected.output); // begins with what the first one learned

        const auto reads = [&tight](const QString& lookahead) {
            const auto stats =
                runWaste(tight + QStringList{"--lookahead", lookahead, "--json"}).json()["stats"_L1].toObject();
            return std::pair(stats["bytes_read"_L1].toInteger(), stats["experts_missed"_L1].toInteger());
        };
        const auto [plainBytes, plainMisses] = reads("off");
        QVERIFY(plainMisses > 0);
        const qint64 recordBytes = plainBytes / plainMisses;
        QCOMPARE(recordBytes * plainMisses, plainBytes);
        const auto [bytes, misses] = reads("6");
        QVERIFY(bytes > misses * recordBytes); // the others came on a guess
        for (const char* lookahead : {"off", "6", "auto"})
            QCOMPARE(runWaste(tight + QStringList{"--lookahead", lookahead}).output, expected.output);
    }

    void aReplyEndsWhereItIsAskedTo()
    {
        const auto limited = runWaste({"run", kModel, kQuestion, "--no-think", "-n", "3", "--json"});
        COMPARE_EXIT(limited, 0);
        QCOMPARE(limited.json()["finish_reason"_L1].toString(), QStringLiteral("length"));
        QCOMPARE(limited.json()["usage"_L1]["completion_tokens"_L1].toInt(), 3);
        // "Paris" comes as " P" and "aris": the stop text is matched over tokens and not shown.
        const auto stopped = runWaste({"run", kModel, kQuestion, "--no-think", "--stop", "Paris", "--json"});
        COMPARE_EXIT(stopped, 0);
        QCOMPARE(stopped.json()["finish_reason"_L1].toString(), QStringLiteral("stop"));
        QCOMPARE(stopped.json()["message"_L1]["content"_L1].toString(), QString("The capital of France is "));
        QCOMPARE(joined(stopped.jsonLines(), "content"), QString("The capital of France is "));

        const auto full = runWaste({"run", kModel, "--raw", "Once upon a time", "--ctx", "16", "-n", "100"});
        COMPARE_EXIT(full, 0);
        static const QRegularExpression note(R"(waste: context of 16 tokens is full at position \d+)");
        QVERIFY2(note.match(QString::fromUtf8(full.errors)).hasMatch(), full.errors.constData());
    }

    // Wild sampling draws bytes that are no text. What is written is always whole characters.
    void charactersAreNeverCut()
    {
        const QStringList run = {"run", kModel, "--raw", "世", "--temp", "30", "--seed", "3", "-n", "400"};
        const auto json = runWaste(run + QStringList{"--json"});
        COMPARE_EXIT(json, 0);
        const QString content = json.json()["message"_L1]["content"_L1].toString();
        QCOMPARE(joined(json.jsonLines(), "content"), content);
        QVERIFY(content.contains(QChar(0xFFFD)));
        QCOMPARE(runWaste(run).output, ("世" + content + "\n").toUtf8());

        WasteProgram program;
        QProcess process;
        process.setProcessEnvironment(program.environment);
        process.start(WASTE_CLI, run + QStringList{"-q"});
        QVERIFY(process.waitForStarted());
        while (process.waitForReadyRead(program.timeoutMs)) {
            const QByteArray written = process.readAllStandardOutput();
            QCOMPARE(QString::fromUtf8(written).toUtf8(), written);
        }
        process.waitForFinished();
    }
};

QTEST_GUILESS_MAIN(TestWasteRun)
#include "tst_waste_run.moc"
