// The commands that need no engine: tokenize, detokenize, info, version, prompt, reply.
// JSON key by key (spec: cli A.3, B.6, B.9), text forms, and the fixtures through the program itself.

#include "waste_program.h"

#include <QFile>
#include <QJsonArray>
#include <QRegularExpression>
#include <QTemporaryDir>

namespace {

const QString kModel = QStringLiteral(WASTE_K3_MINI_CONTAINER);
const QString kData = QStringLiteral(WASTE_TEST_DATA "/");

QJsonObject readJson(const QString& file)
{
    QFile json(file);
    return json.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(json.readAll()).object() : QJsonObject();
}

QByteArray idList(const QJsonArray& ids, const char* separator = " ")
{
    QByteArrayList list;
    for (const auto& id : ids)
        list << QByteArray::number(id.toInt());
    return list.join(separator);
}

// The objects behind every "key": of a file as they stand there: QJsonObject would sort their keys, whose order
// matters in the arguments of tool calls. The description of the schema, a string, is passed over.
QByteArrayList valuesOf(const QByteArray& key, const QString& fileName)
{
    QFile file(fileName);
    if (!file.open(QIODevice::ReadOnly))
        return {};
    const QByteArray text = file.readAll();
    const QByteArray label = '"' + key + "\": {";
    QByteArrayList values;
    for (qsizetype at = text.indexOf(label); at >= 0; at = text.indexOf(label, at + 1)) {
        const qsizetype begin = at + label.size() - 1;
        qsizetype end = begin;
        int depth = 0;
        bool inString = false;
        do {
            const char c = text[end];
            if (inString && c == '\\')
                ++end;
            else if (c == '"')
                inString = !inString;
            else if (!inString && (c == '{' || c == '}'))
                depth += c == '{' ? 1 : -1;
        } while (++end < text.size() && depth > 0);
        values << text.mid(begin, end - begin);
    }
    return values;
}

} // namespace

class TestWasteQueries : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyTokenizerCaseComesOutTheSame()
    {
        // One process for many cases would hide their borders; a few hundred are quick enough.
        const QJsonObject cases = readJson(kData + "k3-mini/tokenizer.json");
        for (const char* mode : {"plain", "markup"}) {
            const QJsonArray rows = cases[mode].toArray();
            QVERIFY(!rows.isEmpty());
            for (const auto& row : rows) {
                const QString text = row["text"_L1].toString();
                if (text.contains(QChar('\0')))
                    continue; // no argument can hold it
                const auto outcome = runWaste({"tokenize", kModel, QString("--") + mode, "--json", "--", text});
                COMPARE_EXIT(outcome, 0);
                QCOMPARE(outcome.json()["ids"_L1].toArray(), row["ids"_L1].toArray());
                QCOMPARE(outcome.json()["n"_L1].toInt(), int(row["ids"_L1].toArray().size()));
            }
        }
    }

    void tokenizeSpeaksEveryForm()
    {
        const QString text = "Hello <|sep|>";
        const auto markup = runWaste({"tokenize", kModel, text});
        COMPARE_EXIT(markup, 0);
        QVERIFY(QRegularExpression(R"(^\d+( \d+)*\n$)").match(markup.output).hasMatch());
        QCOMPARE(runWaste({"tokenize", kModel, text, "--markup"}).output, markup.output);
        QVERIFY(runWaste({"tokenize", kModel, text, "--plain"}).output != markup.output);
        QCOMPARE(runWaste({"tokenize", kModel, text, "--count"}).output.trimmed().toInt(),
            int(markup.output.trimmed().split(' ').size()));
        QCOMPARE(keysInOrder(runWaste({"tokenize", kModel, text, "--json"}).output), QStringList({"n", "ids"}));
        QCOMPARE(keysInOrder(runWaste({"tokenize", kModel, text, "--count", "--json"}).output), QStringList({"n"}));
        const auto pieces = runWaste({"tokenize", kModel, text, "--pieces"});
        COMPARE_EXIT(pieces, 0);
        QVERIFY(pieces.output.endsWith(" \"<|sep|>\"\n"));

        const QJsonObject json = runWaste({"tokenize", kModel, "--pieces", "--json", "--", "🌍"}).json();
        QByteArray bytes;
        for (const auto& piece : json["pieces"_L1].toArray()) {
            QCOMPARE(piece.toObject().contains("bytes"), piece["piece"_L1].toString().contains(QChar(0xFFFD)));
            for (const auto& byte : piece["bytes"_L1].toArray())
                bytes += char(byte.toInt());
            if (!piece.toObject().contains("bytes"))
                bytes += piece["piece"_L1].toString().toUtf8();
        }
        QCOMPARE(bytes, QByteArray("🌍"));
    }

    void textComesFromArgumentFileOrInput()
    {
        QTemporaryDir folder;
        QFile file(folder.filePath("text"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("Hello\r\n\n");
        file.close();
        const QByteArray expected = runWaste({"tokenize", kModel, "Hello"}).output;
        QVERIFY(!expected.isEmpty());
        QCOMPARE(runWaste({"tokenize", kModel}, "Hello\n").output, expected);
        QCOMPARE(runWaste({"tokenize", kModel, "-"}, "Hello\r\n").output, expected);
        QCOMPARE(runWaste({"tokenize", kModel, "--file", "-"}, "Hello").output, expected);
        QCOMPARE(runWaste({"tokenize", kModel, "--file", file.fileName()}).output, expected);
        // An argument is taken as it is, and an empty text is one.
        QVERIFY(runWaste({"tokenize", kModel, "Hello\n"}).output != expected);
        for (const QStringList& arguments :
            {QStringList{"tokenize", kModel, "", "--json"}, {"tokenize", kModel, "--json"}}) {
            const auto empty = runWaste(arguments);
            COMPARE_EXIT(empty, 0);
            QCOMPARE(empty.output, QByteArray("{\"n\":0,\"ids\":[]}\n"));
        }
        COMPARE_EXIT(runWaste({"tokenize", kModel, "a", "--file", "b"}), 2);
        COMPARE_EXIT(runWaste({"tokenize", kModel, "--file", "/nonexistent"}), 6);
        // Ill-formed text is mended, with one warning.
        const auto mended = runWaste({"tokenize", kModel, "--plain"}, "a\xff\xfe");
        COMPARE_EXIT(mended, 0);
        QCOMPARE(mended.errors.count("UTF-8"), 1);
        QCOMPARE(mended.output, runWaste({"tokenize", kModel, "--plain", "a\uFFFD\uFFFD"}).output);
    }

    void idsBecomeTheirText()
    {
        const QJsonArray rows = readJson(kData + "k3-mini/tokenizer.json")["plain"_L1].toArray();
        for (int i = 0; i < rows.size(); i += 10) {
            const auto outcome =
                runWaste({"detokenize", kModel, "--json"}, idList(rows[i]["ids"_L1].toArray(), i % 20 ? ",\t" : "\n"));
            COMPARE_EXIT(outcome, 0);
            QCOMPARE(outcome.json()["text"_L1].toString(), rows[i]["text"_L1].toString());
        }
        const QByteArray ids = runWaste({"tokenize", kModel, "Hello 你好"}).output.trimmed();
        QCOMPARE(runWaste({"detokenize", kModel, QString::fromUtf8(ids)}).output, QByteArray("Hello 你好\n"));
        for (const char* wrong : {"x", "1 2 three", "1.5", "-1", "99999", "2147483648", "0x10"}) {
            const auto outcome = runWaste({"detokenize", kModel, "--json", "--", wrong});
            COMPARE_EXIT(outcome, 2);
            QCOMPARE(outcome.json()["code"_L1].toString(), QStringLiteral("usage"));
        }
    }

    void infoTellsTheFactsOfTheManifest()
    {
        const auto outcome = runWaste({"info", kData + "containers/kl-vq3r-q4g.waste", "--json"});
        COMPARE_EXIT(outcome, 0);
        const QJsonObject json = outcome.json();
        QCOMPARE(keysInOrder(outcome.output).mid(0, 10),
            QStringList({"engine", "arch", "layers", "experts", "top_k", "hidden", "params_total", "params_active",
                "quantization", "expert_cache_bytes"}));
        QCOMPARE(json["arch"_L1].toString(), QStringLiteral("kimi-linear"));
        QCOMPARE(json["layers"_L1].toInt(), 4);
        QCOMPARE(json["experts"_L1].toInt(), 6);
        QCOMPARE(json["top_k"_L1].toInt(), 2);
        QCOMPARE(json["hidden"_L1].toInt(), 136);
        QVERIFY(json["quantization"_L1].toString().startsWith("experts VQ3R, trunk "));
        QVERIFY(json["params_active"_L1].toDouble() > 0
            && json["params_active"_L1].toDouble() < json["params_total"_L1].toDouble());
        QVERIFY(json["expert_cache_bytes"_L1].toDouble() > 0);
        QCOMPARE(json["format"_L1].toString(), QStringLiteral("container"));
        QCOMPARE(json["version"_L1].toInt(-1), 0);
        qint64 bytes = 0;
        for (const QFileInfo& file : QDir(kData + "containers/kl-vq3r-q4g.waste").entryInfoList(QDir::Files))
            bytes += file.size();
        QCOMPARE(qint64(json["container_bytes"_L1].toDouble()), bytes);
        QVERIFY(json["chat_format"_L1].isNull() && json["tokenizer_sha256"_L1].isNull());
        QCOMPARE(json["vision"_L1].toBool(), false);
        QCOMPARE(json["thinking"_L1].toBool(), false);

        const QJsonObject builtIn = runWaste({"info", kModel, "--json"}).json();
        QCOMPARE(builtIn["arch"_L1].toString(), QStringLiteral("kimi-k3"));
        QCOMPARE(builtIn["chat_format"_L1].toString(), QStringLiteral("xtml"));
        QCOMPARE(builtIn["thinking"_L1].toBool(), true);
        QCOMPARE(builtIn["vision"_L1].toBool(), true);
        QCOMPARE(builtIn["vocab"_L1].toInt(), 3072);
        QCOMPARE(builtIn["tokenizer_sha256"_L1].toString().size(), 64);
        QVERIFY(!builtIn["created"_L1].toString().isEmpty());
        QCOMPARE(runWaste({"info", WASTE_K3_MINI_CHECKPOINT, "--json"}).json()["format"_L1].toString(),
            QStringLiteral("checkpoint"));

        const QJsonObject loaded = runWaste({"info", kModel, "--load", "--json", "-q"}).json();
        QVERIFY(!loaded["backend"_L1].toString().isEmpty());
        QCOMPARE(loaded["layers"_L1], builtIn["layers"_L1]);
    }

    void infoAsText()
    {
        const auto outcome = runWaste({"info", kModel});
        COMPARE_EXIT(outcome, 0);
        const auto lines = outcome.output.split('\n');
        QCOMPARE(lines[0] + "\n", runWaste({"version"}).output);
        QVERIFY(lines[1].isEmpty());
        const char* labels[] = {"arch", "layers", "experts", "hidden", "parameters", "quantization", "expert cache"};
        for (int i = 0; i < 7; ++i)
            QVERIFY2(lines[2 + i].startsWith(QByteArray(labels[i]).leftJustified(14)), lines[2 + i].constData());
        QVERIFY(QRegularExpression(R"(experts\s+\d+ \(top-\d+\))").match(outcome.output).hasMatch());
        QVERIFY(QRegularExpression(R"(parameters\s+0\.01 B \(13\.\d M\) total, 0\.\d\d B \(\d\.\d M\) active/token)")
                    .match(outcome.output)
                    .hasMatch());
    }

    void versionIsOneLine()
    {
        const auto outcome = runWaste({"version"});
        COMPARE_EXIT(outcome, 0);
        QVERIFY(
            QRegularExpression(R"(^WASTE \d+\.\d+\.\d+ \(container v0, backend \w+, crc32 (clmul|slice8), \w+\)\n$)")
                .match(outcome.output)
                .hasMatch());
        QCOMPARE(runWaste({"--version"}).output, outcome.output);
        QCOMPARE(keysInOrder(runWaste({"version", "--json"}).output),
            QStringList({"version", "container_format", "backend", "cpu_features", "unicode", "compiler", "commit"}));
        WasteProgram program;
        program.environment.insert("WASTE_ISA", "scalar");
        QCOMPARE(program.run({"version", "--json"}).json()["backend"_L1].toString(), QStringLiteral("scalar"));
        program.environment.insert("WASTE_ISA", "nonsense");
        COMPARE_EXIT(program.run({"version"}), 5);
    }

    void promptRendersEveryFixture()
    {
        for (const auto& row : readJson(kData + "k3-mini/chat.json")["cases"_L1].toArray()) {
            QJsonObject request = row["request"_L1].toObject();
            const bool hasImages = !row["image_sizes"_L1].toArray().isEmpty();
            if (hasImages)
                continue; // below, with real pictures
            const auto outcome = runWaste(
                {"prompt", kModel, "--messages", "-", "--effort", "none", "--json"}, QJsonDocument(request).toJson());
            COMPARE_EXIT(outcome, 0);
            QCOMPARE(outcome.json()["ids"_L1].toArray(), row["ids_unexpanded"_L1].toArray());
            QJsonArray segments;
            for (const auto& segment : row["segments"_L1].toArray())
                segments.append(QJsonObject{{"text", segment[0]}, {"markup", segment[1]}});
            QCOMPARE(outcome.json()["segments"_L1].toArray(), segments);
        }
    }

    void promptExpandsPictures()
    {
        QFile picture(kData + "k3-mini/red_circle.png");
        QVERIFY(picture.open(QIODevice::ReadOnly));
        const QJsonObject part{{"type", "image_url"},
            {"image_url",
                QJsonObject{{"url", "data:image/png;base64," + QString::fromLatin1(picture.readAll().toBase64())}}}};
        const QJsonObject request{{"thinking", true},
            {"messages",
                QJsonArray{QJsonObject{{"role", "user"},
                    {"content", QJsonArray{part, QJsonObject{{"type", "text"}, {"text", "What do you see?"}}}}}}}};
        const auto outcome = runWaste(
            {"prompt", kModel, "--messages", "-", "--effort", "none", "--json"}, QJsonDocument(request).toJson());
        COMPARE_EXIT(outcome, 0);
        QJsonArray expected;
        for (const auto& prompt : readJson(kData + "k3-mini/prompts.json")["prompts"_L1].toArray()) {
            if (prompt["name"_L1].toString() == "image_one")
                expected = prompt["ids"_L1].toArray();
        }
        QCOMPARE(outcome.json()["ids"_L1].toArray(), expected);
        QJsonObject image;
        for (const auto& segment : outcome.json()["segments"_L1].toArray()) {
            if (segment.toObject().contains("image"))
                image = segment["image"_L1].toObject();
        }
        QCOMPARE(image, QJsonObject({{"width", 112}, {"height", 112}}));

        for (const char* url : {"https://example.org/x.png", "data:image/png;base64,!!!!", "data:,x", ""}) {
            QJsonObject wrongPart = part;
            wrongPart["image_url"_L1] = QJsonObject{{"url", url}};
            const QJsonArray messages{QJsonObject{{"role", "user"}, {"content", QJsonArray{wrongPart}}}};
            const auto wrong =
                runWaste({"prompt", kModel, "--messages", "-", "--json"}, QJsonDocument(messages).toJson());
            COMPARE_EXIT(wrong, 2);
            QVERIFY(wrong.json()["message"_L1].toString().contains("messages[0].content[0]"));
        }
    }

    void promptAsTextIsOneSegmentALine()
    {
        const QJsonObject message{{"role", "user"}, {"content", "line one\nline \"two\""}};
        const QByteArray messages = QJsonDocument(QJsonArray{message}).toJson();
        const auto outcome = runWaste({"prompt", kModel, "--messages", "-", "--no-think"}, messages);
        COMPARE_EXIT(outcome, 0);
        QVERIFY(outcome.output.startsWith("M \"<|open|>\"\nP \"message\"\nP \" role\"\n"));
        QVERIFY(outcome.output.contains("\nP \"line one\\nline \\\"two\\\"\"\n"));
        const auto ids = runWaste({"prompt", kModel, "--messages", "-", "--no-think", "--ids"}, messages);
        const auto json = runWaste({"prompt", kModel, "--messages", "-", "--no-think", "--json"}, messages).json();
        QCOMPARE(ids.output.trimmed(), idList(json["ids"_L1].toArray()));
    }

    void promptTreatsEffortLikeTheServer()
    {
        const auto text = [](const QByteArray& fields, const QStringList& options = {}) {
            return runWaste(QStringList{"prompt", kModel, "--messages", "-"} + options,
                R"({"messages":[{"role":"user","content":"Hi"}])" + fields + "}");
        };
        QVERIFY(text("").output.contains("thinking_effort=low"));
        QVERIFY(text("", {"--effort", "max"}).output.contains("thinking_effort=max"));
        QVERIFY(!text("", {"--effort", "none"}).output.contains("thinking_effort"));
        QVERIFY(text(R"(,"reasoning_effort":"medium")").output.contains("thinking_effort=high"));
        QVERIFY(text(R"(,"reasoning":{"effort":"minimal"})").output.contains("thinking_effort=low"));
        QVERIFY(text(R"(,"reasoning_effort":"none")").output.endsWith("\"response\"\nM \"<|sep|>\"\n"));
        QVERIFY(text(R"(,"thinking":false)").output.endsWith("\"response\"\nM \"<|sep|>\"\n"));
        for (const char* wrong : {R"(,"thinking_effort":"medium")", R"(,"reasoning_effort":"some")",
                 R"(,"thinking":false,"reasoning_effort":"high")", R"(,"thinking":7)"})
            COMPARE_EXIT(text(wrong), 2);
    }

    void rendererInputHasNoDefaults()
    {
        const QByteArray input =
            R"({"messages":[{"role":"user","content":"a <|kimi_image_placeholder|> b"}],"tools":null,
            "thinking":true,"add_generation_prompt":false,"thinking_effort":null,"tool_choice":null,
            "response_format":null,"image_prompts":["<|media_begin|>image 3x4<|media_content|><|media_pad|><|media_end|>"]})";
        const auto outcome = runWaste({"prompt", kModel, "--messages", "-", "--renderer-input", "--json"}, input);
        COMPARE_EXIT(outcome, 0);
        QVERIFY(!outcome.output.contains("thinking_effort"));
        QVERIFY(outcome.output.contains("image 3x4"));

        if (QString(WASTE_FIXTURES).isEmpty())
            QSKIP("no folder of large reference data: the release's cases were not compared");
        const QString file = QString(WASTE_FIXTURES) + "/xtml/cases.json";
        const QJsonArray cases = readJson(file)["cases"_L1].toArray();
        const QByteArrayList inputs = valuesOf("input", file);
        QVERIFY(!cases.isEmpty());
        QCOMPARE(inputs.size(), cases.size());
        for (int i = 0; i < cases.size(); ++i) {
            const auto rendered =
                runWaste({"prompt", kModel, "--messages", "-", "--renderer-input", "--json"}, inputs[i]);
            COMPARE_EXIT(rendered, 0);
            QVERIFY2(rendered.json()["segments"_L1].toArray() == cases[i]["segments"_L1].toArray(),
                qPrintable(cases[i]["name"_L1].toString()));
        }
    }

    void promptRefusesWhatIsNoRequest()
    {
        for (const char* wrong : {"", "{", "7", "{}", R"({"messages":[]})", R"([{"role":"nobody","content":"x"}])",
                 R"([{"role":"user","content":5}])"}) {
            const auto outcome = runWaste({"prompt", kModel, "--messages", "-", "--json"}, wrong);
            QVERIFY2(outcome.exitCode == 2 && outcome.json()["code"_L1] == "usage", wrong);
        }
        COMPARE_EXIT(runWaste({"prompt", kModel}), 2);
        COMPARE_EXIT(runWaste({"prompt", kModel, "--messages", "/nonexistent"}), 6);
    }

    void replyReadsEveryFixture()
    {
        for (const auto& row : readJson(kData + "xtml/replies.json")["cases"_L1].toArray()) {
            const auto outcome =
                runWaste({"reply", kModel, "--tokens", "-", "--start-channel", row["start_channel"_L1].toString()},
                    QJsonDocument(row["tokens"_L1].toArray()).toJson());
            COMPARE_EXIT(outcome, 0);
            const QJsonObject json = outcome.json();
            QVERIFY2(json["deltas"_L1] == row["deltas"_L1], row["name"_L1].toString().toUtf8());
            QVERIFY2(json["final"_L1] == row["final"_L1],
                row["name"_L1].toString().toUtf8() + "\n" + QJsonDocument(json["final"_L1].toObject()).toJson()
                    + QJsonDocument(row["final"_L1].toObject()).toJson());
        }
    }

    void replyTakesIdsInPlaceOfText()
    {
        const auto ids = runWaste({"tokenize", kModel, "--json", "Hi🌍<|close|>response<|sep|><|end_of_msg|>"}).json();
        QJsonArray tokens;
        for (const auto& id : ids["ids"_L1].toArray())
            tokens.append(QJsonObject{{"id", id}});
        const auto outcome = runWaste({"reply", kModel, "--tokens", "-", "--start-channel", "response", "--json"},
            QJsonDocument(tokens).toJson());
        COMPARE_EXIT(outcome, 0);
        QCOMPARE(outcome.json()["final"_L1]["content"_L1].toString(), QString("Hi🌍"));
        for (const char* wrong :
            {"", "{}", R"([{"text":"x","markup":true}])", R"([{"id":99999}])", R"([{"markup":true}])"})
            QVERIFY2(runWaste({"reply", kModel, "--tokens", "-", "--json"}, wrong).exitCode == 2, wrong);
        COMPARE_EXIT(runWaste({"reply", kModel}), 2);
    }

    void damagedAndForeignModelsHaveTheirExitCodes()
    {
        QTemporaryDir folder;
        const auto withManifest = [&](const QByteArray& manifest) {
            QFile file(folder.filePath("manifest.json"));
            return file.open(QIODevice::WriteOnly) && file.write(manifest) == manifest.size();
        };
        COMPARE_EXIT(runWaste({"info", folder.path()}), 6);
        QVERIFY(withManifest("{"));
        COMPARE_EXIT(runWaste({"info", folder.path()}), 4);
        QVERIFY(withManifest("{}"));
        COMPARE_EXIT(runWaste({"info", folder.path()}), 4); // no format_version
        QVERIFY(withManifest(R"({"format_version":99})"));
        const auto newer = runWaste({"info", folder.path(), "--json"});
        COMPARE_EXIT(newer, 5);
        QCOMPARE(newer.json()["code"_L1].toString(), QStringLiteral("unsupported"));
        // No tokenizer: text commands say so.
        COMPARE_EXIT(runWaste({"tokenize", kData + "containers/kl-vq3r-q4g.waste", "x"}), 5);
    }
};

QTEST_GUILESS_MAIN(TestWasteQueries)
#include "tst_waste_queries.moc"
