// A journal is read as far as it goes, whatever a crash, a disk or a newer version did to it, and compaction
// changes its bytes but nothing that it says.

#include "host/journal_lines.h"
#include "host/journal_reader.h"

#include <QTest>

using namespace waste;
using namespace waste::host;

namespace {

const std::string kEnd = "\n";
const std::string kFirst = R"({"kind":"conversation","schema":1,"id":"c","created_utc":"2026-11-29T15:00:00Z"})" + kEnd;
const std::string kQuestion =
    R"({"kind":"message","seq":1,"time_utc":"2026-11-29T15:00:01Z","id":"q","parent":null,"role":"user","blocks":[{"type":"text","text":"Why?"}],"state":"done"})"
    + kEnd;
const std::string kAnswer =
    R"({"kind":"message","seq":2,"time_utc":"2026-11-29T15:00:02Z","id":"a","parent":"q","role":"assistant","blocks":[],"state":"queued"})"
    + kEnd;

std::string textOf(const std::string& id, int block, const std::string& type, const std::string& text, int sequence)
{
    Json line = textLine(id, static_cast<std::size_t>(block), *blockType(type), text);
    line["seq"] = sequence;
    return line.dump() + "\n";
}

JournalContent readWell(const std::string& bytes)
{
    auto content = readJournal(bytes);
    if (!content)
        qFatal("%s", content.error().message.c_str());
    return std::move(*content);
}

// Everything a conversation says, for comparing two of them.
std::string spoken(const Conversation& conversation)
{
    std::string text = conversation.title + "|" + conversation.leaf + "|";
    for (const Message& message : conversation.messages) {
        text += message.id + "<" + message.parent + std::string(nameOf(message.state)) + message.reason
            + std::to_string(message.timings.tokens) + ":";
        for (const Block& block : message.blocks)
            text += std::string(nameOf(block.type)) + "=" + block.text + ";";
    }
    return text;
}

} // namespace

class TestJournalReader : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsMessagesTextsStatesAndSettings()
    {
        AnswerTimings timings;
        timings.answerMs = 500;
        timings.tokens = 3;
        timings.seed = "7";
        Json state = stateLine("a", MessageState::Done, {}, timings);
        const auto content = readWell(kFirst + kQuestion + kAnswer + textOf("a", 0, "thinking", "Hm", 3)
            + textOf("a", 1, "text", "Bec", 4) + textOf("a", 1, "text", "ause.", 5) + state.dump() + "\n"
            + setLine("title", "Reasons").dump() + "\n");
        const Conversation& conversation = content.conversation;
        QCOMPARE(conversation.title, std::string("Reasons"));
        QCOMPARE(conversation.createdUtc, std::string("2026-11-29T15:00:00Z"));
        QCOMPARE(conversation.messages.size(), 2U);
        const Message& answer = conversation.messages[1];
        QCOMPARE(answer.textOf(Block::Type::Thinking), std::string("Hm"));
        QCOMPARE(answer.textOf(Block::Type::Text), std::string("Because."));
        QCOMPARE(answer.state, MessageState::Done);
        QCOMPARE(answer.timings.tokens, 3U);
        QCOMPARE(answer.timings.seed, std::string("7"));
        QCOMPARE(content.lastSequence, 5U);
        QVERIFY(content.badLines.empty());
    }

    void ignoresATornTail_data()
    {
        QTest::addColumn<QByteArray>("tail");
        QTest::newRow("no line feed") << QByteArray(R"({"kind":"set","title":"x"})");
        QTest::newRow("half a line") << QByteArray("{\"kind\":\"se");
        QTest::newRow("a line that does not parse") << QByteArray("{\"kind\":\"se\n");
        QTest::newRow("zeros") << QByteArray(4096, '\0');
        QTest::newRow("zeros and more lines") << QByteArray("\0\0{\"kind\":\"set\",\"title\":\"x\"}\n", 30);
        QTest::newRow("half a line and zeros") << QByteArray("{\"ki") + QByteArray(100, '\0');
    }

    void ignoresATornTail()
    {
        QFETCH(QByteArray, tail);
        const std::string whole = kFirst + kQuestion;
        const auto content = readWell(whole + tail.toStdString());
        QCOMPARE(content.goodBytes, whole.size());
        QCOMPARE(content.conversation.messages.size(), 1U);
        QCOMPARE(content.conversation.title, std::string());
        QVERIFY(content.badLines.empty());
    }

    void aBadLineInTheMiddleCostsOnlyItself()
    {
        const std::string bad = "{\"kind\":\"message\",\"id\":\n";
        const auto content = readWell(kFirst + kQuestion + bad + kAnswer);
        QCOMPARE(content.conversation.messages.size(), 2U);
        QCOMPARE(content.badLines, bad);
        QCOMPARE(content.conversation.skippedLines.size(), 1U);
        QCOMPARE(content.conversation.skippedLines[0].lineNumber, 3U);
        QCOMPARE(content.conversation.skippedLines[0].messageIndex, 1U);
    }

    void aMessageWhoseParentWasLostStaysInTheConversation()
    {
        const auto content = readWell(kFirst + kQuestion + "garbage\n"
            + R"({"kind":"message","id":"b","parent":"lost","role":"user","blocks":[]})" + kEnd);
        const auto branch = content.conversation.branch();
        QCOMPARE(branch.size(), 2U);
        QCOMPARE(branch[1].message->id, std::string("b"));
    }

    void fieldsOfWrongTypesAreNoMessages_data()
    {
        QTest::addColumn<QByteArray>("line");
        QTest::newRow("no id") << QByteArray(R"({"kind":"message","role":"user","blocks":[]})");
        QTest::newRow("id is a number") << QByteArray(R"({"kind":"message","id":7,"role":"user","blocks":[]})");
        QTest::newRow("unknown role") << QByteArray(R"({"kind":"message","id":"m","role":"king","blocks":[]})");
        QTest::newRow("blocks is text") << QByteArray(R"({"kind":"message","id":"m","role":"user","blocks":"x"})");
        QTest::newRow("twice the same id") << QByteArray(R"({"kind":"message","id":"q","role":"user","blocks":[]})");
        QTest::newRow("text of no message")
            << QByteArray(R"({"kind":"text","id":"z","block":0,"type":"text","text":""})");
        QTest::newRow("block in the distance")
            << QByteArray(R"({"kind":"text","id":"q","block":9,"type":"text","text":""})");
        QTest::newRow("negative block") << QByteArray(R"({"kind":"text","id":"q","block":-1,"type":"text","text":""})");
        QTest::newRow("unknown state") << QByteArray(R"({"kind":"state","id":"q","state":"dancing"})");
        QTest::newRow("no object") << QByteArray("[1,2]");
    }

    void fieldsOfWrongTypesAreNoMessages()
    {
        QFETCH(QByteArray, line);
        const auto content = readWell(kFirst + kQuestion + line.toStdString() + "\n" + kAnswer);
        QCOMPARE(content.conversation.messages.size(), 2U);
        QCOMPARE(content.conversation.skippedLines.size(), 1U);
    }

    void aFolderThatCannotBeReadIsRefusedWithItsReason_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("reason");
        const QByteArray first = QByteArray::fromStdString(kFirst);
        QTest::newRow("empty") << QByteArray() << "first_line";
        QTest::newRow("half a first line") << first.chopped(1) << "first_line";
        QTest::newRow("another first line") << QByteArray::fromStdString(kQuestion) << "first_line";
        QTest::newRow("no schema") << QByteArray("{\"kind\":\"conversation\"}\n") << "first_line";
        QTest::newRow("a line of 16 MiB and more")
            << first + "{\"kind\":\"x\",\"t\":\"" + QByteArray(16 << 20, 'a') + "\"}\n"
            << "long_line";
        QTest::newRow("a last line of 16 MiB and more") << first + QByteArray((16 << 20) + 1, 'a') << "long_line";
        QTest::newRow("65 deep") << first + "{\"kind\":\"x\",\"t\":" + QByteArray(64, '[') + QByteArray(64, ']') + "}\n"
                                 << "deep_line";
        QTest::newRow("a million deep") << first + QByteArray(1'000'000, '[') + "\n"
                                        << "deep_line";
    }

    void aFolderThatCannotBeReadIsRefusedWithItsReason()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, reason);
        const auto content = readJournal(bytes.toStdString());
        QVERIFY(!content);
        QCOMPARE(content.error().code, ErrorCode::Corrupt);
        QCOMPARE(QString::fromStdString(content.error().reason), reason);
    }

    void aLineOf64LevelsAndBracketsInStringsAreFine()
    {
        const auto content = readWell(kFirst + "{\"kind\":\"x\",\"t\":" + std::string(63, '[') + std::string(63, ']')
            + "}\n" + "{\"kind\":\"x\",\"t\":\"" + std::string(500, '[') + "\\\"" + std::string(500, '{') + "\"}\n");
        QVERIFY(content.conversation.skippedLines.empty());
    }

    void aNewerSchemaIsRead()
    {
        const auto content = readWell("{\"kind\":\"conversation\",\"schema\":2,\"id\":\"c\"}\n" + kQuestion);
        QVERIFY(content.conversation.newerSchema);
        QCOMPARE(content.conversation.messages.size(), 1U);
    }

    void compactionSaysTheSameInFewerBytes()
    {
        std::string journal = kFirst + setLine("title", "First").dump() + "\n" + kQuestion + kAnswer;
        for (int i = 0; i < 200; ++i)
            journal += textOf("a", 0, "thinking", "thought " + std::to_string(i), i + 3);
        journal += stateLine("a", MessageState::Answering).dump() + "\n";
        for (int i = 0; i < 200; ++i)
            journal += textOf("a", 1, "text", "word \"" + std::to_string(i) + "\" – ", i + 203);
        AnswerTimings timings;
        timings.tokens = 400;
        journal += stateLine("a", MessageState::Done, {}, timings).dump() + "\n";
        journal += setLine("title", "Second").dump() + "\n" + setLine("leaf", "a").dump() + "\n";
        const std::string compacted = compactJournal(journal);
        QVERIFY(compacted.size() < journal.size() / 2);
        QCOMPARE(spoken(readWell(compacted).conversation), spoken(readWell(journal).conversation));
        QCOMPARE(compactJournal(compacted), compacted);
        QVERIFY(compacted.find("First") == std::string::npos);
        QVERIFY(compacted.find("answering") == std::string::npos);
    }

    void compactionKeepsWhatItDoesNotKnow()
    {
        const std::string unknownKind = R"({"kind":"weather","seq":9,"sun":  true})";
        const std::string unknownField = R"({"kind":"set","title":"T","mood":"calm"})";
        const std::string unknownBlock =
            R"({"kind":"message","id":"v","parent":"q","role":"assistant","blocks":[{"type":"video","url":"x"},{"type":"text","text":"y"}],"state":"done"})";
        const std::string bad = "not json";
        const std::string journal = kFirst + kQuestion + unknownKind + "\n" + unknownField + "\n" + unknownBlock + "\n"
            + bad + "\n" + setLine("title", "U").dump() + "\n" + kAnswer;
        const std::string compacted = compactJournal(journal);
        for (const std::string& kept : {unknownKind, unknownField, unknownBlock, bad})
            QVERIFY2(compacted.find(kept + "\n") != std::string::npos, kept.c_str());
        const auto content = readWell(journal);
        QCOMPARE(content.conversation.find("v")->blocks.size(), 2U);
        QCOMPARE(content.conversation.find("v")->blocks[0].type, Block::Type::Other);
        QCOMPARE(content.conversation.find("v")->textOf(Block::Type::Text), std::string("y"));
    }

    void theBranchFollowsTheLeafAndCountsSiblings()
    {
        auto message = [](const char* id, const char* parent, const char* role) {
            Message m;
            m.id = id;
            m.parent = parent;
            m.role = *host::role(role);
            return messageLine(m).dump() + "\n";
        };
        std::string journal = kFirst + message("q", "", "user") + message("a1", "q", "assistant")
            + message("a2", "q", "assistant") + message("q2", "a1", "user") + message("a3", "q2", "assistant");
        Conversation conversation = readWell(journal).conversation;
        QCOMPARE(conversation.branch().back().message->id, std::string("a3"));
        conversation = readWell(journal + setLine("leaf", "a2").dump() + "\n").conversation;
        const auto branch = conversation.branch();
        QCOMPARE(branch.size(), 2U);
        QCOMPARE(branch[1].message->id, std::string("a2"));
        QCOMPARE(branch[1].siblingIndex, 1U);
        QCOMPARE(branch[1].siblingCount, 2U);
        const Message* sibling = conversation.sibling(*conversation.find("a2"), -1);
        QCOMPARE(sibling->id, std::string("a1"));
        QCOMPARE(conversation.newestBelow(*sibling).id, std::string("a3"));
        QVERIFY(conversation.sibling(*sibling, -1) == nullptr);
    }
};

QTEST_APPLESS_MAIN(TestJournalReader)
#include "tst_journal_reader.moc"
