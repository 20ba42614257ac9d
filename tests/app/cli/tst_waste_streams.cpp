// The command line where the system is unkind: closed streams, full disks, limits, folders nobody may read.

#include "waste_program.h"

#include <QDir>
#include <QTemporaryDir>

#include <csignal>

namespace {

const QString kModel = QStringLiteral(WASTE_K3_MINI_CONTAINER);

// What `bash -c` does with `script`, in which "$@" runs the program with the arguments.
WasteProgram::Outcome runInShell(
    const QString& script, const QStringList& arguments, const QProcessEnvironment& environment)
{
    WasteProgram program;
    program.timeoutMs = 60'000;
    QProcess process;
    process.setProcessEnvironment(environment);
    process.start("bash", QStringList{"-c", script, "bash", WASTE_CLI} + arguments);
    process.closeWriteChannel();
    return program.wait(process);
}

} // namespace

class TestWasteStreams : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init()
    {
        QVERIFY(m_folder.emplace().isValid());
        m_environment = WasteProgram::cleanEnvironment();
        m_environment.insert("XDG_DATA_HOME", m_folder->filePath("data"));
    }

    void closedInputIsEmptyInput_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("exitCode");
        QTest::newRow("run") << QStringList{"run", kModel} << 2; // the prompt is empty
        QTest::newRow("chat") << QStringList{"chat", kModel} << 0;
        QTest::newRow("tokenize") << QStringList{"tokenize", kModel} << 0;
    }
    void closedInputIsEmptyInput()
    {
        QFETCH(const QStringList, arguments);
        QFETCH(const int, exitCode);
        COMPARE_EXIT(runInShell("\"$@\" <&-", arguments, m_environment), exitCode);
    }

    void closedOutputIsAFailedWrite()
    {
        COMPARE_EXIT(runInShell("\"$@\" >&-", {"version"}, m_environment), 1);
        COMPARE_EXIT(runInShell("\"$@\" <&- >&-", {"version"}, m_environment), 1);
    }

    void aLimitOnFilesIsAnError()
    {
        const auto outcome =
            runInShell("ulimit -f 0; \"$@\"", {"run", kModel, "hi", "-n", "1", "--save-session", "x"}, m_environment);
        QVERIFY2(outcome.finished, outcome.description().constData());
        QVERIFY(outcome.exitCode != 0);
    }

    void aDataFolderThatCannotBeMadeIsAnError()
    {
        m_environment.insert("XDG_DATA_HOME", m_folder->filePath(QString(300, 'x'))); // too long a name
        COMPARE_EXIT(runInShell("\"$@\"", {"session", "list"}, m_environment), 1);
    }

    void aPipeIsNoFile()
    {
        const auto outcome = runInShell("\"$@\" --file <(echo hi)", {"run", kModel}, m_environment);
        COMPARE_EXIT(outcome, 2);
        QVERIFY2(outcome.errors.contains("is a pipe"), outcome.errors.constData());
    }

    void nothingIsCalledSavedThatIsNot()
    {
        QDir(m_folder->path()).mkdir("data");
        const QString data = m_folder->filePath("data");
        if (QProcess::execute("mount", {"-t", "tmpfs", "-o", "size=64k", "tmpfs", data}) != 0)
            QSKIP("No small file system could be mounted here, so a disk that fills up was not tried");
        const QString fill = "dd if=/dev/zero of=" + data + "/fill bs=1k 2>/dev/null; ";
        const auto chat = runInShell(fill + "printf 'hi\\n/save Holiday\\n' | \"$@\"", {"chat", kModel}, m_environment);
        const auto run = runInShell("\"$@\"", {"run", kModel, "hi", "-n", "1", "--save-session", "x"}, m_environment);
        QProcess::execute("umount", {data});
        QVERIFY2(!chat.output.contains("saved as"), chat.description().constData());
        QVERIFY2(chat.errors.contains("not saved"), chat.description().constData());
        COMPARE_EXIT(run, 7);
    }

    // Few descriptors: enough for the program itself, not for a bank each of seven layers.
    void aLimitOnOpenFilesIsToldWithWhatToDo()
    {
        const auto outcome = runInShell("ulimit -n 10; \"$@\"", {"run", kModel, "hi", "-n", "1"}, m_environment);
        COMPARE_EXIT(outcome, 1);
        QVERIFY2(
            outcome.errors.contains("/experts-L") || outcome.errors.contains("/trunk"), outcome.errors.constData());
        QVERIFY2(
            outcome.errors.endsWith("; raise the limit on open files (`ulimit -n`)\n"), outcome.errors.constData());
    }

    // A stack each, until nothing is left for the model.
    void threadsThatTakeTheAddressSpaceAreBlamed()
    {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        QSKIP("The sanitizer needs all the address space there is");
#endif
        const auto outcome = runInShell("ulimit -s 8192 && ulimit -v 1200000 && \"$@\"",
            {"run", kModel, "hi", "-n", "1", "--threads", "300"}, m_environment);
        COMPARE_EXIT(outcome, 1);
        QVERIFY2(outcome.errors.contains(" of 300 compute threads, and then had no memory left for the model; use "
                                         "fewer threads, or raise the limit on address space"),
            outcome.errors.constData());
    }

    void aTitleIsOneLineOfText()
    {
        COMPARE_EXIT(
            runInShell("\"$@\"", {"run", kModel, "hi", "-n", "1", "--save-session", "a\x1B]0;b\x07\nc"}, m_environment),
            0);
        const auto list = runInShell("\"$@\"", {"session", "list"}, m_environment);
        COMPARE_EXIT(list, 0);
        QCOMPARE(list.output.count('\n'), 1);
        QVERIFY2(list.output.endsWith("a ]0;b  c\n"), list.output.constData());
    }

    // A long prompt keeps the first program busy until it is interrupted.
    void whoeverHoldsAConversationIsNamed()
    {
        WasteProgram program;
        program.environment = m_environment;
        QProcess first;
        first.setProcessEnvironment(m_environment);
        first.start(WASTE_CLI, {"run", kModel, "--json", "--ctx", "65536", "--save-session", "Trip", "-"});
        QVERIFY(first.waitForStarted());
        first.write(QByteArray("All work and no play. ").repeated(4546));
        first.closeWriteChannel();
        QByteArray seen;
        while (!seen.contains("\"event\":\"prefill\"") && first.waitForReadyRead(program.timeoutMs))
            seen += first.readAllStandardOutput();
        const qint64 processId = first.processId();
        const auto second = program.run({"run", kModel, "hi", "-n", "1", "--session", "Trip", "--json"});
        ::kill(static_cast<pid_t>(processId), SIGINT);
        COMPARE_EXIT(program.wait(first), 130);
        COMPARE_EXIT(second, 1);
        QCOMPARE(second.json()["reason"_L1].toString(), QString("busy"));
        QCOMPARE(second.json()["message"_L1].toString(),
            QString("waste run (process %1) is writing this conversation").arg(processId));
    }

private:
    std::optional<QTemporaryDir> m_folder;
    QProcessEnvironment m_environment;
};

QTEST_GUILESS_MAIN(TestWasteStreams)
#include "tst_waste_streams.moc"
