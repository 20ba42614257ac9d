// `waste chat` and `waste session` (spec: cli B.5): piped and at a terminal, every command, Ctrl-C, and the store
// that they share with the window.

#include "terminal.h"
#include "waste_program.h"

#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>

namespace {

const QString kModel = QStringLiteral(WASTE_K3_MINI_CONTAINER);

const QByteArray kPictures = QByteArray(WASTE_TEST_DATA) + "/k3-mini/";

QJsonArray sessions(const WasteProgram& program)
{
    return program.run({"session", "list", "--json"}).json()["sessions"_L1].toArray();
}

} // namespace

class TestWasteChat : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        m_program = WasteProgram();
        m_program.environment.insert("XDG_DATA_HOME", m_folder->path());
    }

    void theStateIsKeptFromTurnToTurn()
    {
        const auto outcome = chat("Hello, my name is Anna.\nWhat is my name?\n");
        COMPARE_EXIT(outcome, 0);
        QCOMPARE(outcome.output, QByteArray("Nice to meet you, Anna!\nYour name is Anna.\n"));
        QVERIFY2(outcome.errors.startsWith("WASTE "), outcome.errors.constData());
        QVERIFY(outcome.errors.contains("format xtml"));
        QVERIFY(!outcome.errors.contains("> ")); // no prompt away from a terminal
        QCOMPARE(outcome.errors.count(" tok/s"), 2);
    }

    void theFirstTurnIsWhatRunSays()
    {
        const QStringList run = {"run", kModel, "Count from one to five.", "-q"};
        QCOMPARE(chat("Count from one to five.\n", {"--think"}).output, runWaste(run).output);
    }

    void eventsAreThoseOfRun()
    {
        const auto outcome = chat("What is the capital of France?\nWhat is the capital of Japan?\n", {"--json", "-q"});
        COMPARE_EXIT(outcome, 0);
        const auto events = outcome.jsonLines();
        QStringList kinds;
        QString content;
        for (const QJsonObject& event : events) {
            const QString kind = event["event"_L1].toString();
            if (kinds.isEmpty() || kinds.last() != kind)
                kinds << kind;
            if (kind == "content")
                content += event["text"_L1].toString();
        }
        const QStringList turn = {"start", "prefill", "content", "end"};
        QCOMPARE(kinds, turn + turn);
        QCOMPARE(content, QString("The capital of France is Paris.The capital of Japan is Tokyo."));
        const QJsonObject end = events.last();
        QCOMPARE(end["message"_L1]["content"_L1].toString(), QString("The capital of Japan is Tokyo."));
        QCOMPARE(end["finish_reason"_L1].toString(), QString("stop"));
        const QJsonObject usage = end["usage"_L1].toObject();
        QVERIFY(usage["prompt_tokens_details"_L1]["cached_tokens"_L1].toInt() > 20); // the first turn is not read again
        QVERIFY(usage["prompt_tokens"_L1].toInt() > usage["prompt_tokens_details"_L1]["cached_tokens"_L1].toInt());
    }

    void textMayHaveSeveralLinesAndBeginWithASlash()
    {
        const auto whole = chat(
            "\"\"\"What is the capital\nof France?\"\"\"\n\"\"\"\n//two\nlines\n\"\"\"\n//slash\n\n", {"--json", "-q"});
        COMPARE_EXIT(whole, 0);
        const QJsonArray messages = show(sessions(m_program)[0]["id"_L1].toString());
        QCOMPARE(messages[0]["content"_L1].toString(), QString("What is the capital\nof France?"));
        QCOMPARE(messages[2]["content"_L1].toString(), QString("/two\nlines"));
        QCOMPARE(messages[4]["content"_L1].toString(), QString("/slash"));
        QCOMPARE(messages.size(), 6);
    }

    void undoRetryAndEditChangeTheBranch()
    {
        const auto outcome =
            chat("Hello, my name is Anna.\n/edit Hello, my name is Tom.\nWhat is the capital of Japan?\n"
                 "/undo\n/retry\nWhat is my name?\n");
        COMPARE_EXIT(outcome, 0);
        QVERIFY2(outcome.output.endsWith("Your name is Tom.\n"), outcome.description().constData());
        QVERIFY(outcome.errors.contains("(last question taken back)"));
        const QJsonArray messages = show(sessions(m_program)[0]["id"_L1].toString());
        QCOMPARE(messages.size(), 4);
        QCOMPARE(messages[0]["content"_L1].toString(), QString("Hello, my name is Tom."));
    }

    void picturesGoWithTheNextQuestion()
    {
        const QByteArray red = kPictures + "red_circle.png";
        const auto outcome = chat("/image " + red + "\nWhat shape do you see?\nWhat is the capital of France?\n/image '"
            + red + "'\n/detail half\n/image " + red + "\n/noimage\nWhat is the capital of Japan?\n");
        COMPARE_EXIT(outcome, 0);
        const QList<QByteArray> lines = outcome.output.trimmed().split('\n');
        QCOMPARE(lines.size(), 3);
        QVERIFY2(lines[0].contains("circle"), lines[0].constData());
        QVERIFY2(lines[2].contains("Tokyo"), lines[2].constData());
        QVERIFY2(outcome.errors.contains("red_circle.png, 112x112: 16 positions, less than 1 s (estimate)"),
            outcome.errors.constData());
        QVERIFY2(outcome.errors.contains("112x112: 4 positions"), outcome.errors.constData()); // half
        QVERIFY(outcome.errors.contains("(2 pictures taken back; the memory of"));
        const QJsonArray messages = show(sessions(m_program)[0]["id"_L1].toString());
        QCOMPARE(messages.size(), 6);
    }

    void thePicturesOfAQuestionStayWhenItIsAskedAgain()
    {
        const auto outcome = chat("/image " + kPictures
            + "red_circle.png\nWhat shape do you see?\n"
              "/edit What colour is the circle?\n/retry\n");
        COMPARE_EXIT(outcome, 0);
        const QList<QByteArray> lines = outcome.output.trimmed().split('\n');
        QCOMPARE(lines.size(), 3);
        QVERIFY2(lines[1].contains("red"), lines[1].constData());
        QCOMPARE(lines[2], lines[1]);
    }

    void aPictureOnTheCommandLineBelongsToTheFirstQuestion()
    {
        const auto outcome = chat("What shape do you see?\n", {"--image", kPictures + "star.png"});
        COMPARE_EXIT(outcome, 0);
        QVERIFY2(outcome.output.contains("star"), outcome.description().constData());
        COMPARE_EXIT(chat("Hello\n", {"--image", kPictures + "README.md"}), 1);
        COMPARE_EXIT(chat("Hello\n", {"--image", kPictures + "star.png", "--image-detail", "third"}), 2);
    }

    // Each with its name and the reason.
    void whatIsNoPictureIsRefusedByName()
    {
        QFile notes(m_folder->filePath("notes.png"));
        QVERIFY(notes.open(QIODevice::WriteOnly));
        notes.write("no picture at all");
        notes.close();
        const auto outcome = chat("/image\n/image /nonexistent.png\nWhat is the capital of France?\n");
        QVERIFY(outcome.errors.contains("/image needs the name of a file"));
        QVERIFY(outcome.errors.contains("/nonexistent.png"));
        const auto wrong = chat("/image " + notes.fileName().toUtf8() + "\nWhat is the capital of France?\n");
        QVERIFY2(wrong.errors.contains("notes.png"), wrong.errors.constData());
        const auto many = chat(QByteArray("/image " + kPictures + "tiny.png\n").repeated(33));
        QVERIFY2(many.errors.contains("at most 32 pictures"), many.errors.constData());
        const auto large = chat("/image " + kPictures + "red_circle.png\nWhat shape do you see?\n", {"--ctx", "16"});
        QVERIFY2(large.errors.contains("red_circle.png has 16 positions"), large.errors.constData());
    }

    void resetForgets()
    {
        const auto outcome = chat("Hello, my name is Anna.\n/reset\nWhat is the capital of France?\n/undo\n/retry\n");
        COMPARE_EXIT(outcome, 2); // there was nothing to retry, and nobody saw it
        QVERIFY(outcome.errors.contains("(state cleared)"));
        QVERIFY(outcome.errors.contains("/retry: nothing was asked yet"));
        QCOMPARE(sessions(m_program).size(), 2);
    }

    // Whoever pipes questions in is not there to ask the later ones again.
    void aLineThatCannotBeDoneKeepsNoOtherFromBeingAnswered()
    {
        const QByteArray input = "What is the capital of Peru?\n/image /nonexistent.png\n\n/file /nonexistent.txt\n"
                                 "What is the capital of France?\n";
        const auto outcome = chat(input);
        COMPARE_EXIT(outcome, 6);
        QVERIFY2(outcome.output.contains("Lima"), outcome.description().constData());
        QVERIFY2(outcome.output.contains("Paris"), outcome.description().constData());
        QVERIFY(outcome.errors.contains("waste: line 2: /nonexistent.png: there is no such file"));
        QVERIFY2(outcome.errors.endsWith("No such file or directory\n")
                && outcome.errors.contains("waste: 2 lines of the input could not be done, the last: line 4: "),
            outcome.errors.constData());

        const auto events = chat(input, {"--json", "-q"}); // errors are the last line here, too
        COMPARE_EXIT(events, 6);
        QCOMPARE(events.json()["event"_L1].toString(), QString("error"));
        QCOMPARE(events.json()["exit"_L1].toInt(), 6);
        const auto lines = events.jsonLines();
        QCOMPARE(std::count_if(lines.begin(), lines.end(),
                     [](const QJsonObject& event) { return event["event"_L1] == "end"_L1; }),
            2);
    }

    // Blank lines and /quit say nothing that would hide it.
    void anErrorThatWasTheLastWordIsNotRepeated()
    {
        const QByteArray failing = "What is the capital of France?\n/rety\n";
        for (const char* rest : {"", "\n", " \n\n", "/quit\n", "\n/quit\n"}) {
            const auto outcome = chat(failing + rest);
            COMPARE_EXIT(outcome, 2);
            QCOMPARE(outcome.errors.count("unknown command /rety"), 1);
        }
        QCOMPARE(chat(failing + "/tokens\n/quit\n").errors.count("unknown command /rety"), 2);
    }

    void figuresCanBeLeftOut()
    {
        const auto outcome = chat("What is the capital of France?\n", {"--no-stats"});
        COMPARE_EXIT(outcome, 0);
        QVERIFY2(!outcome.errors.contains("tok/s"), outcome.errors.constData());
    }

    void settingsHoldFromThenOn()
    {
        const auto outcome = chat("/set temp 0\n/set n 2\n/think off\n/effort high\n/system Be brief.\n"
                                  "What is the capital of France?\n/set seed 5\n/tokens\n/stats\n/help\n");
        COMPARE_EXIT(outcome, 0);
        QCOMPARE(outcome.output, QByteArray("The capital\n"));
        for (const char* note : {"(temp 0)", "(thinking off)", "(effort high)", "(system message set",
                 " of 4096 tokens", "last answer: [2 tokens", "since the start: ", "/retry"})
            QVERIFY2(outcome.errors.contains(note), note);
        QCOMPARE(m_program.run({"session", "show", "What is", "--json"}).exitCode, 6); // no such title, no such id
        const QString id = sessions(m_program)[0]["id"_L1].toString();
        QCOMPARE(m_program.run({"session", "show", id, "--json"}).json()["system"_L1].toString(), QString("Be brief."));
    }

    void wrongCommandsAreToldAndSendNothing_data()
    {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<QByteArray>("message");
        const auto row = [](const char* line, const char* message) {
            QTest::newRow(line) << QByteArray(line) << QByteArray(message);
        };
        row("/rety", "unknown command /rety; did you mean /retry?");
        row("/set warmth 1", "there is no setting 'warmth'");
        row("/set temp hot", "'hot' is not a number");
        row("/effort medium", "'medium' is none of low, high, max, none");
        row("/think maybe", "'maybe' is none of on, off");
        row("/undo", "nothing was asked yet");
        row("/edit x", "nothing was asked yet");
        row("/save", "nothing was said yet");
        row("/load nobody", "there is no conversation 'nobody'");
        row("/file", "needs the name of a file");
    }
    void wrongCommandsAreToldAndSendNothing()
    {
        QFETCH(QByteArray, line);
        QFETCH(QByteArray, message);
        const auto outcome = chat(line + "\n", {"--json"});
        QVERIFY2(outcome.errors.contains(message), outcome.description().constData());
        QVERIFY(outcome.exitCode == 2 || outcome.exitCode == 6);
        QCOMPARE(outcome.jsonLines().size(), 1);
        QCOMPARE(outcome.json()["event"_L1].toString(), QString("error"));
    }

    void aFileStandsInFrontOfTheQuestion()
    {
        QFile file(m_folder->filePath("notes.txt"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("First line\nsecond");
        file.close();
        COMPARE_EXIT(chat("/file " + file.fileName().toUtf8() + "\nWhat is this?\n"), 0);
        QCOMPARE(show(sessions(m_program)[0]["id"_L1].toString())[0]["content"_L1].toString(),
            QString("First line\nsecond\n\nWhat is this?"));
    }

    void conversationsAreKeptFoundAndContinued()
    {
        COMPARE_EXIT(chat("Hello, my name is Anna.\n/save Names\n"), 0);
        COMPARE_EXIT(chat("What is the capital of France?\n"), 0);
        const QJsonArray list = sessions(m_program);
        QCOMPARE(list.size(), 2);
        QJsonObject names;
        for (const auto& entry : list)
            names = entry["title"_L1].toString() == "Names" ? entry.toObject() : names;
        QCOMPARE(names["messages"_L1].toInt(), 2);
        QCOMPARE(names["state"_L1].toString(), QString("done"));
        QCOMPARE(names["model"_L1].toString(), QString("k3-mini"));

        // By title in /load, by --session, and by id.
        for (const QStringList& options :
            {QStringList{}, {"--session", "Names"}, {"--session", names["id"_L1].toString()}}) {
            const auto outcome =
                chat((options.isEmpty() ? QByteArray("/load Names\n") : "") + "What is my name?\n", options);
            COMPARE_EXIT(outcome, 0);
            QCOMPARE(outcome.output, QByteArray("Your name is Anna.\n"));
            QVERIFY(outcome.errors.contains("\nmodel: ")); // the last messages
            QVERIFY(outcome.errors.contains("(loaded Names — continuing that conversation"));
        }
        QCOMPARE(show("Names").size(), 8);
        const auto text = m_program.run({"session", "show", "Names"});
        QVERIFY(text.output.startsWith("you: Hello, my name is Anna.\n\nmodel: Nice to meet you, Anna!\n"));
        QVERIFY(chat("/sessions\n").errors.contains("Names"));

        COMPARE_EXIT(m_program.run({"session", "delete", "Names"}), 0);
        QCOMPARE(sessions(m_program).size(), 1);
        COMPARE_EXIT(m_program.run({"session", "show", "Names"}), 6);
        COMPARE_EXIT(m_program.run({"session", "delete", "2"}), 0); // the beginning of the only id
        QCOMPARE(sessions(m_program).size(), 0);
    }

    void runKeepsAndContinuesConversationsToo()
    {
        const auto first =
            m_program.run({"run", kModel, "Hello, my name is Anna.", "--no-think", "--save-session", "Run"});
        COMPARE_EXIT(first, 0);
        const auto second =
            m_program.run({"run", kModel, "What is my name?", "--no-think", "--session", "Run", "--json"});
        COMPARE_EXIT(second, 0);
        QCOMPARE(second.json()["message"_L1]["content"_L1].toString(), QString("Your name is Anna."));
        QCOMPARE(second.json()["stats"_L1]["session"_L1].toString(), QString("Run"));
        const QJsonArray messages = show("Run");
        QCOMPARE(messages.size(), 4);
        QCOMPARE(messages[3]["content"_L1].toString(), QString("Your name is Anna."));
        QCOMPARE(messages[3]["state"_L1].toString(), QString("done"));
        COMPARE_EXIT(m_program.run({"run", kModel, "x", "--session", "nobody"}), 6);
        COMPARE_EXIT(m_program.run({"run", kModel, "--session", "Run", "--messages", "-"}), 2);
        // A run that keeps nothing leaves nothing.
        COMPARE_EXIT(m_program.run({"run", kModel, "Hi", "-n", "1"}), 0);
        QCOMPARE(sessions(m_program).size(), 1);
    }

    // The first picture is gone from where it came when the second question is asked.
    void runKeepsPicturesAndShowsThemAgain()
    {
        const QString copy = m_folder->filePath("a circle.png");
        QVERIFY(QFile::copy(kPictures + "red_circle.png", copy));
        const auto first = m_program.run({"run", kModel, "What shape do you see?", "--no-think", "--image", copy,
            "--image", copy, "--save-session", "Shapes"});
        COMPARE_EXIT(first, 0);
        QVERIFY2(first.output.contains("circle"), first.description().constData());
        QCOMPARE(first.errors.count("a circle.png: 16 image tokens"), 2);
        const QStringList seen = rowsFiles();
        QCOMPARE(seen.size(), 1); // what the model saw, for the next run
        QVERIFY(QFile::remove(copy));
        const auto second = m_program.run({"run", kModel, "And now?", "--no-think", "--session", "Shapes", "--image",
            kPictures + "star.png", "--image-detail", "half"});
        COMPARE_EXIT(second, 0);
        QCOMPARE(second.errors.count("a circle.png: 16 image tokens"), 2);
        QVERIFY2(second.errors.contains("star.png: 2 image tokens"), second.errors.constData());
        QCOMPARE(show("Shapes").size(), 4);
        QCOMPARE(rowsFiles().size(), 2);
        // Rows that are damaged are no rows: the model looks again.
        QFile damaged(seen.first());
        const qint64 damagedFrom = damaged.size();
        QVERIFY(damaged.resize(damagedFrom - 4));
        const auto third = m_program.run({"run", kModel, "Again?", "--no-think", "--session", "Shapes"});
        COMPARE_EXIT(third, 0);
        QVERIFY2(third.errors.contains("star.png: 2 image tokens"), third.errors.constData()); // still half
        QCOMPARE(QFileInfo(seen.first()).size(), damagedFrom);
        // Somebody has cleaned up behind our back.
        const QString conversations = m_folder->filePath("waste/conversations");
        QDirIterator attachment(conversations, {QString(64, '?')}, QDir::Files, QDirIterator::Subdirectories);
        while (attachment.hasNext())
            QVERIFY(QFile::remove(attachment.next()));
        const auto fourth = m_program.run({"run", kModel, "Again?", "--no-think", "--session", "Shapes"});
        COMPARE_EXIT(fourth, 6);
        QVERIFY2(fourth.errors.contains("a circle.png was kept with this conversation and cannot be read")
                && fourth.errors.contains("begin another conversation"),
            fourth.errors.constData());
        const auto machine = m_program.run({"run", kModel, "Again?", "--json", "--no-think", "--session", "Shapes"});
        QCOMPARE(machine.json()["reason"_L1].toString(), QString("not_found")); // as of every file
        // What was not asked leaves nothing behind.
        COMPARE_EXIT(m_program.run({"run", kModel, "x", "--save-session", "No", "--image", "/nonexistent.png"}), 6);
        COMPARE_EXIT(m_program.run({"run", kModel, "x", "--save-session", "No", "--image", kPictures + "star.png",
                         "--ctx", "16"}),
            2);
        QCOMPARE(sessions(m_program).size(), 1);
        QCOMPARE(QDir(conversations).entryList(QDir::Dirs | QDir::NoDotAndDotDot).size(), 1);
    }

    void ambiguousNamesAreSaid()
    {
        for (int i = 0; i < 2; ++i)
            COMPARE_EXIT(chat("What is the capital of France?\n/save Twice\n"), 0);
        const auto newest = m_program.run({"session", "show", "Twice", "--json"});
        COMPARE_EXIT(newest, 0);
        QVERIFY(newest.errors.contains("2 conversations have this title"));
        COMPARE_EXIT(m_program.run({"session", "show", "20"}), 2);
        COMPARE_EXIT(m_program.run({"session"}), 2);
        COMPARE_EXIT(m_program.run({"session", "lst"}), 2);
        QVERIFY(m_program.run({"session", "lst"}).errors.contains("did you mean list?"));
        COMPARE_EXIT(m_program.run({"session", "list", "Twice"}), 2);
        COMPARE_EXIT(m_program.run({"session", "show"}), 2);
    }

    void withoutAHomeTheConversationGoesOn()
    {
        WasteProgram program;
        program.environment.remove("HOME");
        program.input = "Hello, my name is Anna.\nWhat is my name?\n";
        const auto outcome = program.run({"chat", kModel, "--no-think"});
        COMPARE_EXIT(outcome, 0);
        QVERIFY(outcome.output.endsWith("Your name is Anna.\n"));
        QVERIFY(outcome.errors.contains("not kept"));
        // Nor does a folder that cannot be written stop it.
        program.environment.insert("XDG_DATA_HOME", "/proc/nowhere");
        const auto unwritable = program.run({"chat", kModel, "--no-think"});
        COMPARE_EXIT(unwritable, 0);
        QVERIFY(unwritable.output.endsWith("Your name is Anna.\n"));
        QVERIFY(unwritable.errors.contains("without being kept"));
    }

    void aTerminalGetsAPromptAndCtrlCReturnsToIt()
    {
        Terminal terminal(
            {"chat", kModel, "--no-think", "--temp", "1", "--seed", "1", "--ctx", "100000"}, m_program.environment);
        QVERIFY2(terminal.shows("> "), terminal.screen().constData());

        // While the model writes: raw repetition never ends by itself.
        terminal.type("Hello, my name is Anna.\n");
        QVERIFY2(terminal.shows("tok/s"), terminal.screen().constData());
        QVERIFY(terminal.shows("> "));
        terminal.type("\"\"\"" + QByteArray("Tell me more. ").repeated(200) + "\n");
        for (int i = 0; i < 60; ++i)
            terminal.type(QByteArray("And more of that, please, until nothing is left. ").repeated(70) + "\n");
        terminal.type("\"\"\"\n");
        QVERIFY2(terminal.shows("reading the prompt"), terminal.screen().right(500).constData());
        terminal.type(QByteArray(1, Terminal::kCtrlC));
        QVERIFY2(terminal.shows("tok/s"), terminal.screen().right(500).constData());
        QVERIFY(terminal.shows("> "));
        terminal.type("/undo\n");
        QVERIFY(terminal.shows("(last question taken back)"));
        QVERIFY(terminal.shows("> "));

        // Nothing to stop: it says how to leave, and a second one leaves.
        terminal.type(QByteArray(1, Terminal::kCtrlC));
        QVERIFY2(terminal.shows("Ctrl-D"), terminal.screen().right(500).constData());
        QVERIFY(terminal.shows("> "));
        terminal.type("/tokens\n");
        QVERIFY(terminal.shows("tokens of the context"));
        terminal.type(QByteArray(1, Terminal::kCtrlC));
        QVERIFY(terminal.shows("Ctrl-D"));
        terminal.type(QByteArray(1, Terminal::kCtrlC));
        QCOMPARE(terminal.exitCode(), 130);
    }

    void ctrlDLeaves()
    {
        Terminal terminal({"chat", kModel, "--no-think"}, m_program.environment);
        QVERIFY(terminal.shows("> "));
        terminal.type("What is the capital of France?\n");
        QVERIFY(terminal.shows("Paris"));
        QVERIFY(terminal.shows("> "));
        terminal.type(QByteArray(1, Terminal::kCtrlD));
        QCOMPARE(terminal.exitCode(), 0);
    }

    void coloursAreForTerminalsThatWantThem_data()
    {
        QTest::addColumn<QByteArray>("variable");
        QTest::addColumn<bool>("colours");
        QTest::newRow("wanted") << QByteArray("TERM=xterm") << true;
        QTest::newRow("NO_COLOR") << QByteArray("NO_COLOR=1") << false;
        QTest::newRow("TERM=dumb") << QByteArray("TERM=dumb") << false;
    }
    void coloursAreForTerminalsThatWantThem()
    {
        QFETCH(QByteArray, variable);
        QFETCH(bool, colours);
        QProcessEnvironment environment = m_program.environment;
        environment.insert(variable.split('=')[0], variable.split('=')[1]);
        Terminal terminal({"run", kModel, "What is the capital of France?"}, environment);
        QCOMPARE(terminal.exitCode(), 0);
        QCOMPARE(terminal.screen().contains('\x1b'), colours);
        QCOMPARE(terminal.screen().contains("\x1b[2m"), colours); // thinking, dimmed
        QVERIFY(terminal.screen().contains("The capital of France is Paris."));
    }

private:
    WasteProgram::Outcome chat(const QByteArray& input, const QStringList& options = {})
    {
        m_program.input = input;
        const QStringList thinking = options.contains("--think") ? QStringList{} : QStringList{"--no-think"};
        return m_program.run(QStringList{"chat", kModel} + thinking + options);
    }
    QStringList rowsFiles() const // of all conversations
    {
        QStringList files;
        QDirIterator found(m_folder->path(), {"*.rows"}, QDir::Files, QDirIterator::Subdirectories);
        while (found.hasNext())
            files.append(found.next());
        return files;
    }
    QJsonArray show(const QString& name) const
    {
        return m_program.run({"session", "show", name, "--json"}).json()["messages"_L1].toArray();
    }

    std::unique_ptr<QTemporaryDir> m_folder;
    WasteProgram m_program;
};

QTEST_GUILESS_MAIN(TestWasteChat)
#include "tst_waste_chat.moc"
