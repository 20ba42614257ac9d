// What a machine that is short of memory does to a run, and who hears of it.

#include "platform/system_memory.h"
#include "session/paging_watch.h"
#include "session_fixture.h"

#include <QTemporaryDir>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

using namespace waste;
using namespace waste::test;

namespace {

#if defined(__linux__)
// Pages of a file that are not in memory, which is what pages of a program are that were moved to a drive.
class ColdPages {
public:
    explicit ColdPages(const QString& file)
        : m_file(open(file.toUtf8().constData(), O_RDWR | O_CREAT, 0600))
    {
        const std::string zeros(kBytes, '\0');
        if (m_file < 0 || write(m_file, zeros.data(), zeros.size()) != static_cast<ssize_t>(kBytes)
            || fsync(m_file) != 0)
            return;
        void* const pages = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, m_file, 0);
        m_pages = pages == MAP_FAILED ? nullptr : static_cast<volatile char*>(pages);
    }
    ~ColdPages()
    {
        if (m_pages != nullptr)
            munmap(const_cast<char*>(m_pages), kBytes);
        if (m_file >= 0)
            close(m_file);
    }
    ColdPages(const ColdPages&) = delete;
    ColdPages& operator=(const ColdPages&) = delete;

    // Waits for as many as it returns.
    std::uint64_t touch()
    {
        if (m_pages == nullptr)
            return 0;
        const std::uint64_t before = majorFaults();
        void* const pages = const_cast<char*>(m_pages);
        madvise(pages, kBytes, MADV_DONTNEED);
        posix_fadvise(m_file, 0, static_cast<off_t>(kBytes), POSIX_FADV_DONTNEED);
        madvise(pages, kBytes, MADV_RANDOM);
        for (std::size_t i = 0; i < kBytes; i += 4096)
            (void)m_pages[i];
        return majorFaults() - before;
    }

private:
    static constexpr std::size_t kBytes = std::size_t{200} * 4096;
    int m_file;
    volatile char* m_pages = nullptr;
};
#endif

} // namespace

class TestPagingWatch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void fourTokensInARowBeginItAndFourEndIt()
    {
        PagingWatch watch;
        watch.begin(1000); // what happened before does not count
        std::uint64_t faults = 1000;
        const auto token = [&](std::uint64_t count) {
            faults += count;
            const std::uint64_t seen = watch.add(faults);
            return seen == count && watch.isPaging();
        };
        for (const std::uint64_t count : {64, 5000, 64})
            QVERIFY(!token(count));
        QVERIFY(!token(63)); // begins anew
        for (const std::uint64_t count : {64, 64, 64})
            QVERIFY(!token(count));
        QVERIFY(token(64));
        for (const std::uint64_t count : {0, 63, 0})
            QVERIFY(token(count));
        QVERIFY(token(64));
        for (const std::uint64_t count : {0, 0, 0})
            QVERIFY(token(count));
        QVERIFY(!token(0));
    }

    void aRunOnAMachineThatPagesSaysSoOnceAndNamesASmallerBudget()
    {
#if defined(__linux__)
        const QTemporaryDir folder(QDir::currentPath() + "/paging-XXXXXX");
        ColdPages pages(folder.filePath("pages"));
        if (pages.touch() < 100)
            QSKIP("the file system here keeps its files in memory");
        std::vector<std::string> warnings;
        const std::string model = "kl-vq3r-q4g";
        EngineOptions options;
        options.contextTokens = 512;
        options.log = [&](LogLevel level, std::string_view message) {
            if (level == LogLevel::Warning)
                warnings.emplace_back(message);
        };
        const auto engine = Engine::open(openModel(model), options);
        WASTE_VERIFY_OK(engine);
        const std::unique_ptr<Session> session = openSession(**engine);
        WASTE_VERIFY_OK(session->append(samplePrompt(model)));
        std::vector<bool> paging;
        GenerateOptions generate;
        generate.tokensMax = 24;
        WASTE_VERIFY_OK(session->generate(generate, [&](const TokenEvent& event) {
            paging.push_back(event.isPaging);
            if (event.index < 6 || (event.index >= 14 && event.index < 20))
                pages.touch(); // before the next token
            return TokenAction::Continue;
        }));
        for (std::size_t i = 0; i < paging.size(); ++i)
            QCOMPARE(bool(paging[i]), (i >= 4 && i < 10) || i >= 18);
        QCOMPARE(paging.size(), std::size_t{24});
        const auto ours = [](const std::string& text) {
            return text.find("this machine is paging: the last token") == 0;
        };
        QCOMPARE(std::count_if(warnings.begin(), warnings.end(), ours), std::ptrdiff_t{1});
        QVERIFY(
            std::find_if(warnings.begin(), warnings.end(), ours)->find("with a RAM budget of ") != std::string::npos);
#else
        QSKIP("files are pushed out of memory on Linux alone");
#endif
    }
};

QTEST_GUILESS_MAIN(TestPagingWatch)
#include "tst_paging_watch.moc"
