// What a view sees of an answer that grows: rows that keep their place, closed ones that never change again,
// and long open blocks that are drawn at most four times a second.

#include "chat/reply_blocks.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>

using namespace waste::app;

namespace {

using Type = ReplyBlocks::Type;

QList<Type> typesOf(const ReplyBlocks& blocks)
{
    QList<Type> types;
    for (int row = 0; row < blocks.rowCount(); ++row)
        types << blocks.data(blocks.index(row), ReplyBlocks::TypeRole).value<Type>();
    return types;
}

QVariant value(const ReplyBlocks& blocks, int row, int role)
{
    return blocks.data(blocks.index(row), role);
}

} // namespace

class TestReplyBlocks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void thinkingIsTheFirstRowAndToolCallsTheLast()
    {
        ReplyBlocks blocks;
        const QAbstractItemModelTester tester(&blocks, QAbstractItemModelTester::FailureReportingMode::QtTest);
        blocks.appendMarkdown("Text.");
        blocks.appendThinking("Let me\nsee");
        blocks.appendThinking(" now.");
        waste::host::AnswerTimings timings;
        timings.thinkingTokens = 7;
        timings.thinkingMs = 2900;
        blocks.setThinkingFigures(timings);
        blocks.appendToolCall("look", "{}");
        blocks.appendMarkdown("\n\n# More");
        QCOMPARE(typesOf(blocks), (QList<Type>{Type::Thinking, Type::Text, Type::Heading, Type::ToolCall}));
        QCOMPARE(value(blocks, 0, ReplyBlocks::PlainTextRole).toString(), QString("Let me\nsee now."));
        QCOMPARE(value(blocks, 0, ReplyBlocks::TailRole).toString(), QString("Let me see now."));
        QCOMPARE(value(blocks, 0, ReplyBlocks::TokenCountRole).toInt(), 7);
        QCOMPARE(value(blocks, 0, ReplyBlocks::SecondsRole).toInt(), 2);
        QCOMPARE(value(blocks, 0, ReplyBlocks::ClosedRole).toBool(), false);
        QCOMPARE(value(blocks, 3, ReplyBlocks::LanguageRole).toString(), QString("look"));
        blocks.finish();
        for (int row = 0; row < blocks.rowCount(); ++row)
            QVERIFY(value(blocks, row, ReplyBlocks::ClosedRole).toBool());
    }

    void closedRowsNeverChangeAgain()
    {
        ReplyBlocks blocks;
        const QAbstractItemModelTester tester(&blocks, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QSet<int> closed;
        int changesOfClosedRows = 0;
        connect(&blocks, &ReplyBlocks::dataChanged, this, [&](const QModelIndex& first, const QModelIndex& last) {
            for (int row = first.row(); row <= last.row(); ++row)
                changesOfClosedRows += closed.contains(row) ? 1 : 0;
        });
        connect(&blocks, &ReplyBlocks::rowsRemoved, this,
            [&](const QModelIndex&, int first, int) { changesOfClosedRows += closed.contains(first) ? 1 : 0; });
        const QByteArray text = "One.\n\n```c\nint a;\n```\n- x\n- y\n\nTwo\n===\n\n| a |\n|---|\n| 1 |\n\nLast.";
        for (const char c : text) {
            blocks.appendMarkdown(std::string_view(&c, 1));
            for (int row = 0; row < blocks.rowCount(); ++row) {
                if (value(blocks, row, ReplyBlocks::ClosedRole).toBool())
                    closed.insert(row);
            }
        }
        blocks.finish();
        QCOMPARE(changesOfClosedRows, 0);
        QCOMPARE(
            typesOf(blocks), (QList<Type>{Type::Text, Type::Code, Type::List, Type::Heading, Type::Table, Type::Text}));
    }

    void aCodeBlockGrowsInItsRowAndTellsOnlyThat()
    {
        ReplyBlocks blocks;
        blocks.appendMarkdown("```py\nx");
        QSignalSpy changes(&blocks, &ReplyBlocks::dataChanged);
        blocks.appendMarkdown(" = 1");
        QCOMPARE(changes.size(), 1);
        QCOMPARE(changes.at(0).at(2).value<QList<int>>(), QList<int>{ReplyBlocks::PlainTextRole});
        QCOMPARE(value(blocks, 0, ReplyBlocks::PlainTextRole).toString(), QString("x = 1"));
        QCOMPARE(value(blocks, 0, ReplyBlocks::LanguageRole).toString(), QString("py"));
    }

    void aLongOpenBlockIsShownFourTimesASecond()
    {
        ReplyBlocks blocks;
        blocks.appendMarkdown(std::string(2000, 'a'));
        QSignalSpy changes(&blocks, &ReplyBlocks::dataChanged);
        QElapsedTimer clock;
        clock.start();
        while (clock.elapsed() < 1100) {
            blocks.appendMarkdown("b ");
            QTest::qWait(5);
        }
        QVERIFY2(changes.size() >= 3 && changes.size() <= 6, qPrintable(QString::number(changes.size())));
        // And the rest comes by itself.
        blocks.appendMarkdown("end");
        QTRY_VERIFY(value(blocks, blocks.rowCount() - 1, ReplyBlocks::HtmlRole).toString().endsWith("end"));
    }

    void everyRoleHasAName()
    {
        const ReplyBlocks blocks;
        const auto names = blocks.roleNames();
        for (int role = ReplyBlocks::TypeRole; role <= ReplyBlocks::SecondsRole; ++role)
            QVERIFY(names.contains(role));
    }
};

QTEST_GUILESS_MAIN(TestReplyBlocks)
#include "tst_reply_blocks.moc"
