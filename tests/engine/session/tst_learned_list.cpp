// The hot list that an engine keeps beside its container: saved at the end if asked, used at the next start, and
// never in the way.

#include "session_fixture.h"

#include <QtCore/QTemporaryDir>

#include <fstream>
#include <thread>

using namespace waste;
using namespace waste::test;

class TestLearnedList : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_directory;
    std::filesystem::path m_list; // the container's own
    std::shared_ptr<const Container> m_container;
    std::vector<std::string> m_warnings;

    EngineOptions options() const
    {
        EngineOptions options;
        options.contextTokens = 256;
        options.threadCount = 1;
        options.lookahead = 0;
        options.log = [this](LogLevel level, std::string_view message) {
            if (level == LogLevel::Warning)
                const_cast<TestLearnedList*>(this)->m_warnings.emplace_back(message);
        };
        return options;
    }

    // Statistics after opening, a prompt and a reply; a warm start is given time to end.
    Statistics run(const EngineOptions& options) const
    {
        Result<std::unique_ptr<Engine>> engine = Engine::open(m_container, options);
        if (!engine)
            qFatal("%s", engine.error().message.c_str());
        std::uint64_t readsSeen = UINT64_MAX;
        while (readsSeen != (*engine)->statistics().readsIssued) {
            readsSeen = (*engine)->statistics().readsIssued;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        const std::unique_ptr<Session> session = openSession(**engine);
        if (!session->append(samplePrompt("kl-vq3r-q4g")))
            qFatal("no prompt");
        return (*engine)->statistics();
    }

private Q_SLOTS:
    void init()
    {
        m_warnings.clear();
        m_directory = std::make_unique<QTemporaryDir>();
        const std::filesystem::path copy = m_directory->filePath("copy.waste").toStdString();
        std::filesystem::copy(modelPath("kl-vq3r-q4g"), copy);
        std::filesystem::permissions(copy, std::filesystem::perms::owner_all);
        m_list = copy / "usage.waste";
        m_container = std::move(*Container::open(copy));
    }

    void isSavedOnlyIfAsked()
    {
        run(options());
        QVERIFY(!std::filesystem::exists(m_list));
        EngineOptions learning = options();
        learning.learn = true;
        run(learning);
        QVERIFY(std::filesystem::file_size(m_list) > 16);
        QCOMPARE(m_warnings.size(), std::size_t{0});
    }

    void sparesTheNextRunItsMisses()
    {
        EngineOptions learning = options();
        learning.learn = true;
        const Statistics first = run(learning);
        const Statistics second = run(options());
        QVERIFY(first.expertMisses > 0);
        QCOMPARE(second.expertMisses, 0U);
        QCOMPARE(second.readsIssued, first.readsIssued);
    }

    void canBeAnotherFile()
    {
        EngineOptions learning = options();
        learning.learn = true;
        learning.usageFile = m_directory->filePath("mine").toStdString();
        run(learning);
        QVERIFY(std::filesystem::exists(learning.usageFile) && !std::filesystem::exists(m_list));
        QCOMPARE(m_warnings.size(), std::size_t{1}); // there was none to start with
        QCOMPARE(run(learning).expertMisses, 0U);
        QCOMPARE(m_warnings.size(), std::size_t{1});
    }

    void isNeverInTheWay()
    {
        const Statistics plain = run(options());
        std::ofstream(m_list) << "this is no list";
        const Statistics damaged = run(options());
        QCOMPARE(damaged.expertMisses, plain.expertMisses);
        QCOMPARE(m_warnings.size(), std::size_t{1});
        QVERIFY2(m_warnings[0].find("usage.waste") != std::string::npos, m_warnings[0].c_str());

        EngineOptions learning = options();
        learning.learn = true;
        learning.usageFile = m_directory->filePath("absent/list").toStdString();
        run(learning);
        QVERIFY2(m_warnings.back().find("not saved") != std::string::npos, m_warnings.back().c_str());
    }

    void aFileThatIsSomethingElseIsLeftAsItIs()
    {
        EngineOptions learning = options();
        learning.learn = true;
        learning.usageFile = m_directory->filePath("thesis.txt").toStdString();
        std::ofstream(learning.usageFile) << "Chapter one";
        run(learning);
        QCOMPARE(m_warnings.size(), std::size_t{2});
        QVERIFY2(m_warnings[1].find("left as it is") != std::string::npos, m_warnings[1].c_str());
        std::ifstream file(learning.usageFile);
        std::string line;
        QVERIFY(std::getline(file, line) && line == "Chapter one");

        // The model's own list is ours, damaged or not.
        std::ofstream(m_list) << "this is no list";
        learning.usageFile.clear();
        run(learning);
        QVERIFY(std::filesystem::file_size(m_list) > 16);
    }
};

QTEST_GUILESS_MAIN(TestLearnedList)
#include "tst_learned_list.moc"
