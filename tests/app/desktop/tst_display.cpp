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
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "QT_DEBUG_PLUGINS"})
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
        QTest::addColumn<QByteArray>("toolkit"); // its own words, where a display should be
        QTest::newRow("none") << Variables() << QByteArray("there is no display") << QByteArray();
        QTest::newRow("nobody answers")
            << Variables{{"DISPLAY", ":99999"}} << QByteArray("cannot be reached")
            << QByteArray("connect to display :99999\n  Could not load the Qt platform plugin \"xcb\"");
        QTest::newRow("another platform")
            << Variables{{"QT_QPA_PLATFORM", "nonsense"}} << QByteArray("\"nonsense\"") << QByteArray();
        QTest::newRow("a plug-in that is missing")
            << Variables{{"DISPLAY", ":99999"}, {"QT_QPA_PLATFORM", "nonsense"}} << QByteArray("\"nonsense\"")
            << QByteArray("find the Qt platform plugin \"nonsense\"");
    }
    void withoutADisplayItSaysWhatToDo()
    {
#ifndef Q_OS_LINUX
        QSKIP("Windows and macOS always have a display");
#endif
        QFETCH(Variables, variables);
        QFETCH(QByteArray, cause);
        QFETCH(QByteArray, toolkit);
        const Outcome outcome = start({}, variables);
        QCOMPARE(outcome.exitCode, 1);
        QVERIFY2(
            outcome.errors.startsWith("waste-desktop: ") && outcome.errors.contains(cause), outcome.errors.constData());
        QVERIFY(outcome.errors.contains("`waste chat`"));
        QVERIFY2(!outcome.errors.contains("qt."), outcome.errors.constData());
        QCOMPARE(outcome.errors.contains("Qt says:"), !toolkit.isEmpty());
        QVERIFY2(outcome.errors.contains(toolkit), outcome.errors.constData());
    }

    void whoLooksForThePluginSeesEverything()
    {
#ifndef Q_OS_LINUX
        QSKIP("Windows and macOS always have a display");
#endif
        const Outcome outcome = start({}, {{"QT_QPA_PLATFORM", "nonsense"}, {"QT_DEBUG_PLUGINS", "1"}});
        QCOMPARE(outcome.exitCode, 1);
        QVERIFY2(outcome.errors.contains("qt.core.") && outcome.errors.contains("no Qt platform plugin"),
            outcome.errors.constData());
        QVERIFY(outcome.errors.contains("`waste chat`"));
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
