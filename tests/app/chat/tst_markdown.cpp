// Markdown of a model becomes blocks that are safe to draw, and growing Markdown gives the same blocks as
// the whole text at once, at a cost that grows with its length and not with its square.

#include "chat/markdown_blocks.h"
#include "chat/markdown_stream.h"
#include "support/cpu_time.h"

#include <QRandomGenerator>
#include <QRegularExpression>
#include <QTest>

#include <algorithm>
#include <ctime>
#include <functional>
#include <tuple>

using namespace waste::app;

namespace {

using Kind = MarkdownBlock::Kind;

QList<MarkdownBlock> parse(const QByteArray& text)
{
    return parseMarkdown(std::string_view(text.constData(), static_cast<std::size_t>(text.size())));
}

std::string_view view(const QByteArray& text)
{
    return {text.constData(), static_cast<std::size_t>(text.size())};
}

QList<Kind> kindsOf(const QList<MarkdownBlock>& blocks)
{
    QList<Kind> kinds;
    for (const MarkdownBlock& block : blocks)
        kinds << block.kind;
    return kinds;
}

// What the blocks give when the text arrives in pieces; takes every intermediate state too, as a view does.
QList<MarkdownBlock> parseInPieces(const QByteArray& text, const std::function<qsizetype()>& pieceLength)
{
    MarkdownStream stream;
    QList<MarkdownBlock> blocks;
    for (qsizetype place = 0; place < text.size();) {
        const QByteArray piece = text.mid(place, pieceLength());
        place += piece.size();
        stream.append(view(piece));
        blocks += stream.takeClosed();
        std::ignore = stream.open();
    }
    stream.finish();
    return blocks + stream.takeClosed();
}

const QByteArray kAnswer = R"(# Heading *one*

A paragraph with **bold**, `code`, ~~old~~ and
a second line.

- first
- second

  with a paragraph
  - nested
- [x] done

1. one
2. two

> quoted
> lines

```cpp
int main() { return a < b && c; }

```
Behind the code.

| Name | Count |
|------|------:|
| a    | 1 |
| b **c** | 2 |

---

    indented code

Setext
------

Last [link](https://example.org/?a=1&b=2 "t") and ![picture](http://tracker.example/x.png).
)";

} // namespace

class TestMarkdown : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void blocksHaveTheirTypesAndContents()
    {
        const auto blocks = parse(kAnswer);
        QCOMPARE(kindsOf(blocks),
            (QList<Kind>{Kind::Heading, Kind::Text, Kind::List, Kind::List, Kind::Quote, Kind::Code, Kind::Text,
                Kind::Table, Kind::Rule, Kind::Code, Kind::Heading, Kind::Text}));
        QCOMPARE(blocks[0].level, 1);
        QCOMPARE(blocks[0].html, QString("Heading <i>one</i>"));
        QCOMPARE(
            blocks[1].html, QString("A paragraph with <b>bold</b>, <code>code</code>, <s>old</s> and\na second line."));
        QVERIFY(blocks[2].html.startsWith("<ul><li>"));
        QVERIFY(blocks[2].html.contains(QString(QChar(0x2611)) + " done"));
        QVERIFY(blocks[3].html.startsWith("<ol start=\"1\">"));
        QVERIFY(blocks[4].html.contains("quoted\nlines"));
        QCOMPARE(blocks[5].language, QString("cpp"));
        QCOMPARE(blocks[5].code, QString("int main() { return a < b && c; }\n"));
        QCOMPARE(blocks[7].cells, QStringList({"Name", "Count", "a", "1", "b <b>c</b>", "2"}));
        QCOMPARE(blocks[7].alignments, (QList<int>{Qt::AlignLeft, Qt::AlignRight}));
        QCOMPARE(blocks[9].code, QString("indented code"));
        QCOMPARE(blocks[10].level, 2);
        QCOMPARE(blocks[11].html, QString("Last <a href=\"https://example.org/?a=1&amp;b=2\">link</a> and picture."));
    }

    void numbersEndAtTheRightWhereTheAuthorSaidNothing()
    {
        const auto blocks =
            parse("| x | 7 * x | left | kind |\n|---|---|:---|---|\n| 1 | 7 | 5 | 1st |\n| 2 | -1.5 % | 6 | 9 |\n\n"
                  "| n | word |\n|---|---|\n| 1 | one |\n");
        QCOMPARE(blocks.size(), 2);
        QCOMPARE(blocks[0].alignments, (QList<int>{Qt::AlignLeft, Qt::AlignRight, Qt::AlignLeft, Qt::AlignLeft}));
        QCOMPARE(blocks[1].alignments, (QList<int>{Qt::AlignLeft, Qt::AlignLeft}));
    }

    // Each of these lost or hid text in Qt's own Markdown.
    void tagsThatAModelWritesAreText_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("html");
        QTest::newRow("template") << QByteArray("use std::vector<int> here. more text")
                                  << "use std::vector&lt;int&gt; here. more text";
        QTest::newRow("break") << QByteArray("a <br> b") << "a &lt;br&gt; b";
        QTest::newRow("unclosed") << QByteArray("Use <b>bold") << "Use &lt;b&gt;bold";
        QTest::newRow("script") << QByteArray("<script>alert(1)</script>") << "&lt;script&gt;alert(1)&lt;/script&gt;";
        QTest::newRow("image tag") << QByteArray("<img src='http://x/'>") << "&lt;img src='http://x/'&gt;";
        QTest::newRow("comment") << QByteArray("<!-- hidden --> seen") << "&lt;!-- hidden --&gt; seen";
        QTest::newRow("entity") << QByteArray("&lt;b&gt; &amp;") << "&lt;b&gt; &amp;";
        QTest::newRow("quotes") << QByteArray("\"'") << "&quot;'";
    }

    void tagsThatAModelWritesAreText()
    {
        QFETCH(QByteArray, text);
        QFETCH(QString, html);
        const auto blocks = parse(text);
        QCOMPARE(blocks.size(), 1);
        QCOMPARE(blocks[0].html, html);
    }

    void linksLeadToPagesAndMessagesOnly_data()
    {
        QTest::addColumn<QByteArray>("target");
        QTest::addColumn<bool>("allowed");
        QTest::newRow("https") << QByteArray("https://a.example/") << true;
        QTest::newRow("http") << QByteArray("http://a.example/") << true;
        QTest::newRow("mailto") << QByteArray("mailto:a@b.example") << true;
        QTest::newRow("upper case") << QByteArray("HTTPS://a.example/") << true;
        QTest::newRow("javascript") << QByteArray("javascript:alert(1)") << false;
        QTest::newRow("file") << QByteArray("file:///etc/passwd") << false;
        QTest::newRow("data") << QByteArray("data:text/html,x") << false;
        QTest::newRow("qrc") << QByteArray("qrc:/x") << false;
        QTest::newRow("relative") << QByteArray("../x") << false;
        QTest::newRow("entities") << QByteArray("java&#115;cript:x") << false;
    }

    void linksLeadToPagesAndMessagesOnly()
    {
        QFETCH(QByteArray, target);
        QFETCH(bool, allowed);
        const auto blocks = parse("[text](" + target + ")");
        QCOMPARE(blocks.size(), 1);
        QCOMPARE(blocks[0].html.contains("<a href="), allowed);
        QVERIFY(blocks[0].html.contains("text"));
    }

    void nothingIsEverLoaded()
    {
        const auto blocks =
            parse("![x](http://t.example/a.png) ![y][r] [![z](http://t.example/b.png)](http://t.example)\n"
                  "\n[r]: http://t.example/c.png\n\n| ![c](http://t.example/d.png) |\n|--|\n");
        for (const MarkdownBlock& block : blocks) {
            const QString all = block.html + block.cells.join(' ');
            QVERIFY2(!all.contains("<img"), qPrintable(all));
            QVERIFY2(!all.contains(".png"), qPrintable(all));
        }
    }

    void hostileTextIsShownAndBounded_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("quotes in quotes") << QByteArray(5000, '>') + "x";
        QTest::newRow("lists in lists") << QByteArray("- ").repeated(3000) + "x";
        QTest::newRow("emphasis in emphasis") << QByteArray("*a **b ").repeated(1500);
        QTest::newRow("brackets") << QByteArray(20'000, '[');
        QTest::newRow("links in brackets") << QByteArray("[a](").repeated(5000);
        QTest::newRow("backticks") << QByteArray("`a``b```").repeated(2000);
        QTest::newRow("a table of thousands of columns") << QByteArray("|a").repeated(4000) + "\n"
                + QByteArray("|-").repeated(4000) + "\n" + QByteArray("|\n").repeated(4000);
        QTest::newRow("a table of very many rows") << QByteArray("|a").repeated(60) + "\n"
                + QByteArray("|-").repeated(60) + "\n" + QByteArray("|\n").repeated(10'000);
        QTest::newRow("entities") << QByteArray("&#0;&#x110000;&nosuch;&#9999999;");
        QTest::newRow("zeros") << QByteArray("a\0b\0\0c", 6);
        QTest::newRow("no UTF-8") << QByteArray("\xff\xfe\x80 abc \xed\xa0\x80");
    }

    void hostileTextIsShownAndBounded()
    {
        QFETCH(QByteArray, text);
        const waste::test::CpuTimer clock;
        const auto blocks = parse(text);
        qsizetype bytes = 0;
        int nesting = 0;
        for (const MarkdownBlock& block : blocks) {
            bytes += block.html.size() + block.code.size() + block.cells.join(' ').size();
            nesting = std::max(nesting, static_cast<int>(block.html.count("<ul>") + block.html.count("<blockquote>")));
        }
        QVERIFY2(bytes > 0 && bytes < 60 * text.size() + 1000, qPrintable(QString::number(bytes)));
        QVERIFY2(nesting <= 32, qPrintable(QString::number(nesting)));
        QVERIFY2(clock.seconds() < 2, qPrintable(QString::number(clock.seconds())));
        QVERIFY(!parseInPieces(text, [] { return 997; }).isEmpty());
    }

    void growingTextGivesTheSameBlocks_data()
    {
        QTest::addColumn<int>("pieceMax");
        QTest::newRow("byte by byte") << 1;
        QTest::newRow("tokens") << 6;
        QTest::newRow("lines") << 60;
        QTest::newRow("at once") << 100'000;
    }

    void growingTextGivesTheSameBlocks()
    {
        QFETCH(int, pieceMax);
        QRandomGenerator random(7);
        const auto blocks = parseInPieces(kAnswer, [&] { return pieceMax > 1 ? random.bounded(1, pieceMax) : 1; });
        const auto whole = parse(kAnswer);
        QCOMPARE(kindsOf(blocks), kindsOf(whole));
        for (qsizetype i = 0; i < whole.size(); ++i)
            QVERIFY2(blocks[i] == whole[i], qPrintable(QString("block %1: %2").arg(i).arg(blocks[i].html)));
    }

    // Random documents out of everything that begins, continues or ends a block.
    void growingRandomTextGivesTheSameBlocks()
    {
        const QList<QByteArray> lines{"text", "", "", "- item", "* other", "  more", "1. one", "> quote", "```",
            "```js", "~~~", "    code", "# head", "---", "===", "|a|b|", "|-|-|", "| |", "\ttab",
            "[r]: http://x.example", "a [r] b", "**bold", "bold**", "  - nested", "   ```", "***", "+", "-", "2) two",
            "<div>", "&amp;"};
        QRandomGenerator random(20261129);
        for (int round = 0; round < 3000; ++round) {
            QByteArray text;
            for (int i = random.bounded(1, 14); i > 0; --i)
                text += lines.at(random.bounded(static_cast<int>(lines.size()))) + '\n';
            const auto whole = parse(text);
            const auto grown = parseInPieces(text, [&] { return random.bounded(1, 20); });
            // Definitions of links are known only behind them while the text grows.
            if (text.contains("[r]")) {
                QVERIFY2(kindsOf(grown) == kindsOf(whole), text.constData());
                continue;
            }
            QVERIFY2(grown == whole, text.constData());
        }
    }

    void closedBlocksComeAsSoonAsTheNextOneBegins()
    {
        MarkdownStream stream;
        stream.append("First.\n\n```c\nint x;\n");
        QCOMPARE(stream.takeClosed().size(), 1);
        QCOMPARE(kindsOf(stream.open()), QList<Kind>{Kind::Code});
        stream.append("``");
        QCOMPARE(stream.takeClosed().size(), 0);
        stream.append("`\n");
        QCOMPARE(stream.takeClosed().size(), 1); // its Copy button may be used now
        QCOMPARE(stream.openBytes(), std::size_t{0});
    }

    void aLongAnswerCostsInProportionToItsLength_data()
    {
        QTest::addColumn<QByteArray>("unit");
        QTest::newRow("paragraphs") << QByteArray("Some words of a paragraph that goes on for a while.\n\n");
        QTest::newRow("one paragraph") << QByteArray("Some words of a paragraph that goes on\n");
        QTest::newRow("one line") << QByteArray("Some words of a line that goes on ");
        QTest::newRow("one word") << QByteArray("wordwordword");
        QTest::newRow("one list") << QByteArray("- an item of a list\n");
        QTest::newRow("one table") << QByteArray("| a | b |\n");
        QTest::newRow("one quote") << QByteArray("> a line of a quote\n");
        QTest::newRow("one code block") << QByteArray("int x = 1;\n");
        QTest::newRow("short lines") << QByteArray("a\n");
    }

    void aLongAnswerCostsInProportionToItsLength()
    {
        QFETCH(QByteArray, unit);
        const QByteArray tag = QTest::currentDataTag();
        const QByteArray head = tag == "one table" ? "| x | y |\n|---|---|\n" : tag == "one code block" ? "```\n" : "";
        const auto msFor = [&](qsizetype bytes) {
            const QByteArray text = head + unit.repeated(bytes / unit.size());
            const std::clock_t start = std::clock();
            MarkdownStream stream;
            qsizetype blocks = 0;
            for (qsizetype place = 0; place < text.size(); place += 4) { // a token is about four characters
                stream.append(view(text.mid(place, 4)));
                blocks += stream.takeClosed().size();
            }
            stream.finish();
            blocks += stream.takeClosed().size();
            const double ms = 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
            return blocks > 0 ? ms : -1;
        };
        msFor(30'000); // warm
        const double once = msFor(30'000);
        const double fourTimes = msFor(120'000);
        qInfo("30,000 characters: %.1f ms, 120,000: %.1f ms", once, fourTimes);
        QVERIFY(once > 0);
        // Quadratic cost would be sixteen times; the rest is noise of a busy machine.
        QVERIFY2(fourTimes < 10 * once + 20, qPrintable(QString("%1 ms, then %2 ms").arg(once).arg(fourTimes)));
    }
};

QTEST_APPLESS_MAIN(TestMarkdown)
#include "tst_markdown.moc"
