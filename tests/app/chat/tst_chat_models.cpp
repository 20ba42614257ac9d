// The lists that QML shows: rows are inserted, moved and changed and never reset under a reader's eyes; words
// and states are those of the conversation.

#include "chat/conversation_list_model.h"
#include "chat/message_list_model.h"
#include "chat/message_text.h"
#include "host/journal_lines.h"
#include "support/cpu_time.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>

using namespace waste;
using namespace waste::app;

namespace {

host::Message message(const std::string& id, const std::string& parent, host::Role role, const std::string& text)
{
    host::Message made;
    made.id = id;
    made.parent = parent;
    made.role = role;
    made.timeUtc = "2026-11-29T15:00:00Z";
    if (!text.empty())
        made.append(host::Block::Type::Text, text);
    return made;
}

host::Conversation shortConversation()
{
    host::Conversation conversation;
    conversation.messages = {
        message("q", "", host::Role::User, "Why *not*?"), message("a", "q", host::Role::Assistant, "Because **so**.")};
    return conversation;
}

QVariant value(const QAbstractItemModel& model, int row, int role)
{
    return model.data(model.index(row, 0), role);
}

ReplyBlocks* blocksAt(const MessageListModel& model, int row)
{
    return value(model, row, MessageListModel::BlocksRole).value<ReplyBlocks*>();
}

host::ConversationSummary summary(const char* id, const char* title, const QDateTime& updated)
{
    host::ConversationSummary made;
    made.id = id;
    made.title = title;
    made.modelName = "K3-mini";
    made.updatedUtc = updated.toUTC().toString(Qt::ISODate).toStdString();
    made.messageCount = 2;
    return made;
}

} // namespace

class TestChatModels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates)); }

    void messagesShowTheirTextAndTheirBlocks()
    {
        MessageListModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.show(shortConversation());
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(value(model, 0, MessageListModel::PlainTextRole).toString(), QString("Why *not*?"));
        QVERIFY(blocksAt(model, 0) == nullptr);
        QCOMPARE(value(model, 1, MessageListModel::AuthorRole).value<MessageListModel::Author>(),
            MessageListModel::Author::Assistant);
        ReplyBlocks* blocks = blocksAt(model, 1);
        QCOMPARE(blocks->data(blocks->index(0), ReplyBlocks::HtmlRole).toString(), QString("Because <b>so</b>."));
        QCOMPARE(blocksAt(model, 1), blocks);
        QCOMPARE(value(model, 1, MessageListModel::LastRole).toBool(), true);
    }

    void aStreamingAnswerReachesBlocksThatAreShownAndThoseThatComeLater()
    {
        MessageListModel model;
        model.show(shortConversation());
        host::Message answer = message("b", "a", host::Role::Assistant, "");
        answer.state = host::MessageState::Queued;
        model.add(answer);
        model.setState("b", host::MessageState::Answering);
        model.append("b", host::Block::Type::Thinking, "Hm");
        model.append("b", host::Block::Type::Text, "Half a ");
        ReplyBlocks* blocks = blocksAt(model, 2);
        QCOMPARE(blocks->rowCount(), 2);
        QCOMPARE(blocks->data(blocks->index(0), ReplyBlocks::ClosedRole).toBool(), true);
        model.append("b", host::Block::Type::Text, "sentence");
        QCOMPARE(blocks->data(blocks->index(1), ReplyBlocks::HtmlRole).toString(), QString("Half a sentence"));
        model.setState("b", host::MessageState::Stopped);
        QCOMPARE(blocks->data(blocks->index(1), ReplyBlocks::ClosedRole).toBool(), true);
        // Continued in the middle of the paragraph.
        model.setState("b", host::MessageState::Queued);
        model.append("b", host::Block::Type::Text, " more");
        ReplyBlocks* again = blocksAt(model, 2);
        QVERIFY(again != blocks);
        QCOMPARE(again->rowCount(), 2);
        QCOMPARE(again->data(again->index(1), ReplyBlocks::HtmlRole).toString(), QString("Half a sentence more"));
    }

    void anotherBranchKeepsTheRowsThatStay()
    {
        MessageListModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.show(shortConversation());
        QSignalSpy resets(&model, &MessageListModel::modelReset);
        QSignalSpy removed(&model, &MessageListModel::rowsRemoved);
        model.add(message("a2", "q", host::Role::Assistant, "Differently."));
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(value(model, 1, MessageListModel::SiblingIndexRole).toInt(), 2);
        QCOMPARE(value(model, 1, MessageListModel::SiblingCountRole).toInt(), 2);
        model.showBranch("a");
        QCOMPARE(value(model, 1, MessageListModel::MessageIdRole).toString(), QString("a"));
        QCOMPARE(resets.size(), 0);
        for (const auto& arguments : removed)
            QCOMPARE(arguments.at(1).toInt(), 1);
    }

    void whatCouldNotBeSavedGoesAwayAgain()
    {
        MessageListModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.show({});
        model.add(message("q", "", host::Role::User, "x"));
        model.add(message("a", "q", host::Role::Assistant, ""));
        model.removeLast("a");
        QCOMPARE(model.rowCount(), 1);
        model.removeLast("q");
        QCOMPARE(model.rowCount(), 0);
        QVERIFY(model.conversation().messages.empty());
    }

    void aGapInTheJournalIsSaidAtItsPlace()
    {
        host::Conversation conversation = shortConversation();
        conversation.skippedLines.push_back({3, 1});
        MessageListModel model;
        model.show(conversation);
        QCOMPARE(model.rowCount(), 3);
        QCOMPARE(value(model, 1, MessageListModel::AuthorRole).value<MessageListModel::Author>(),
            MessageListModel::Author::Notice);
        QVERIFY(!value(model, 1, MessageListModel::PlainTextRole).toString().isEmpty());
    }

    void statesAndErrorsAreSaidInWords_data()
    {
        QTest::addColumn<int>("state");
        QTest::addColumn<QString>("reason");
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("shown");
        QTest::addColumn<QString>("title");
        using Host = host::MessageState;
        using Shown = MessageListModel::State;
        const auto row = [](const char* name, Host state, const char* reason, const char* text, Shown shown,
                             const char* title) {
            QTest::newRow(name) << static_cast<int>(state) << reason << text << static_cast<int>(shown) << title;
        };
        row("done", Host::Done, "", "x", Shown::Done, "");
        row("stopped", Host::Stopped, "", "x", Shown::Stopped, "");
        row("killed", Host::Interrupted, "", "x", Shown::Interrupted, "Interrupted at 1,204 tokens");
        row("failed", Host::Interrupted, "cannot read f", "x", Shown::Failed, "The answer could not be finished");
        row("failed at once", Host::Interrupted, "no model", "", Shown::Failed, "The question could not be answered");
        row("full", Host::Done, "context_full", "x", Shown::Done, "The context is full");
    }

    void statesAndErrorsAreSaidInWords()
    {
        QFETCH(int, state);
        QFETCH(QString, reason);
        QFETCH(QString, text);
        QFETCH(int, shown);
        QFETCH(QString, title);
        host::Message answer = message("a", "q", host::Role::Assistant, text.toStdString());
        answer.state = static_cast<host::MessageState>(state);
        answer.reason = reason.toStdString();
        answer.timings.tokens = 1204;
        QCOMPARE(static_cast<int>(stateOf(answer)), shown);
        QCOMPARE(errorTitleOf(answer), title);
        QCOMPARE(errorTextOf(answer).isEmpty(), title.isEmpty());
    }

    void figuresHaveTheirHonestDigits()
    {
        QCOMPARE(durationText(420), QString("0.42 s"));
        QCOMPARE(durationText(4200), QString("4.2 s"));
        QCOMPARE(durationText(389'000), QString("6:29"));
        QCOMPARE(durationText(4'320'000), QString("1 h 12 min"));
        QCOMPARE(rateText(0.516), QString("0.52"));
        QCOMPARE(rateText(9.61), QString("9.6"));
        QCOMPARE(rateText(214.4), QString("214"));
        QCOMPARE(tokensText(1), QString("1 token"));
        QCOMPARE(tokensText(1204), QString("1,204 tokens"));
        host::Message answer = message("a", "q", host::Role::Assistant, "x");
        answer.timings.tokens = 128;
        answer.timings.answerMs = 13'300;
        answer.timings.firstTokenMs = 420;
        QCOMPARE(statisticsOf(answer), QString("128 tokens · 9.6 tok/s · first word after 0.42 s"));
    }

    void tenThousandMessagesCostLessThanASecondOfCpu()
    {
        host::Conversation conversation;
        for (int i = 0; i < 10'000; ++i) {
            conversation.messages.push_back(message(std::to_string(i), i > 0 ? std::to_string(i - 1) : "",
                i % 2 == 0 ? host::Role::User : host::Role::Assistant, "Some **text** of a message, not too short."));
        }
        MessageListModel model;
        const test::CpuTimer clock;
        model.show(conversation);
        QCOMPARE(model.rowCount(), 10'000);
        for (int row = 9950; row < 10'000; ++row)
            blocksAt(model, row);
        QVERIFY2(clock.seconds() < 1, qPrintable(QString::number(clock.seconds())));
    }

    void conversationsAreNewestFirstInGroupsByDay()
    {
        const QDateTime now = QDateTime::currentDateTime();
        ConversationListModel model;
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        host::ConversationKeeper::List list;
        list.conversations = {summary("old", "Old one", now.addDays(-5)), summary("new", "New one", now),
            summary("yesterday", "Other", now.addDays(-1))};
        host::ConversationSummary draft = summary("draft", "", now);
        draft.messageCount = 0;
        list.conversations.push_back(draft);
        list.putAside.push_back({"/data/quarantine/x", "no first line"});
        model.setList(list);
        QCOMPARE(model.rowCount(), 3);
        QStringList groups;
        for (int row = 0; row < 3; ++row)
            groups << value(model, row, ConversationListModel::GroupRole).toString();
        QCOMPARE(groups, QStringList({"Today", "Yesterday", "Earlier"}));
        QCOMPARE(model.quarantineNotes().size(), 1);
        model.setSearch("ONE");
        QCOMPARE(model.rowCount(), 2);
        model.setSearch("");
        // An answer in the oldest one brings it to the top.
        QSignalSpy moved(&model, &ConversationListModel::rowsMoved);
        model.put(summary("old", "Old one", now.addSecs(10)));
        QCOMPARE(moved.size(), 1);
        QCOMPARE(value(model, 0, ConversationListModel::ConversationIdRole).toString(), QString("old"));
        model.remove("old");
        QCOMPARE(model.rowCount(), 2);
    }

    void anAnswerThatNobodySawEndingIsUnread()
    {
        const QDateTime now = QDateTime::currentDateTime();
        ConversationListModel model;
        model.put(summary("a", "A", now));
        model.put(summary("b", "B", now.addSecs(-5)));
        model.setCurrent("b");
        const auto stateOfFirst = [&] {
            return value(model, 0, ConversationListModel::StateRole).value<ConversationListModel::State>();
        };
        model.setActivity("a", ConversationListModel::State::Answering, 214);
        QCOMPARE(value(model, 0, ConversationListModel::StateTextRole).toString(), QString("Answering · 214 tokens"));
        model.setActivity("a", ConversationListModel::State::Idle, 220);
        QCOMPARE(stateOfFirst(), ConversationListModel::State::Unread);
        model.setCurrent("a");
        QCOMPARE(stateOfFirst(), ConversationListModel::State::Idle);
        QCOMPARE(value(model, 0, ConversationListModel::CurrentRole).toBool(), true);
        model.setActivity("a", ConversationListModel::State::Answering, 3);
        model.setActivity("a", ConversationListModel::State::Idle, 4);
        QCOMPARE(stateOfFirst(), ConversationListModel::State::Idle);
    }
};

QTEST_GUILESS_MAIN(TestChatModels)
#include "tst_chat_models.moc"
