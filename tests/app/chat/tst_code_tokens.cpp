// The colours of code: what is a keyword, a string, a number, a comment and a call, line by line.

#include "chat/code_tokens.h"

#include <QRandomGenerator>
#include <QTest>

using namespace waste::app;
using Kind = CodeToken::Kind;

namespace {

// Every line with its tokens marked: k‹if› s‹"x"› n‹1› c‹// y› f‹print›.
QString marked(const char* language, const QString& code)
{
    const CodeLanguage* known = codeLanguage(language);
    if (known == nullptr)
        return "unknown";
    QStringList lines;
    int state = 0;
    for (QString line : code.split('\n')) {
        const QList<CodeToken> tokens = codeTokens(*known, line, state);
        for (auto token = tokens.crbegin(); token != tokens.crend(); ++token) {
            line.insert(token->start + token->length, "›");
            line.insert(token->start, QString("ksncf"[static_cast<int>(token->kind)]) + "‹");
        }
        lines << line;
    }
    return lines.join('\n');
}

} // namespace

class TestCodeTokens : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void codeIsTakenApart_data()
    {
        QTest::addColumn<QString>("language");
        QTest::addColumn<QString>("code");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* language, const char* code, const char* expected) {
            QTest::addRow("%s: %s", language, code) << language << code << expected;
        };
        row("cpp", "if (x) f(0x1F);", "k‹if› (x) f‹f›(n‹0x1F›);");
        row("C++", "#include <a>", "k‹#include› <a>");
        row("c", "a /* b */ c // d", "a c‹/* b */› c c‹// d›");
        row("c", "/* a\nreturn\n*/ return", "c‹/* a›\nc‹return›\nc‹*/› k‹return›");
        row("cpp", "s = \"a\\\"b\" + 'c';", "s = s‹\"a\\\"b\"› + s‹'c'›;");
        row("cpp", "\"not closed\nint", "s‹\"not closed›\nk‹int›");
        row("python", "x = '''a\n#b\n''' # c", "x = s‹'''a›\ns‹#b›\ns‹'''› c‹# c›");
        row("py", "def f(n): return 1.5", "k‹def› f‹f›(n): k‹return› n‹1.5›");
        row("sql", "SELECT 'it' from t -- all", "k‹SELECT› s‹'it'› k‹from› t c‹-- all›");
        row("js", "`a\nb` let", "s‹`a›\ns‹b`› k‹let›");
        row("rust", "fn f<'a>(x: &'a str)", "k‹fn› f<'a>(x: &'a k‹str›)");
        row("bash", "for f in *; do # x", "k‹for› f k‹in› *; k‹do› c‹# x›");
        row("json", "{\"a\": [1, true]}", "{s‹\"a\"›: [n‹1›, k‹true›]}");
        row("html", "<a><!-- b\n--> 'c'", "<a>c‹<!-- b›\nc‹-->› s‹'c'›");
        row("klingon", "if", "unknown");
        row("", "if", "unknown");
    }
    void codeIsTakenApart()
    {
        QFETCH(const QString, language);
        QFETCH(const QString, code);
        QTEST(marked(qPrintable(language), code), "expected");
    }

    // Any text in any language: tokens in order, inside the line, none empty.
    void noTextLeadsATokenOutOfItsLine()
    {
        QRandomGenerator random(7);
        const QString alphabet = "\"'`\\/*-#<>!ab1_( \u00e9\u4e2d";
        for (const char* language : {"cpp", "python", "sql", "js", "html", "bash", "yaml", "go"}) {
            int state = 0;
            for (int i = 0; i < 2000; ++i) {
                QString line;
                for (int length = random.bounded(24); length > 0; --length)
                    line += alphabet[random.bounded(alphabet.size())];
                int end = 0;
                for (const CodeToken& token : codeTokens(*codeLanguage(language), line, state)) {
                    QVERIFY(token.start >= end && token.length > 0);
                    end = token.start + token.length;
                }
                QVERIFY(end <= line.size());
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestCodeTokens)
#include "tst_code_tokens.moc"
