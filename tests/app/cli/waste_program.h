#pragma once

#include <QByteArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QProcessEnvironment>
#include <QRegularExpression>
#include <QStringList>
#include <QTest>

using namespace Qt::StringLiterals;

// Runs the built `waste` as a child process, in an environment that nothing of the developer's own reaches:
// no configuration file, no conversations, no WASTE_ variables.
struct WasteProgram {
    QByteArray input;
    QProcessEnvironment environment = cleanEnvironment();
    int timeoutMs = 600'000; // ends a hang, also of an unoptimised build on a busy machine

    struct Outcome {
        int exitCode = -1;
        bool finished = false; // neither timed out nor died of a signal
        QByteArray output;
        QByteArray errors;

        // Every line of standard output has to be one JSON object.
        [[nodiscard]] QList<QJsonObject> jsonLines() const
        {
            QList<QJsonObject> objects;
            for (const QByteArray& line : output.split('\n')) {
                if (line.isEmpty())
                    continue;
                QJsonParseError error;
                const QJsonDocument document = QJsonDocument::fromJson(line, &error);
                if (error.error != QJsonParseError::NoError || !document.isObject())
                    return {};
                objects.append(document.object());
            }
            return objects;
        }
        [[nodiscard]] QJsonObject json() const // of the last line
        {
            const auto lines = jsonLines();
            return lines.isEmpty() ? QJsonObject() : lines.last();
        }
        [[nodiscard]] QByteArray description() const
        {
            return "exit " + QByteArray::number(exitCode) + "\nstdout: " + output.left(2000)
                + "\nstderr: " + errors.left(2000);
        }
    };

    static QProcessEnvironment cleanEnvironment()
    {
        const QProcessEnvironment system = QProcessEnvironment::systemEnvironment();
        QProcessEnvironment clean;
        for (const char* name :
            {"PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
            if (system.contains(name))
                clean.insert(name, system.value(name));
        }
        clean.insert("HOME", "/nonexistent");
        return clean;
    }

    [[nodiscard]] Outcome run(const QStringList& arguments) const
    {
        QProcess process;
        process.setProcessEnvironment(environment);
        process.start(WASTE_CLI, arguments);
        if (!process.waitForStarted())
            return {};
        process.write(input);
        process.closeWriteChannel();
        return wait(process);
    }

    [[nodiscard]] Outcome wait(QProcess& process) const
    {
        Outcome outcome;
        outcome.finished = process.waitForFinished(timeoutMs) && process.exitStatus() == QProcess::NormalExit;
        if (!outcome.finished)
            process.kill();
        process.waitForFinished(5000);
        outcome.exitCode = process.exitCode();
        outcome.output = process.readAllStandardOutput();
        outcome.errors = process.readAllStandardError();
        return outcome;
    }
};

inline WasteProgram::Outcome runWaste(const QStringList& arguments, const QByteArray& input = {})
{
    WasteProgram program;
    program.input = input;
    return program.run(arguments);
}

// Names of the members, in the order of the text.
inline QStringList keysInOrder(const QByteArray& json)
{
    QStringList keys;
    static const QRegularExpression key("\"([a-z0-9_]+)\":");
    for (auto match = key.globalMatch(QString::fromUtf8(json)); match.hasNext();)
        keys << match.next().captured(1);
    return keys;
}

// The exit code, with both streams in the report where it is another one. Runs the program once.
#define COMPARE_EXIT(run, expected)                                                                                    \
    do {                                                                                                               \
        const WasteProgram::Outcome& wasteOutcome = (run);                                                             \
        QVERIFY2(wasteOutcome.finished&& wasteOutcome.exitCode == (expected), wasteOutcome.description().constData()); \
    } while (false)
