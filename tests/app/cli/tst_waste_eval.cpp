// `waste eval` against reference values (spec: cli B.9): logits, layer norms, experts and perplexity of the exact
// checkpoints and of the golden containers, all through the program and its files.

#include "support/damage.h"
#include "support/golden.h"
#include "waste_program.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>

#include <cmath>

namespace {

using waste::test::readFloats;
using waste::test::relativeError;

constexpr double kExactTolerance = 1e-5; // relative L2 of a row of logits
const QString kData = QStringLiteral(WASTE_TEST_DATA "/");

QJsonObject readJson(const QString& file)
{
    QFile json(kData + file);
    return json.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(json.readAll()).object() : QJsonObject();
}

QString idList(const QJsonArray& ids)
{
    QStringList list;
    for (const auto& id : ids)
        list << QString::number(id.toInt());
    return list.join(' ');
}

QJsonObject byName(const QJsonArray& items, const QString& name)
{
    for (const auto& item : items) {
        if (item["name"_L1].toString() == name)
            return item.toObject();
    }
    return {};
}

// −log softmax(row)[id]
double negativeLogLikelihood(std::span<const float> row, int id)
{
    const double maximum = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const float logit : row)
        sum += std::exp(double{logit} - maximum);
    return maximum + std::log(sum) - double{row[static_cast<std::size_t>(id)]};
}

} // namespace

class TestWasteEval : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(m_folder.isValid()); }

    void logitsOfTheExactCheckpointAreTheReferences_data()
    {
        QTest::addColumn<QJsonObject>("prompt");
        for (const auto& prompt : readJson("k3-mini/prompts.json")["prompts"_L1].toArray())
            QTest::newRow(prompt["name"_L1].toString().toUtf8()) << prompt.toObject();
    }
    void logitsOfTheExactCheckpointAreTheReferences()
    {
        QFETCH(QJsonObject, prompt);
        QStringList arguments = {"eval", WASTE_K3_MINI_CHECKPOINT, "--ids", idList(prompt["ids"_L1].toArray()),
            "--logits", file("logits"), "--json"};
        for (const auto& image : prompt["images"_L1].toArray())
            arguments << "--image" << kData + "k3-mini/" + image["file"_L1].toString();
        const auto outcome = runWaste(arguments);
        COMPARE_EXIT(outcome, 0);

        const auto expected = readFloats((kData + "k3-mini/" + prompt["logits_file"_L1].toString()).toStdString());
        const auto actual = readFloats(file("logits").toStdString());
        const double error = relativeError(actual, expected);
        QVERIFY2(error <= kExactTolerance, qPrintable(QString::number(error)));

        // What is printed is what was written.
        const QJsonObject json = outcome.json();
        QCOMPARE(json["prompt_tokens"_L1].toInt(), int(prompt["ids"_L1].toArray().size()));
        QCOMPARE(json["vocab"_L1].toInt(), int(expected.size()));
        const QJsonArray top = json["top"_L1].toArray();
        const QJsonArray expectedTop = prompt["top10"_L1].toArray();
        QCOMPARE(top.size(), 10);
        for (int i = 0; i < 3; ++i) {
            QCOMPARE(top[i]["id"_L1].toInt(), expectedTop[i][0].toInt());
            QVERIFY(std::abs(top[i]["logit"_L1].toDouble() - expectedTop[i][1].toDouble()) < 1e-3);
            QVERIFY(std::abs(std::exp(top[i]["logprob"_L1].toDouble()) - top[i]["prob"_L1].toDouble()) < 1e-6);
            QVERIFY(top[i]["piece"_L1].isString());
        }
    }

    void everyPositionAgreesForEveryChunk_data()
    {
        QTest::addColumn<int>("chunk");
        for (const int chunk : {1, 2, 7, 16, 64})
            QTest::addRow("%d", chunk) << chunk;
    }
    void everyPositionAgreesForEveryChunk()
    {
        QFETCH(int, chunk);
        const QJsonObject prompt = byName(readJson("k3-mini/prompts.json")["prompts"_L1].toArray(), "capital_think");
        COMPARE_EXIT(
            runWaste({"eval", WASTE_K3_MINI_CHECKPOINT, "--ids", idList(prompt["ids"_L1].toArray()), "--logits",
                file("logits"), "--all-positions", "--dump-layers", file("layers"), "--chunk", QString::number(chunk)}),
            0);
        expectRows(file("logits"), kData + "k3-mini/" + prompt["all_logits_file"_L1].toString(), 28);
        expectLayers(prompt, 1); // layer 0 is dense
    }

    void theSmallLinearModelAgrees_data()
    {
        QTest::addColumn<QString>("name");
        QTest::newRow("short") << "short";
        QTest::newRow("long") << "long";
    }
    void theSmallLinearModelAgrees()
    {
        QFETCH(QString, name);
        const QJsonObject prompt = byName(readJson("kl-mini/golden.json")["prompts"_L1].toArray(), name);
        QFile ids(file("ids"));
        QVERIFY(ids.open(QIODevice::WriteOnly));
        ids.write(idList(prompt["ids"_L1].toArray()).replace(' ', ",\n").toUtf8());
        ids.close();
        const bool all = name == "short";
        QStringList arguments = {"eval", kData + "kl-mini", "--ids", "@" + ids.fileName(), "--logits", file("logits"),
            "--dump-layers", file("layers"), "--json"};
        if (all)
            arguments << "--all-positions";
        const auto outcome = runWaste(arguments);
        COMPARE_EXIT(outcome, 0);
        expectRows(file("logits"), kData + "kl-mini/" + name + (all ? ".all_logits.f32" : ".logits.f32"),
            all ? prompt["ids"_L1].toArray().size() : 1);
        if (all)
            expectLayers(prompt, 1);
        QVERIFY(!outcome.json()["top"_L1][0].toObject().contains("piece")); // there is no tokenizer
        COMPARE_EXIT(runWaste({"eval", kData + "kl-mini", "some text"}), 5);
    }

    void goldenContainersAgree_data()
    {
        QTest::addColumn<QString>("name");
        for (const QString& file : QDir(kData + "containers").entryList({"*.logits.f32"}))
            QTest::newRow(file.chopped(11).toUtf8()) << file.chopped(11);
    }
    void goldenContainersAgree()
    {
        QFETCH(QString, name);
        const QString container = kData + "containers/" + name;
        const QJsonObject golden = readJson("containers/" + name + ".json");
        COMPARE_EXIT(runWaste({"eval", container + ".waste", "--ids", idList(golden["ids"_L1].toArray()), "--logits",
                         file("logits"), "--all-positions", "--dump-layers", file("layers"), "--exact", "--verify"}),
            0);
        expectRows(file("logits"), container + ".logits.f32", golden["ids"_L1].toArray().size());
        expectLayers(golden, 1);
    }

    // The references: 292 of 350 answers exact, 575.035 nats over 11,186 tokens.
    void theEvaluationSetScoresAsTheReference()
    {
        const auto outcome =
            runWaste({"eval", WASTE_K3_MINI_CHECKPOINT, "--perplexity", kData + "k3-mini/eval_set.json", "--json"});
        COMPARE_EXIT(outcome, 0);
        const QJsonObject json = outcome.json();
        QCOMPARE(json["tokens"_L1].toInt(), 11186);
        QCOMPARE(json["answers"_L1].toInt(), 350);
        QCOMPARE(json["exact_answers"_L1].toInt(), 292);
        QVERIFY2(std::abs(json["nll"_L1].toDouble() - 575.035) < 0.05, outcome.output.constData());
        QVERIFY(std::abs(json["perplexity"_L1].toDouble() - std::exp(json["nll"_L1].toDouble() / 11186)) < 1e-9);
    }

    void jsonLinesAreScoredLikeItems()
    {
        const QJsonArray items = readJson("k3-mini/eval_set.json")["items"_L1].toArray();
        QFile lines(file("items.jsonl"));
        QVERIFY(lines.open(QIODevice::WriteOnly));
        double nll = 0;
        int exact = 0;
        for (int i = 0; i < 6; ++i) {
            const QJsonObject item = items[i].toObject();
            lines.write(
                QJsonDocument(QJsonObject{{"prompt_ids", item["prompt_ids"_L1]}, {"answer_ids", item["answer_ids"_L1]}})
                    .toJson(QJsonDocument::Compact)
                + "\n");
            nll += item["ref_nll"_L1].toDouble();
            exact += item["ref_exact"_L1].toBool() ? 1 : 0;
        }
        lines.close();
        const auto outcome = runWaste({"eval", WASTE_K3_MINI_CHECKPOINT, "--perplexity", lines.fileName(), "--json"});
        COMPARE_EXIT(outcome, 0);
        QCOMPARE(outcome.json()["answers"_L1].toInt(), 6);
        QCOMPARE(outcome.json()["exact_answers"_L1].toInt(), exact);
        QVERIFY(std::abs(outcome.json()["nll"_L1].toDouble() - nll) < 1e-3);
    }

    // Windows by hand: each scores what no earlier one scored, never its own first token.
    void windowsScoreEveryTokenOnce_data()
    {
        QTest::addColumn<int>("stride"); // 0: not given
        QTest::addColumn<int>("scored"); // of 40 tokens in windows of 16
        QTest::newRow("no overlap") << 0 << 37;
        QTest::newRow("half") << 8 << 39;
        QTest::newRow("one") << 1 << 39;
    }
    void windowsScoreEveryTokenOnce()
    {
        QFETCH(int, stride);
        QFETCH(int, scored);
        constexpr int kContext = 16;
        const QJsonArray ids =
            byName(readJson("kl-mini/golden.json")["prompts"_L1].toArray(), "long")["ids"_L1].toArray();
        QJsonArray text;
        for (int i = 0; i < 40; ++i)
            text.append(ids[i]);
        QFile idsFile(file("ids"));
        QVERIFY(idsFile.open(QIODevice::WriteOnly));
        idsFile.write(idList(text).toUtf8());
        idsFile.close();

        QStringList arguments = {
            "eval", kData + "kl-mini", "--ids-file", idsFile.fileName(), "--ctx", QString::number(kContext), "--json"};
        if (stride > 0)
            arguments << "--stride" << QString::number(stride);
        const auto outcome = runWaste(arguments);
        COMPARE_EXIT(outcome, 0);
        QCOMPARE(outcome.json()["tokens"_L1].toInt(), scored);
        QVERIFY(!outcome.json().contains("answers"));

        double expected = 0;
        int scoredEnd = 0;
        const int step = stride > 0 ? stride : kContext;
        const int size = int(text.size());
        for (int begin = 0; scoredEnd < size; begin += step) {
            QJsonArray window;
            for (int i = begin; i < std::min(begin + kContext, size); ++i)
                window.append(text[i]);
            COMPARE_EXIT(runWaste({"eval", kData + "kl-mini", "--ids", idList(window), "--logits", file("window"),
                             "--all-positions"}),
                0);
            const auto logits = readFloats(file("window").toStdString());
            for (int i = std::max(scoredEnd, begin + 1); i < begin + window.size(); ++i)
                expected += negativeLogLikelihood(
                    std::span(logits).subspan(std::size_t(i - 1 - begin) * 512, 512), text[i].toInt());
            scoredEnd = begin + int(window.size());
        }
        QVERIFY2(
            std::abs(outcome.json()["nll"_L1].toDouble() - expected) < 1e-3 * expected, outcome.output.constData());
    }

    void aTextIsScoredByteForByte()
    {
        QFile text(file("text.txt"));
        QVERIFY(text.open(QIODevice::WriteOnly));
        const QByteArray bytes = "The capital of France is Paris.\n\n";
        text.write(bytes);
        text.close();
        const auto count = runWaste(
            {"tokenize", WASTE_K3_MINI_CHECKPOINT, "--plain", "--count", "--json", "--", QString::fromUtf8(bytes)});
        COMPARE_EXIT(count, 0);
        const auto outcome = runWaste({"eval", WASTE_K3_MINI_CHECKPOINT, "--perplexity", text.fileName(), "--json"});
        COMPARE_EXIT(outcome, 0);
        QCOMPARE(outcome.json()["tokens"_L1].toInt(), count.json()["n"_L1].toInt() - 1);
        const auto lines = runWaste({"eval", WASTE_K3_MINI_CHECKPOINT, "--perplexity", text.fileName()});
        COMPARE_EXIT(lines, 0);
        QVERIFY(lines.output.startsWith("tokens") && lines.output.contains("\nnll ")
            && lines.output.contains("\nperplexity "));
    }

    void rowsAreIdLogitProbabilityText()
    {
        const auto outcome = runWaste({"eval", WASTE_K3_MINI_CHECKPOINT, "The capital of France is", "--top-k", "3"});
        COMPARE_EXIT(outcome, 0);
        static const QRegularExpression row(R"(^ *\d+ +-?\d+\.\d{4} +[01]\.\d{4}  ".*"$)");
        const auto lines = outcome.output.trimmed().split('\n');
        QCOMPARE(lines.size(), 3);
        for (const QByteArray& line : lines)
            QVERIFY2(row.match(QString::fromUtf8(line)).hasMatch(), line.constData());
        // More rows than the vocabulary has are all of it, and their probabilities are one.
        const auto all = runWaste({"eval", WASTE_K3_MINI_CHECKPOINT, "Hi", "--top-k", "4294967295", "--json"});
        COMPARE_EXIT(all, 0);
        const QJsonArray top = all.json()["top"_L1].toArray();
        QCOMPARE(int(top.size()), all.json()["vocab"_L1].toInt());
        double sum = 0;
        int illFormed = 0;
        for (const auto& entry : top) {
            sum += entry["prob"_L1].toDouble();
            illFormed += entry.toObject().contains("bytes") ? 1 : 0;
        }
        QVERIFY(std::abs(sum - 1) < 1e-6);
        QVERIFY(illFormed >= 128); // the bytes beyond ASCII
    }

    // Beside the rows, so that standard output has nothing else.
    void columnsAreNamedOnStandardError()
    {
        const QStringList eval = {"eval", WASTE_K3_MINI_CONTAINER, "The capital of France is", "--top-k", "3"};
        const auto outcome = runWaste(eval);
        COMPARE_EXIT(outcome, 0);
        const QByteArray heading = outcome.errors.trimmed().split('\n').last();
        QCOMPARE(heading.simplified(), QByteArray("id logit prob text"));
        QCOMPARE(heading.indexOf("text"), outcome.output.indexOf('"'));
        QCOMPARE(runWaste(eval + QStringList{"-q"}).errors, QByteArray());
        QVERIFY(!runWaste(eval + QStringList{"--json"}).errors.contains("logit"));
    }

    void refusesWhatItCannotEvaluate_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("exitCode");
        const auto row = [](const char* name, QStringList arguments, int exitCode) {
            QTest::newRow(name) << arguments << exitCode;
        };
        const QString text = file("text.txt");
        row("id beyond the vocabulary", {"--ids", "3072"}, 2);
        row("no number", {"--ids", "1 x"}, 2);
        row("negative", {"--ids", "-1"}, 2);
        row("no ids", {"--ids", ""}, 2);
        row("two inputs", {"--ids", "1", "text"}, 2);
        row("longer than the context", {"--ids", "1 2 3 4 5", "--ctx", "4"}, 2);
        row("all positions of nothing", {"--ids", "1", "--all-positions"}, 2);
        row("stride without a text", {"--ids", "1", "--stride", "4"}, 2);
        row("stride over the context", {"--ids-file", "-", "--ctx", "8", "--stride", "9"}, 2);
        row("image without ids", {"hello", "--image", "x.png"}, 2);
        row("image without placeholders", {"--ids", "1", "--image", kData + "k3-mini/tiny.png"}, 2);
        row("no such picture", {"--ids", "1", "--image", "/nonexistent.png"}, 6);
        row("no such file", {"--perplexity", "/nonexistent.txt"}, 6);
        row("no such folder", {"--ids", "1", "--logits", "/nonexistent/x"}, 6);
        row("a folder in place of a file", {"--ids", "1", "--logits", "/"}, 1);
        row("full disk", {"--ids", "1", "--logits", "/dev/full"}, 7);
        row("budget below the floor", {"--ids", "1", "--budget", "1M"}, 3);
    }
    void refusesWhatItCannotEvaluate()
    {
        QFETCH(QStringList, arguments);
        QFETCH(int, exitCode);
        const auto outcome = runWaste(QStringList{"eval", WASTE_K3_MINI_CHECKPOINT, "--json"} + arguments, "1 2 3");
        COMPARE_EXIT(outcome, exitCode);
        QCOMPARE(outcome.json()["event"_L1].toString(), QStringLiteral("error"));
        QCOMPARE(outcome.json()["exit"_L1].toInt(), exitCode);
    }

    // What no checksum protects: this container has none.
    void numbersThatAreNoneAreDamage_data()
    {
        QTest::addColumn<QString>("tensor");
        QTest::addColumn<QString>("place"); // of the first two or four bytes
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("words");
        QTest::newRow("a row's scale") << "model.embed_tokens.weight"
                                       << "scale_off" << QByteArray("\x00\x7C", 2)
                                       << "a scale of row 0 is not a finite number";
        QTest::newRow("a weight") << "model.norm.weight"
                                  << "off" << QByteArray("\x00\x00\xC0\x7F", 4)
                                  << "the model's output is no distribution";
    }
    void numbersThatAreNoneAreDamage()
    {
        QFETCH(QString, tensor);
        QFETCH(QString, place);
        QFETCH(QByteArray, bytes);
        const QTemporaryDir copy;
        QVERIFY(waste::test::copyGolden("kl-vq3r-q4g", copy.path().toStdString()));
        const QJsonObject manifest = readJson("containers/kl-vq3r-q4g.waste/manifest.json");
        const auto tensors = manifest["trunk"_L1].toArray();
        const auto entry = std::find_if(tensors.begin(), tensors.end(),
            [&](const auto& value) { return value.toObject()["name"_L1].toString() == tensor; });
        QVERIFY(entry != tensors.end());
        QFile trunk(copy.filePath("trunk.bin"));
        QVERIFY(trunk.open(QIODevice::ReadWrite));
        QVERIFY(trunk.seek(entry->toObject()[place].toInteger()) && trunk.write(bytes) == bytes.size());
        trunk.close();

        QFile ids(copy.filePath("ids"));
        QVERIFY(ids.open(QIODevice::WriteOnly) && ids.write("0 1 2") == 5);
        ids.close();
        for (const QStringList& arguments : {QStringList{"--ids", "0 1 2"}, {"--ids-file", ids.fileName()}}) {
            const auto outcome = runWaste(QStringList{"eval", copy.path(), "--json"} + arguments);
            COMPARE_EXIT(outcome, 4);
            QFETCH(QString, words);
            QVERIFY2(outcome.json()["message"_L1].toString().contains(words), outcome.output.constData());
        }
    }

    void aCheckpointThatDoesNotFitSaysHowMuchItNeeds()
    {
        const auto outcome = runWaste({"eval", WASTE_K3_MINI_CHECKPOINT, "--ids", "1", "--budget", "8M"});
        COMPARE_EXIT(outcome, 3);
        static const QRegularExpression bytes(R"(\d{7,} bytes)");
        QVERIFY2(bytes.match(QString::fromUtf8(outcome.errors)).hasMatch(), outcome.errors.constData());
    }

private:
    QString file(const QString& name) const { return m_folder.filePath(name); }

    static void expectRows(const QString& actualFile, const QString& expectedFile, qsizetype rows)
    {
        const auto actual = readFloats(actualFile.toStdString());
        const auto expected = readFloats(expectedFile.toStdString());
        QVERIFY(!expected.empty());
        QCOMPARE(actual.size(), expected.size());
        const std::size_t vocabulary = expected.size() / static_cast<std::size_t>(rows);
        double worst = 0;
        for (std::size_t row = 0; row < expected.size(); row += vocabulary)
            worst = std::max(worst,
                relativeError(
                    std::span(actual).subspan(row, vocabulary), std::span(expected).subspan(row, vocabulary)));
        QVERIFY2(worst <= kExactTolerance, qPrintable(QString::number(worst)));
    }

    // Norms of every layer and position, experts of every MoE layer and position.
    void expectLayers(const QJsonObject& golden, int firstMoeLayer) const
    {
        const QJsonArray norms = golden["layer_norms"_L1].toArray();
        const QJsonArray experts = golden["experts"_L1].toArray();
        QFile layers(file("layers"));
        QVERIFY(layers.open(QIODevice::ReadOnly));
        QSet<QPair<int, int>> seen;
        for (const QByteArray& line : layers.readAll().split('\n')) {
            if (line.isEmpty())
                continue;
            const QJsonObject entry = QJsonDocument::fromJson(line).object();
            const int layer = entry["layer"_L1].toInt(-1);
            const int position = entry["position"_L1].toInt(-1);
            seen.insert({layer, position});
            const double expected = norms[layer][position].toDouble();
            QVERIFY2(std::abs(entry["norm"_L1].toDouble() - expected) <= 2e-5 * expected, line.constData());
            QCOMPARE(entry.contains("experts"), layer >= firstMoeLayer);
            if (layer >= firstMoeLayer) {
                QCOMPARE(entry["experts"_L1].toArray(), experts[layer - firstMoeLayer][position].toArray());
                QCOMPARE(entry["weights"_L1].toArray().size(), entry["experts"_L1].toArray().size());
            }
        }
        QCOMPARE(int(seen.size()), int(norms.size() * golden["ids"_L1].toArray().size()));
    }

    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TestWasteEval)
#include "tst_waste_eval.moc"
