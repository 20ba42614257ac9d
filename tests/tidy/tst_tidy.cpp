// The architecture as a fact: reads every #include of engine/ and app/ against the table of who may know
// whom, checks file lengths, and looks into the objects of single instruction sets for symbols that the
// linker could keep for everybody.

#include <QDirIterator>
#include <QFile>
#include <QHash>
#include <QProcess>
#include <QRegularExpression>
#include <QSet>
#include <QTest>

namespace {

// Folder → folders whose headers it may include, itself and the facade's bottom (result.h, types.h) aside.
const QHash<QString, QSet<QString>>& allowedFolders()
{
    static const QHash<QString, QSet<QString>> table = [] {
        const QSet<QString> low{"base", "platform"};
        const QSet<QString> kernels = QSet<QString>(low) << "memory"
                                                         << "kernels";
        const QSet<QString> files = QSet<QString>(kernels) << "checkpoint"
                                                           << "container";
        const QSet<QString> middle = QSet<QString>(files) << "experts"
                                                          << "tokens";
        QHash<QString, QSet<QString>> allowed;
        allowed["include"] = {};
        allowed["base"] = {};
        allowed["platform"] = {"base"};
        allowed["memory"] = low;
        allowed["kernels"] = low;
        allowed["checkpoint"] = kernels;
        allowed["container"] = kernels;
        allowed["tokens"] = kernels;
        allowed["experts"] = files;
        allowed["sampling"] = middle;
        allowed["prompt"] = QSet<QString>(middle) << "sampling";
        allowed["layers"] = middle;
        allowed["vision"] = middle;
        allowed["download"] = low;
        allowed["convert"] = QSet<QString>(middle) << "prompt"
                                                   << "vision";
        allowed["session"] = QSet<QString>(middle) << "sampling"
                                                   << "prompt"
                                                   << "layers"
                                                   << "vision";
        return allowed;
    }();
    return table;
}

const QString kRoot = QStringLiteral(WASTE_SOURCE_DIR "/");

QStringList sources(const QString& folder, const QStringList& patterns)
{
    QStringList files;
    QDirIterator walk(kRoot + folder, patterns, QDir::Files, QDirIterator::Subdirectories);
    while (walk.hasNext())
        files << walk.next().mid(kRoot.size());
    files.sort();
    return files;
}

QString textOf(const QString& file)
{
    QFile source(kRoot + file);
    return source.open(QIODevice::ReadOnly) ? QString::fromUtf8(source.readAll()) : QString();
}

struct Include {
    QString path;
    int line;
    bool system; // <...>
};

QList<Include> includesOf(const QString& file)
{
    static const QRegularExpression pattern("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"]");
    QList<Include> includes;
    int number = 0;
    for (const QString& line : textOf(file).split('\n')) {
        ++number;
        if (const auto match = pattern.match(line); match.hasMatch())
            includes.append({match.captured(2), number, match.captured(1) == "<"});
    }
    return includes;
}

QString firstFolder(const QString& path)
{
    return path.section('/', 0, 0);
}

} // namespace

class TestTidy : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void engineFoldersKnowOnlyLowerOnes()
    {
        QStringList offences;
        int checked = 0;
        for (const QString& file : sources("engine", {"*.h", "*.cpp"})) {
            const QString folder = file.section('/', 1, 1);
            QVERIFY2(allowedFolders().contains(folder), qPrintable(file + ": a folder without a place in the order"));
            for (const Include& include : includesOf(file)) {
                ++checked;
                const QString target = firstFolder(include.path);
                const bool ours = !include.system && (allowedFolders().contains(target) || target == "waste");
                if (!ours || target == folder || target == "waste")
                    continue;
                if (!allowedFolders()[folder].contains(target))
                    offences << QStringLiteral("%1:%2 includes %3").arg(file).arg(include.line).arg(include.path);
            }
        }
        QVERIFY2(offences.isEmpty(), qPrintable(offences.join('\n')));
        QVERIFY(checked > 300);
    }

    void theEngineKnowsNoQt()
    {
        static const QRegularExpression qt("^(Q[A-Z]|Qt)");
        for (const QString folder : {"engine", "app/host", "app/cli", "app/server"}) {
            for (const QString& file : sources(folder, {"*.h", "*.cpp"})) {
                for (const Include& include : includesOf(file))
                    QVERIFY2(!qt.match(include.path).hasMatch(), qPrintable(file + " includes " + include.path));
            }
        }
    }

    void theApplicationSeesTheFacadeAlone()
    {
        QSet<QString> engineFolders(allowedFolders().keyBegin(), allowedFolders().keyEnd());
        for (const QString& file : sources("app", {"*.h", "*.cpp"})) {
            for (const Include& include : includesOf(file)) {
                QVERIFY2(include.system || !engineFolders.contains(firstFolder(include.path)),
                    qPrintable(file + " includes " + include.path));
            }
        }
    }

    void hostAndCommandLineKeepTheirOrder()
    {
        for (const QString folder : {"app/host", "app/cli", "app/server"}) {
            QSet<QString> forbidden{"chat", "sessions", "models", "conversion", "dashboard", "settings", "desktop"};
            if (folder != QStringLiteral("app/cli"))
                forbidden << "cli";
            if (folder == QStringLiteral("app/host"))
                forbidden << "server";
            for (const QString& file : sources(folder, {"*.h", "*.cpp"})) {
                for (const Include& include : includesOf(file)) {
                    QVERIFY2(include.system || !forbidden.contains(firstFolder(include.path)),
                        qPrintable(file + " includes " + include.path));
                }
            }
        }
    }

    void operatingSystemsAndInstructionSetsStayInTheirFolders()
    {
        static const QRegularExpression condition(
            R"(^\s*#\s*(if|ifdef|ifndef|elif)\b.*\b(_WIN32|__APPLE__|__linux__|__x86_64__|__aarch64__|__AVX\w*|__ARM\w*)\b)",
            QRegularExpression::MultilineOption);
        for (const QString root : {"engine", "app"}) {
            for (const QString& file : sources(root, {"*.h", "*.cpp"})) {
                if (file.startsWith("engine/platform/") || file.startsWith("engine/kernels/"))
                    continue;
                const auto match = condition.match(textOf(file));
                QVERIFY2(!match.hasMatch(), qPrintable(file + ": " + match.captured(0).trimmed()));
            }
        }
    }

    void filesAreShort()
    {
        constexpr int kLinesWanted = 500;
        constexpr int kLinesMax = 700;
        for (const QString root : {"engine", "app", "qml"}) {
            for (const QString& file : sources(root, {"*.h", "*.cpp", "*.qml"})) {
                const auto lines = textOf(file).count('\n');
                if (lines > kLinesWanted)
                    qWarning("%s has %d lines", qPrintable(file), static_cast<int>(lines));
                QVERIFY2(lines <= kLinesMax, qPrintable(QStringLiteral("%1 has %2 lines").arg(file).arg(lines)));
            }
        }
    }

    // A weak symbol of a file compiled for AVX2 may be the copy that the linker keeps for everybody, and
    // then crash on a machine without it.
    void objectsOfOneInstructionSetExportNoWeakSymbols()
    {
        QProcess nm;
        nm.start(WASTE_NM, {"--defined-only", WASTE_KERNELS_ARCHIVE});
        QVERIFY(nm.waitForFinished());
        QCOMPARE(nm.exitCode(), 0);
        static const QRegularExpression isaObject("^(x86|arm)_.*\\.o(bj)?:$");
        static const QRegularExpression weak("^[0-9a-f]+ [WVu] ");
        bool inside = false;
        int objects = 0;
        for (const QString& line : QString::fromUtf8(nm.readAllStandardOutput()).split('\n')) {
            if (line.endsWith(':')) {
                inside = isaObject.match(line).hasMatch();
                objects += inside ? 1 : 0;
            }
            // Of what is no code, only this: without optimisation every object has its pointer to the runtime's
            // personality routine.
            if (line.endsWith("DW.ref.__gxx_personality_v0"))
                continue;
            QVERIFY2(!inside || !weak.match(line).hasMatch(), qPrintable(line));
        }
        QVERIFY(objects > 0);
    }

    // Flags that were given to a file too many would crash on machines without these registers.
    void wideRegistersStayInTheFilesOfTheirInstructionSet()
    {
        QProcess objdump;
        objdump.start(WASTE_OBJDUMP, {"-d", "--no-show-raw-insn", WASTE_KERNELS_ARCHIVE});
        if (!objdump.waitForFinished(120'000) || objdump.exitCode() != 0)
            QSKIP("there is no objdump");
        const QByteArray text = objdump.readAllStandardOutput();
        QString object;
        QSet<QString> withYmm;
        QSet<QString> withZmm;
        qsizetype begin = 0;
        while (begin < text.size()) {
            const qsizetype newline = text.indexOf('\n', begin);
            const qsizetype end = newline < 0 ? text.size() : newline;
            const QByteArrayView line = QByteArrayView(text).sliced(begin, end - begin);
            begin = end + 1;
            if (const qsizetype colon = line.indexOf(".o:"); colon > 0)
                object = QString::fromUtf8(line.first(colon));
            else if (line.indexOf("%zmm") >= 0)
                withZmm << object;
            else if (line.indexOf("%ymm") >= 0)
                withYmm << object;
        }
        if (withYmm.isEmpty())
            QSKIP("not on x86-64");
        QVERIFY(!withZmm.isEmpty());
        for (const QString& name : withZmm)
            QVERIFY2(name.startsWith("x86_avx512"), qPrintable(name));
        for (const QString& name : withYmm)
            QVERIFY2(name.startsWith("x86_avx"), qPrintable(name));
    }

    // Repeaters inside layouts crash Qt 6.4 when their model changes during a resize.
    void noRepeaterSitsDirectlyInALayout()
    {
        static const QRegularExpression opening(R"((\w[\w.]*)\s*\{\s*(//.*)?$)");
        for (const QString& file : sources("qml", {"*.qml"})) {
            QStringList open;
            for (const QString& line : textOf(file).split('\n')) {
                const auto match = opening.match(line);
                if (match.hasMatch() && match.captured(1) == "Repeater") {
                    const QString parent = open.isEmpty() ? QString() : open.last();
                    QVERIFY2(!parent.endsWith("Layout"), qPrintable(file + ": Repeater directly in " + parent));
                }
                const auto opened = line.count('{');
                const auto closed = line.count('}');
                for (qsizetype i = closed; i < opened; ++i)
                    open << (match.hasMatch() ? match.captured(1) : QString());
                for (qsizetype i = opened; i < closed && !open.isEmpty(); ++i)
                    open.removeLast();
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestTidy)
#include "tst_tidy.moc"
