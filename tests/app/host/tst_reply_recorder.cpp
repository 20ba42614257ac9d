// An answer reaches its journal while it is generated: states at once, text at most a second later and at
// most once a second, and after a full disk everything in the right order.

#include "host/reply_recorder.h"

#include "host/journal_lines.h"
#include "waste/files.h"

#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <string>
#include <thread>

using namespace waste;
using namespace waste::host;

namespace {

const std::string kId = "20261129T150000Z-aaaaaa";

Message emptyAnswer()
{
    Message answer;
    answer.id = "a";
    answer.role = Role::Assistant;
    answer.state = MessageState::Queued;
    return answer;
}

ReplyText text(const char* words, ReplyText::Channel channel = ReplyText::Channel::Content)
{
    return {"a", channel, words};
}

ReplyEnded ended(ReplyEnded::Reason reason)
{
    ReplyEnded event;
    event.answerId = "a";
    event.reason = reason;
    event.timings.tokens = 5;
    return event;
}

} // namespace

class TestReplyRecorder : public QObject {
    Q_OBJECT

    std::filesystem::path journal(const QTemporaryDir& folder) const
    {
        return std::filesystem::path(folder.path().toStdString()) / "conversations" / kId / "journal.jsonl";
    }
    Conversation read(const QTemporaryDir& folder) const
    {
        auto store = ConversationStore::open(folder.path().toStdString(), "test");
        auto conversation = store->read(kId);
        return conversation ? *conversation : Conversation();
    }

private Q_SLOTS:
    // Ends come at any moment of the write before them.
    void anEndIsNotForgottenWhileWhatWasBeforeItIsWritten()
    {
        constexpr std::size_t kAnswers = 1000;
        const QTemporaryDir folder;
        std::mt19937 random(1);
        {
            ConversationKeeper keeper(folder.path().toStdString(), "test");
            ReplyRecorder recorder(keeper, [](const std::string&, const Error&) { QFAIL("nothing may fail here"); });
            for (std::size_t i = 0; i < kAnswers; ++i) {
                Message answer = emptyAnswer();
                answer.id = "a" + std::to_string(i);
                std::promise<void> appended;
                keeper.append(kId, {messageLine(answer)}, [&appended](const Status&) { appended.set_value(); });
                appended.get_future().wait();
                recorder.expect(kId, answer);
                recorder.handle(ReplyBegan{answer.id});
                std::this_thread::sleep_for(std::chrono::microseconds(random() % 1000));
                ReplyEnded end = ended(ReplyEnded::Reason::Done);
                end.answerId = answer.id;
                recorder.handle(end);
            }
        }
        const Conversation conversation = read(folder);
        QCOMPARE(conversation.messages.size(), kAnswers);
        for (const Message& answer : conversation.messages)
            QCOMPARE(answer.state, MessageState::Done);
    }

    void anAnswerIsOnDiskWithItsStatesAndCalls()
    {
        const QTemporaryDir folder;
        {
            ConversationKeeper keeper(folder.path().toStdString(), "test");
            ReplyRecorder recorder(keeper, [](const std::string&, const Error&) { QFAIL("nothing may fail here"); });
            keeper.append(kId, {messageLine(emptyAnswer())}, [](const Status&) {});
            recorder.expect(kId, emptyAnswer());
            recorder.handle(AnswerStarted{"a"});
            recorder.handle(ReplyBegan{"a"});
            recorder.handle(text("I think", ReplyText::Channel::Thinking));
            recorder.handle(text("The"));
            recorder.handle(text(" answer"));
            ReplyEnded end = ended(ReplyEnded::Reason::Done);
            ToolCall& call = end.calls.emplace_back();
            call.id = "call_1";
            call.name = "look";
            call.arguments = "{}";
            recorder.handle(end);
        }
        const Conversation conversation = read(folder);
        QCOMPARE(conversation.messages.size(), 1U);
        const Message& answer = conversation.messages[0];
        QCOMPARE(answer.state, MessageState::Done);
        QCOMPARE(answer.timings.tokens, 5U);
        QCOMPARE(answer.blocks.size(), 3U);
        QCOMPARE(answer.blocks[0].text, std::string("I think"));
        QCOMPARE(answer.blocks[1].text, std::string("The answer"));
        QCOMPARE(answer.blocks[2].name, std::string("look"));
        QCOMPARE(answer.blocks[2].callId, std::string("call_1"));
    }

    void textIsAtMostASecondBehindAndWrittenAtMostOnceASecond()
    {
        const QTemporaryDir folder;
        ConversationKeeper keeper(folder.path().toStdString(), "test");
        ReplyRecorder recorder(keeper, [](const std::string&, const Error&) {});
        keeper.append(kId, {messageLine(emptyAnswer())}, [](const Status&) {});
        recorder.expect(kId, emptyAnswer());
        recorder.handle(ReplyBegan{"a"});
        QElapsedTimer clock;
        clock.start();
        int words = 0;
        for (; clock.elapsed() < 2500; ++words) {
            recorder.handle(text("word "));
            QTest::qSleep(5);
        }
        QTest::qSleep(1200);
        const std::string bytes = *readFile(journal(folder), 1 << 20);
        std::string kept;
        int lines = 0;
        for (const QByteArray& line : QByteArray::fromStdString(bytes).split('\n')) {
            if (const Json json = Json::parse(line.toStdString(), nullptr, false);
                json.is_object() && json["kind"] == "text") {
                kept += json["text"].get<std::string>();
                ++lines;
            }
        }
        QCOMPARE(kept.size(), static_cast<std::size_t>(words) * 5);
        QVERIFY2(lines >= 2 && lines <= 4, qPrintable(QString("%1 lines").arg(lines)));
    }

    void aContinuedAnswerGrowsItsLastBlock()
    {
        const QTemporaryDir folder;
        {
            ConversationKeeper keeper(folder.path().toStdString(), "test");
            ReplyRecorder recorder(keeper, [](const std::string&, const Error&) {});
            Message answer = emptyAnswer();
            answer.append(Block::Type::Text, "Half a wo");
            keeper.append(kId, {messageLine(answer)}, [](const Status&) {});
            recorder.expect(kId, answer);
            recorder.handle(text("rd."));
            recorder.handle(ended(ReplyEnded::Reason::Stopped));
        }
        const Message answer = read(folder).messages.at(0);
        QCOMPARE(answer.blocks.size(), 1U);
        QCOMPARE(answer.blocks[0].text, std::string("Half a word."));
        QCOMPARE(answer.state, MessageState::Stopped);
    }

    void anAnswerContinuedAtOnceKeepsWhatIsStillOnItsWay()
    {
        const QTemporaryDir folder;
        {
            ConversationKeeper keeper(folder.path().toStdString(), "test");
            ReplyRecorder recorder(keeper, [](const std::string&, const Error&) {});
            keeper.append(kId, {messageLine(emptyAnswer())}, [](const Status&) {});
            keeper.post([] { QTest::qSleep(300); }); // a slow disk
            recorder.expect(kId, emptyAnswer());
            recorder.handle(text("Half a wo"));
            recorder.handle(ended(ReplyEnded::Reason::Stopped));
            Message stopped = emptyAnswer();
            stopped.append(Block::Type::Text, "Half a wo");
            recorder.expect(kId, stopped);
            recorder.handle(text("rd."));
            recorder.handle(ended(ReplyEnded::Reason::Done));
        }
        const Message answer = read(folder).messages.at(0);
        QCOMPARE(answer.textOf(Block::Type::Text), std::string("Half a word."));
        QCOMPARE(answer.state, MessageState::Done);
    }

    void whatAFullDiskRefusedIsWrittenWhenThereIsRoom()
    {
        const QTemporaryDir folder;
        if (QProcess::execute("mount", {"-t", "tmpfs", "-o", "size=128k", "tmpfs", folder.path()}) != 0)
            QSKIP("No small file system could be mounted here, so a disk that fills up was not tried");
        const std::filesystem::path filler = std::filesystem::path(folder.path().toStdString()) / "filler";
        {
            std::atomic<int> failures = 0;
            ConversationKeeper keeper(folder.path().toStdString(), "test");
            ReplyRecorder recorder(keeper, [&](const std::string& answerId, const Error& error) {
                QCOMPARE(answerId, std::string("a"));
                QCOMPARE(error.code, ErrorCode::NoSpace);
                ++failures;
            });
            std::atomic<bool> begun = false;
            keeper.append(kId, {messageLine(emptyAnswer())}, [&](const Status& saved) { begun = saved.has_value(); });
            QTRY_VERIFY(begun);
            std::ignore = replaceFile(filler, std::string(1 << 20, 'x')); // fails, and leaves nothing behind
            while (auto more = JournalFile::open(filler)) {
                if (!more->append(std::string(1024, 'x')))
                    break;
            }
            recorder.expect(kId, emptyAnswer());
            recorder.handle(ReplyBegan{"a"});
            recorder.handle(text(std::string(8192, 'y').c_str()));
            QTRY_VERIFY_WITH_TIMEOUT(failures > 0, 5000);
            recorder.handle(text(" and more"));
            std::filesystem::remove(filler);
            recorder.handle(ended(ReplyEnded::Reason::Done));
        }
        const Message answer = read(folder).messages.at(0);
        QCOMPARE(answer.textOf(Block::Type::Text), std::string(8192, 'y') + " and more");
        QCOMPARE(answer.state, MessageState::Done);
        QProcess::execute("umount", {folder.path()});
    }
};

QTEST_GUILESS_MAIN(TestReplyRecorder)
#include "tst_reply_recorder.moc"
