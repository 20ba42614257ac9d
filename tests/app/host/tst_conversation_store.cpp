// The store on a real disk: what was acknowledged survives a killed process, only one program writes, a bad
// folder never hides the good ones, a full disk is reported and costs nothing that was there.
//
// The program runs itself with WASTE_TEST_WRITER set as the process that is killed.

#include "host/conversation_keeper.h"
#include "host/conversation_store.h"
#include "host/journal_lines.h"
#include "waste/files.h"

#include <QProcess>
#include <QRandomGenerator>
#include <QTemporaryDir>
#include <QTest>

#include <cstdio>
#include <fstream>

using namespace waste;
using namespace waste::host;

namespace {

std::filesystem::path pathOf(const QTemporaryDir& folder)
{
    return folder.path().toStdString();
}

Message question(const std::string& id, const std::string& text)
{
    Message message;
    message.id = id;
    message.append(Block::Type::Text, text);
    return message;
}

std::string idOf(const char* suffix)
{
    return std::string("20261129T150000Z-") + suffix;
}

std::filesystem::path journalOf(const QTemporaryDir& folder, const std::string& id)
{
    return pathOf(folder) / "conversations" / id / "journal.jsonl";
}

void write(const std::filesystem::path& path, const std::string& bytes)
{
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
}

// Appends numbered texts for ever, and says each number when it is on disk.
int writeUntilKilled(const char* folder)
{
    auto store = ConversationStore::open(folder, "writer");
    auto journal = store->openForWriting(idOf("abcdef"));
    if (!journal && journal.error().code == ErrorCode::NotFound)
        journal = store->create(idOf("abcdef"));
    if (!journal)
        return 1;
    if (journal->conversation().messages.empty() && !journal->append(std::vector{messageLine(question("m", ""))}))
        return 1;
    std::size_t number = journal->conversation().find("m")->textOf(Block::Type::Text).size();
    while (journal->append(std::vector{textLine("m", 0, Block::Type::Text, "x")})) {
        std::printf("%zu\n", ++number);
        std::fflush(stdout);
    }
    return 1;
}

} // namespace

class TestConversationStore : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void keepsWhatWasAppended()
    {
        const QTemporaryDir folder;
        auto store = ConversationStore::open(pathOf(folder), "test");
        QVERIFY(store);
        const std::string id = newConversationId();
        {
            auto journal = store->create(id);
            QVERIFY(journal);
            QVERIFY(journal->append(std::vector{
                setLine("title", "Grüße"), messageLine(question("m", "Hallo\n\"Welt\" \xF0\x9F\x98\x80"))}));
            QCOMPARE(journal->conversation().messages.size(), 1U);
        }
        const auto conversation = store->read(id);
        QVERIFY(conversation);
        QCOMPARE(conversation->title, std::string("Grüße"));
        QCOMPARE(conversation->messages[0].textOf(Block::Type::Text), std::string("Hallo\n\"Welt\" \xF0\x9F\x98\x80"));
        const auto list = store->list();
        QVERIFY(list);
        QCOMPARE(list->size(), 1U);
        QCOMPARE(list->front().title, std::string("Grüße"));
        QCOMPARE(list->front().messageCount, 1U);
#ifndef Q_OS_WIN // where the folder of a user's own is private
        const auto permissions = std::filesystem::status(journalOf(folder, id)).permissions();
        QCOMPARE(permissions & std::filesystem::perms::all,
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
#endif
    }

    void aKilledWriterLosesAtMostTheLineInFlight()
    {
        const QTemporaryDir folder;
        QRandomGenerator random(20261129);
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert("WASTE_TEST_WRITER", folder.path());
        std::size_t acknowledgedInAll = 0;
        for (int round = 0; round < 15; ++round) {
            QProcess writer;
            writer.setProcessEnvironment(environment);
            writer.start(QCoreApplication::applicationFilePath(), {});
            QVERIFY(writer.waitForReadyRead(20'000));
            QTest::qWait(random.bounded(1, 60));
            writer.kill(); // SIGKILL
            writer.waitForFinished();
            const QList<QByteArray> numbers = writer.readAllStandardOutput().split('\n');
            QVERIFY(numbers.size() >= 2); // the last one is empty or cut
            const std::size_t acknowledged = numbers.at(numbers.size() - 2).toULongLong();
            auto store = ConversationStore::open(pathOf(folder), "test");
            const auto conversation = store->read(idOf("abcdef"));
            QVERIFY(conversation);
            const std::size_t kept = conversation->find("m")->textOf(Block::Type::Text).size();
            QVERIFY2(kept == acknowledged || kept == acknowledged + 1,
                qPrintable(QString("%1 acknowledged, %2 kept").arg(acknowledged).arg(kept)));
            QVERIFY(conversation->skippedLines.empty());
            acknowledgedInAll = acknowledged;
        }
        QVERIFY(acknowledgedInAll > 15);
    }

    void aTornTailIsCutOffBeforeTheNextAppend()
    {
        const QTemporaryDir folder;
        auto store = ConversationStore::open(pathOf(folder), "test");
        const std::string id = idOf("000001");
        QVERIFY(store->create(id)->append(std::vector{messageLine(question("m", "a"))}));
        std::ofstream(journalOf(folder, id), std::ios::app | std::ios::binary)
            << "{\"kind\":\"mess" << std::string(10, '\0');
        QVERIFY(store->openForWriting(id)->append(std::vector{messageLine(question("n", "b"))}));
        const auto conversation = store->read(id);
        QCOMPARE(conversation->messages.size(), 2U);
        QVERIFY(conversation->skippedLines.empty());
    }

    void badLinesAreKeptInQuarantineOnce()
    {
        const QTemporaryDir folder;
        auto store = ConversationStore::open(pathOf(folder), "test");
        const std::string id = idOf("000002");
        QVERIFY(store->create(id)->append(std::vector{messageLine(question("m", "a"))}));
        std::ofstream(journalOf(folder, id), std::ios::app | std::ios::binary)
            << "broken line\n{\"kind\":\"set\",\"title\":\"T\"}\n";
        for (int i = 0; i < 2; ++i)
            QVERIFY(store->openForWriting(id)->append(std::vector{setLine("pinned", true)}));
        int kept = 0;
        for (const auto& entry : std::filesystem::directory_iterator(pathOf(folder) / "quarantine")) {
            if (entry.path().extension() == ".jsonl") {
                ++kept;
                QCOMPARE(*readFile(entry.path(), 1000), std::string("broken line\n"));
            }
        }
        QCOMPARE(kept, 1);
        QCOMPARE(store->read(id)->title, std::string("T"));
    }

    void onlyOneWritesAndTheOthersLearnWho()
    {
        const QTemporaryDir folder;
        auto window = ConversationStore::open(pathOf(folder), "WASTE Desktop");
        auto terminal = ConversationStore::open(pathOf(folder), "waste chat");
        const std::string id = idOf("000003");
        {
            auto journal = window->create(id);
            QVERIFY(journal->append(std::vector{messageLine(question("m", "a"))}));
            auto second = terminal->openForWriting(id);
            QVERIFY(!second);
            QCOMPARE(second.error().code, ErrorCode::Busy);
            QVERIFY(QString::fromStdString(second.error().message).startsWith("WASTE Desktop"));
            QVERIFY(terminal->read(id));
        }
        QVERIFY(terminal->openForWriting(id));
    }

    // Somebody holds the lock and has not written a name yet.
    void whoHasFinishedIsNotNamedForWhoCameNext()
    {
        const QTemporaryDir folder;
        auto store = ConversationStore::open(pathOf(folder), "waste run (process 1)");
        const std::string id = idOf("00000a");
        QVERIFY(store->create(id)->append(std::vector{messageLine(question("m", "a"))}));
        const auto next = HeldLock::acquire(journalOf(folder, id).parent_path() / "lock");
        QVERIFY(next);
        const auto busy = store->openForWriting(id);
        QVERIFY(!busy);
        QCOMPARE(busy.error().message, std::string("another program is writing this conversation"));
    }

    void aRunningAnswerWithoutAWriterWasInterrupted()
    {
        const QTemporaryDir folder;
        auto store = ConversationStore::open(pathOf(folder), "test");
        const std::string id = idOf("000004");
        {
            auto journal = store->create(id);
            Message answer;
            answer.id = "a";
            answer.role = Role::Assistant;
            answer.state = MessageState::Queued;
            QVERIFY(journal->append(std::vector{messageLine(answer), stateLine("a", MessageState::Answering)}));
            QCOMPARE(store->read(id)->messages[0].state, MessageState::Answering);
            QCOMPARE(store->list()->front().lastState, MessageState::Answering);
        }
        QCOMPARE(store->read(id)->messages[0].state, MessageState::Interrupted);
        QCOMPARE(store->list()->front().lastState, MessageState::Interrupted);
        QCOMPARE(store->openForWriting(id)->conversation().messages[0].state, MessageState::Interrupted);
    }

    void aNewerSchemaCanOnlyBeRead()
    {
        const QTemporaryDir folder;
        const std::string id = idOf("000005");
        write(journalOf(folder, id), "{\"kind\":\"conversation\",\"schema\":2,\"id\":\"x\"}\n{\"kind\":\"poem\"}\n");
        auto store = ConversationStore::open(pathOf(folder), "test");
        // It has no message that this version knows, but it was begun.
        QVERIFY(store->read(id));
        const auto journal = store->openForWriting(id);
        QVERIFY(!journal);
        QCOMPARE(journal.error().code, ErrorCode::Unsupported);
        QVERIFY(journal.error().message.find("newer version") != std::string::npos);
    }

    void aBadFolderIsPutAsideAndTheOthersOpen()
    {
        const QTemporaryDir folder;
        {
            auto store = ConversationStore::open(pathOf(folder), "test");
            QVERIFY(store->create(idOf("000006"))->append(std::vector{messageLine(question("m", "a"))}));
        }
        write(journalOf(folder, idOf("00dead")), "no journal\n");
        write(pathOf(folder) / "conversations" / idOf("00beef") / "draft.json", "{}");
        auto store = ConversationStore::open(pathOf(folder), "test");
        QVERIFY(store);
        QCOMPARE(store->list()->size(), 1U);
        QCOMPARE(store->putAside().size(), 2U);
        for (const PutAside& aside : store->putAside()) {
            QVERIFY(std::filesystem::is_directory(aside.folder));
            QVERIFY(std::filesystem::is_regular_file(std::filesystem::path(aside.folder) += ".txt"));
        }
    }

    void aJournalThatCannotBeOpenedIsNamedAndStaysWhereItIs()
    {
        const QTemporaryDir folder;
        const auto journal = journalOf(folder, idOf("00f1f0"));
        std::filesystem::create_directories(journal); // a folder in place of the file
        auto store = ConversationStore::open(pathOf(folder), "test");
        QVERIFY(store);
        QVERIFY(store->list()->empty());
        QCOMPARE(store->putAside().size(), 1U); // once, however often the list is read
        QVERIFY(!store->putAside()[0].moved);
        QVERIFY(!store->putAside()[0].why.empty());
        QVERIFY(std::filesystem::exists(journal));
    }

    void aDamagedIndexIsRebuilt()
    {
        const QTemporaryDir folder;
        const std::string id = idOf("000007");
        {
            auto store = ConversationStore::open(pathOf(folder), "test");
            QVERIFY(store->create(id)->append(std::vector{setLine("title", "T"), messageLine(question("m", "a"))}));
            QVERIFY(store->list());
        }
        const auto index = pathOf(folder) / "conversations" / "index.json";
        QVERIFY(std::filesystem::exists(index));
        for (const char* damage : {"", "[]", "{\"schema\":1,\"conversations\":[{\"id\":7}]}", "{"}) {
            write(index, damage);
            auto store = ConversationStore::open(pathOf(folder), "test");
            QCOMPARE(store->list()->front().title, std::string("T"));
        }
        // And it is believed only as long as the journal is what it was.
        auto store = ConversationStore::open(pathOf(folder), "test");
        QVERIFY(store->openForWriting(id)->append(std::vector{setLine("title", "U")}));
        QCOMPARE(ConversationStore::open(pathOf(folder), "test")->list()->front().title, std::string("U"));
    }

    void draftsComeBackAndDeletedConversationsGoAtTheNextStart()
    {
        const QTemporaryDir folder;
        const std::string typed = idOf("000008");
        const std::string deleted = idOf("000009");
        const std::string empty = idOf("00000a");
        {
            auto store = ConversationStore::open(pathOf(folder), "test");
            for (const std::string& id : {typed, deleted, empty})
                QVERIFY(store->create(id));
            Block picture;
            picture.type = Block::Type::Image;
            picture.sha256 = "abc";
            picture.half = true;
            picture.positions = 12;
            QVERIFY(store->saveDraft(typed, {.text = "half a thought", .attachments = {picture}}));
            QVERIFY(store->openForWriting(deleted)->append(
                std::vector{messageLine(question("m", "a")), setLine("deleted", true)}));
            QCOMPARE(store->list()->size(), 2U);
        }
        auto store = ConversationStore::open(pathOf(folder), "test");
        QCOMPARE(store->draft(typed)->text, std::string("half a thought"));
        QCOMPARE(store->draft(typed)->attachments.size(), std::size_t{1});
        QCOMPARE(store->draft(typed)->attachments[0].sha256, std::string("abc"));
        QVERIFY(store->draft(typed)->attachments[0].half);
        QCOMPARE(store->draft(typed)->attachments[0].positions, 12U);
        QVERIFY(!std::filesystem::exists(journalOf(folder, deleted)));
        QVERIFY(!std::filesystem::exists(journalOf(folder, empty)));
        QVERIFY(store->saveDraft(typed, {}));
        QVERIFY(store->draft(typed)->isEmpty());
    }

    void attachmentsAreKeptOnceUnderTheirDigest()
    {
        const QTemporaryDir folder;
        auto store = ConversationStore::open(pathOf(folder), "test");
        const std::string id = idOf("00000b");
        QVERIFY(store->create(id));
        const auto name = store->addAttachment(id, "abc");
        QCOMPARE(*name, std::string("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        QCOMPARE(*store->addAttachment(id, "abc"), *name);
        QCOMPARE(*readFile(store->attachment(id, *name), 100), std::string("abc"));
    }

    void namesThatLeaveTheFolderAreNoConversations()
    {
        const QTemporaryDir folder;
        auto store = ConversationStore::open(pathOf(folder), "test");
        for (const char* id : {"", ".", "..", "../../etc", "20261129T150000Z-ABCDEF", "20261129T150000Z-abcdef/.."}) {
            QVERIFY(!store->read(id));
            QVERIFY(!store->create(id));
            QVERIFY(!store->saveDraft(id, {.text = "x"}));
        }
    }

    void compactionHappensWhenItSavesHalfAndAMebibyte()
    {
        const QTemporaryDir folder;
        auto store = ConversationStore::open(pathOf(folder), "test");
        const std::string id = idOf("00000c");
        auto journal = store->create(id);
        QVERIFY(journal->append(std::vector{messageLine(question("m", "a"))}));
        std::vector<Json> lines;
        for (int i = 0; i < 20'000; ++i)
            lines.push_back(textLine("m", 0, Block::Type::Text, "word "));
        QVERIFY(journal->append(lines));
        const auto before = std::filesystem::file_size(journalOf(folder, id));
        QVERIFY(before > (2U << 20));
        QVERIFY(journal->compact());
        QVERIFY(std::filesystem::file_size(journalOf(folder, id)) < before / 10);
        QVERIFY(journal->append(std::vector{textLine("m", 0, Block::Type::Text, "end")}));
        const auto conversation = store->read(id);
        QCOMPARE(conversation->messages[0].textOf(Block::Type::Text).size(), std::size_t{1 + 5 * 20'000 + 3});
    }

    void aFullDiskIsReportedAndCostsNothing()
    {
        const QTemporaryDir mountPoint;
        if (QProcess::execute("mount", {"-t", "tmpfs", "-o", "size=256k", "tmpfs", mountPoint.path()}) != 0)
            QSKIP("No small file system could be mounted here, so a disk that fills up was not tried");
        {
            auto store = ConversationStore::open(pathOf(mountPoint), "test");
            QVERIFY(store);
            auto journal = store->create(idOf("00000d"));
            QVERIFY(journal);
            QVERIFY(journal->append(std::vector{messageLine(question("m", "kept"))}));
            const auto sizeBefore = std::filesystem::file_size(journalOf(mountPoint, journal->id()));
            const Status refused = journal->append(std::vector{messageLine(question("n", std::string(400'000, 'x')))});
            QVERIFY(!refused);
            QCOMPARE(refused.error().code, ErrorCode::NoSpace);
            QVERIFY(QString::fromStdString(refused.error().message).startsWith("the conversation could not be saved"));
            QCOMPARE(journal->conversation().messages.size(), 1U);
            QCOMPARE(std::filesystem::file_size(journalOf(mountPoint, journal->id())), sizeBefore);
            QVERIFY(journal->append(std::vector{messageLine(question("o", "fits"))}));
            QVERIFY(!store->saveDraft(journal->id(), {.text = std::string(400'000, 'x')}));
            QCOMPARE(store->read(journal->id())->messages.size(), 2U);
        }
        QProcess::execute("umount", {mountPoint.path()});
    }

    void aMessageOverTheLimitOfALineIsRefused()
    {
        const QTemporaryDir folder;
        auto store = ConversationStore::open(pathOf(folder), "test");
        auto journal = store->create(idOf("00000e"));
        const Status refused = journal->append(std::vector{messageLine(question("m", std::string(17 << 20, 'x')))});
        QVERIFY(!refused);
        QCOMPARE(refused.error().code, ErrorCode::InvalidArgument);
        QVERIFY(journal->conversation().messages.empty());
    }
};

int main(int argc, char** argv)
{
    if (const QByteArray folder = qgetenv("WASTE_TEST_WRITER"); !folder.isEmpty())
        return writeUntilKilled(folder.constData());
    QCoreApplication application(argc, argv);
    TestConversationStore test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_conversation_store.moc"
