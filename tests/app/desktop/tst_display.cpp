// The window's program where no window can be: what it says, and how it ends.

#include <QProcess>
#include <QTest>

namespace {

struct Outcome {
    int exitCode = -1;
    QByteArray output;
    QByteArray errors;
};

using Variables = QList<QPair<QString, QString>>;

// With these variables alone of those that name a display.
Outcome start(const QStringList& arguments, const Variables& variables)
{
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
        environment.remove(QString::fromLatin1(name));
    for (const auto& [name, value] : variables)
        environment.insert(name, value);
    QProcess program;
    program.setProcessEnvironment(environment);
    program.start(QStringLiteral(WASTE_DESKTOP_PROGRAM), arguments);
    if (!program.waitForFinished(120'000) || program.exitStatus() != QProcess::NormalExit)
        return {};
    return {program.exitCode(), program.readAllStandardOutput(), program.readAllStandardError()};
}

} // namespace

class TestDisplay : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void withoutADisplayItSaysWhatToDo_data()
    {
        QTest::addColumn<Variables>("variables");
        QTest::addColumn<QByteArray>("cause");
        QTest::newRow("none") << Variables() << QByteArray("there is no display");
        QTest::newRow("nobody answers") << Variables{{"DISPLAY", ":99999"}} << QByteArray("cannot be reached");
        QTest::newRow("another platform") << Variables{{"QT_QPA_PLATFORM", "nonsense"}} << QByteArray("\"nonsense\"");
    }
    void withoutADisplayItSaysWhatToDo()
    {
#ifndef Q_OS_LINUX
        QSKIP("Windows and macOS always have a display");
#endif
        QFETCH(Variables, variables);
        QFETCH(QByteArray, cause);
        const Outcome outcome = start({}, variables);
        QCOMPARE(outcome.exitCode, 1);
        QVERIFY2(
            outcome.errors.startsWith("waste-desktop: ") && outcome.errors.contains(cause), outcome.errors.constData());
        QVERIFY(outcome.errors.contains("`waste chat`"));
        QVERIFY2(!outcome.errors.contains("qt.qpa"), outcome.errors.constData());
    }

    void questionsAboutItselfNeedNoDisplay()
    {
        const Outcome version = start({"--version"}, {});
        QCOMPARE(version.exitCode, 0);
        QVERIFY2(version.output.startsWith("waste-desktop "), version.output.constData());
        const Outcome help = start({"--help"}, {});
        QCOMPARE(help.exitCode, 0);
        QVERIFY(help.output.contains("--model"));
    }
};

QTEST_GUILESS_MAIN(TestDisplay)
#include "tst_display.moc"
