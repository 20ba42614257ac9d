// Small things of the host: where files belong on each kind of system, settings that survive, tasks in order,
// requests and titles made from conversations.

#include "host/chat_request.h"
#include "host/json.h"
#include "host/paths.h"
#include "host/settings_file.h"
#include "host/task_thread.h"
#include "waste/files.h"

#include <QTemporaryDir>
#include <QTest>

#include <nlohmann/json.hpp>

#include <atomic>
#include <fstream>
#include <map>

using namespace waste;
using namespace waste::host;

namespace {

Environment environmentOf(std::map<std::string, std::string> variables)
{
    return [variables](std::string_view name) {
        const auto found = variables.find(std::string(name));
        return found != variables.end() ? found->second : std::string();
    };
}

Message message(const std::string& id, const std::string& parent, Role role, const std::string& text)
{
    Message made;
    made.id = id;
    made.parent = parent;
    made.role = role;
    if (!text.empty())
        made.append(Block::Type::Text, text);
    return made;
}

} // namespace

class TestHostFiles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void foldersFollowTheCustomsOfEachSystem()
    {
#ifdef Q_OS_WIN // what begins with a slash names no drive, and so is not absolute
        const std::filesystem::path root = "C:/";
#else
        const std::filesystem::path root = "/";
#endif
        const auto text = [&](const char* path) { return (root / path).string(); };
        const auto home = environmentOf({{"HOME", text("home/a")}});
        QCOMPARE(dataFolder(PathStyle::Xdg, home), root / "home/a/.local/share/waste");
        QCOMPARE(configurationFolder(PathStyle::Xdg, home), root / "home/a/.config/waste");
        QCOMPARE(dataFolder(PathStyle::MacOs, home), root / "home/a/Library/Application Support/WASTE");
        const auto xdg =
            environmentOf({{"HOME", text("home/a")}, {"XDG_DATA_HOME", text("d")}, {"XDG_CONFIG_HOME", "relative"}});
        QCOMPARE(dataFolder(PathStyle::Xdg, xdg), root / "d/waste");
        QCOMPARE(configurationFolder(PathStyle::Xdg, xdg), root / "home/a/.config/waste");
        QCOMPARE(dataFolder(PathStyle::Windows, environmentOf({{"USERPROFILE", text("u")}})),
            root / "u/AppData/Local/WASTE");
        QVERIFY(dataFolder(PathStyle::Xdg, environmentOf({})).empty());
    }

    void theBuiltInModelLiesBesideTheProgram()
    {
        const QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        std::filesystem::create_directories(root / "bin");
        QVERIFY(!builtInModel(root / "bin"));
        std::filesystem::create_directories(root / "share/waste/k3-mini.waste");
        QVERIFY(!builtInModel(root / "bin")); // a folder without its manifest is no model
        std::ofstream(root / "share/waste/k3-mini.waste/manifest.json") << "{}";
        QCOMPARE(*builtInModel(root / "bin"), root / "share/waste/k3-mini.waste");
    }

    void settingsSurviveAndKeepWhatTheyDoNotKnow()
    {
        const QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        std::ofstream(root / "desktop.json") << R"({"future":[1,2],"zoom":1.5})";
        std::ofstream(root / "config.json") << R"({"effort":"high","zoom":2})";
        auto file = SettingsFile::open(root);
        QVERIFY(file);
        QCOMPARE(file->value("zoom").get<double>(), 1.5);
        QCOMPARE(file->value("effort").get<std::string>(), std::string("high"));
        QVERIFY(file->value("absent").is_null());
        file->set("zoom", 1.25);
        QVERIFY(file->save());
        const auto again = SettingsFile::open(root);
        QCOMPARE(again->value("zoom").get<double>(), 1.25);
        QCOMPARE(again->value("future").size(), 2U);
    }

    void settingsThatCannotBeReadAreLeftAlone()
    {
        const QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        std::ofstream(root / "desktop.json") << "{\"zoom\":";
        const auto file = SettingsFile::open(root);
        QVERIFY(!file);
        QCOMPARE(file.error().code, ErrorCode::Corrupt);
        QCOMPARE(*readFile(root / "desktop.json", 100), std::string("{\"zoom\":"));
    }

    void tasksRunInTheOrderInWhichTheyBecomeDue()
    {
        using namespace std::chrono_literals;
        std::string order;
        {
            TaskThread thread;
            thread.post([&] { order += 'c'; }, 60ms);
            thread.post([&] { order += 'a'; });
            thread.post([&] { order += 'b'; });
            std::atomic<bool> done = false;
            thread.post([&] { done = true; }, 80ms);
            QTRY_VERIFY(done);
            QCOMPARE(order, std::string("abc"));
            thread.post([&] { order += 'd'; }, 1h);
        }
        QCOMPARE(order, std::string("abcd")); // the end does not wait for the hour and does not drop it
    }

    void aTaskThatTriesAgainLaterDoesNotHoldUpTheEnd()
    {
        std::atomic<int> runs = 0;
        {
            std::function<void()> again;
            TaskThread thread;
            again = [&] {
                ++runs;
                thread.post(again, std::chrono::milliseconds(1));
            };
            thread.post(again);
            QTRY_VERIFY(runs > 3);
        }
        QVERIFY(runs > 3);
    }

    void aRequestHasTheBranchAndNoEmptyAnswers()
    {
        Conversation conversation;
        conversation.system = "Be brief.";
        conversation.messages = {message("1", "", Role::User, "Hi"), message("2", "1", Role::Assistant, ""),
            message("3", "2", Role::User, "Again"), message("4", "3", Role::Assistant, "Yes"),
            message("5", "3", Role::Assistant, "No"), message("6", "4", Role::User, "Why?")};
        conversation.messages[3].blocks.insert(conversation.messages[3].blocks.begin(), Block());
        conversation.messages[3].blocks[0].type = Block::Type::Thinking;
        conversation.messages[3].blocks[0].text = "Hm.";
        QCOMPARE(chatTurns(conversation, "6", {}).messages,
            (std::vector<std::string>{R"({"role":"system","content":"Be brief."})", R"({"role":"user","content":"Hi"})",
                R"({"role":"user","content":"Again"})",
                R"({"role":"assistant","content":"Yes","reasoning_content":"Hm."})",
                R"({"role":"user","content":"Why?"})"}));
        QCOMPARE(assistantMessage(conversation.messages[1]), std::string());
    }

    void aQuestionNamesItsPicturesByTheirPlace()
    {
        Block picture;
        picture.type = Block::Type::Image;
        picture.name = "red.png";
        picture.sha256 = std::string(64, 'a');
        Block half = picture;
        half.half = true;
        Block elsewhere = picture; // a journal from somewhere else may name any file
        elsewhere.sha256 = "../../../etc/passwd";
        Conversation conversation;
        conversation.messages = {message("1", "", Role::User, "One?"), message("2", "1", Role::User, "Two?")};
        conversation.messages[0].blocks.insert(conversation.messages[0].blocks.begin(), {picture, elsewhere});
        conversation.messages[1].blocks.insert(conversation.messages[1].blocks.begin(), half);
        const ChatTurns turns = chatTurns(conversation, "2", "kept");
        const auto expected = [](const char* place, const char* text) {
            const Json image{{"type", "image"}, {"image", {{"path", place}}}};
            return Json{{"role", "user"}, {"content", Json::array({image, {{"type", "text"}, {"text", text}}})}};
        };
        QCOMPARE(turns.messages.size(), std::size_t{2});
        QVERIFY(Json::parse(turns.messages[0]) == expected("0", "One?"));
        QVERIFY(Json::parse(turns.messages[1]) == expected("1", "Two?"));
        QCOMPARE(turns.pictures.size(), std::size_t{2});
        QCOMPARE(turns.pictures[0].file, std::filesystem::path("kept") / std::string(64, 'a'));
        QVERIFY(turns.pictures[0].detail == PictureDetail::Full);
        QVERIFY(turns.pictures[1].detail == PictureDetail::Half);
        QCOMPARE(
            chatTurns(conversation, "2", {}).messages.front(), std::string("{\"role\":\"user\",\"content\":\"One?\"}"));
    }

    void titlesAreTheFirstWords_data()
    {
        QTest::addColumn<QString>("question");
        QTest::addColumn<QString>("title");
        QTest::newRow("short") << "Why?"
                               << "Why?";
        QTest::newRow("lines") << "  Write\n\na   poem \n"
                               << "Write a poem";
        QTest::newRow("long") << "Our orders table has grown to two terabytes and we want monthly partitions"
                              << "Our orders table has grown to two terabytes and we want…";
        QTest::newRow("one long word") << QString(100, 'x') << QString(59, 'x') + "…";
        QTest::newRow("long word of wide letters") << QString(100, QChar(0x6F22)) << QString(19, QChar(0x6F22)) + "…";
    }

    void titlesAreTheFirstWords()
    {
        QFETCH(QString, question);
        QFETCH(QString, title);
        QCOMPARE(QString::fromStdString(titleFrom(question.toStdString())), title);
    }
};

QTEST_GUILESS_MAIN(TestHostFiles)
#include "tst_host_files.moc"
