// What files mean on Linux and macOS: permissions, links, pipes, and locks that other processes see and leave behind.

#include "platform/atomic_file.h"
#include "platform/direct_file.h"
#include "platform/file_lock.h"
#include "platform/small_file.h"

#include <QTemporaryDir>
#include <QTest>

#include <csignal>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace waste;

class TestPosixFiles : public QObject {
    Q_OBJECT

    QTemporaryDir m_directory;

    std::filesystem::path path(const char* name) const { return m_directory.filePath(name).toStdString(); }

private Q_SLOTS:
    void aPrivateFileIsForItsOwnerAlone()
    {
        QVERIFY(writeFileAtomically(path("secret"), "x", AtomicFile::Permissions::OwnerOnly));
        struct stat facts = {};
        QCOMPARE(stat(path("secret").c_str(), &facts), 0);
        QCOMPARE(facts.st_mode & 0777, mode_t{0600});
    }

    void aLinkStaysAndItsFileIsReplaced()
    {
        QVERIFY(writeFileAtomically(path("settings"), "old"));
        std::filesystem::create_symlink("settings", path("link"));
        QVERIFY(writeFileAtomically(path("link"), "new"));
        QVERIFY(std::filesystem::is_symlink(path("link")));
        QCOMPARE(*readSmallFile(path("settings"), 10), std::string("new"));
    }

    void whatIsNoFileIsNotReplaced()
    {
        std::filesystem::create_directory(path("folder"));
        std::filesystem::create_symlink("/dev/null", path("nothing"));
        for (const char* name : {"folder", "nothing"}) {
            const Status written = writeFileAtomically(path(name), "x");
            QVERIFY(!written);
            QCOMPARE(written.error().code, ErrorCode::InvalidArgument);
            QVERIFY2(written.error().message.find(name) != std::string::npos, written.error().message.c_str());
        }
        QVERIFY(std::filesystem::is_symlink(path("nothing")));
        QVERIFY(std::filesystem::is_empty(path("folder")));
    }

    void aNamedPipeInPlaceOfAFileDoesNotHangTheProgram()
    {
        const auto pipe = path("pipe");
        QCOMPARE(mkfifo(pipe.c_str(), 0600), 0);
        for (const auto access : {DirectFile::Access::Direct, DirectFile::Access::Buffered}) {
            const auto file = DirectFile::open(pipe, access);
            QVERIFY(!file);
            QCOMPARE(file.error().code, ErrorCode::Io);
        }
    }

    void aLockIsBusyForOtherProcesses()
    {
        const auto held = FileLock::acquire(path("held"));
        QVERIFY(held);
        const pid_t child = fork();
        if (child == 0)
            _exit(FileLock::acquire(path("held")) ? 1 : 0);
        int outcome = -1;
        QCOMPARE(waitpid(child, &outcome, 0), child);
        QCOMPARE(outcome, 0);
    }

    void aLockEndsWithAProcessThatIsKilled()
    {
        int ready[2] = {};
        QCOMPARE(pipe(ready), 0);
        const pid_t child = fork();
        if (child == 0) {
            const auto held = FileLock::acquire(path("lock"));
            (void)!write(ready[1], held ? "y" : "n", 1);
            pause();
            _exit(0);
        }
        char answer = 0;
        QCOMPARE(read(ready[0], &answer, 1), ssize_t{1});
        QCOMPARE(answer, 'y');
        QVERIFY(!FileLock::acquire(path("lock")));
        kill(child, SIGKILL);
        QCOMPARE(waitpid(child, nullptr, 0), child);
        QVERIFY(FileLock::acquire(path("lock")));
        close(ready[0]);
        close(ready[1]);
    }
};

QTEST_APPLESS_MAIN(TestPosixFiles)
#include "tst_posix_files.moc"
