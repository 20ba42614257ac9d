// What files mean on Windows: replaced and removed while they are read, long names, and locks that other processes see
// and leave behind.

#include "platform/atomic_file.h"
#include "platform/direct_file.h"
#include "platform/file_facts.h"
#include "platform/file_lock.h"
#include "platform/path_text.h"
#include "platform/small_file.h"
#include "platform/windows_api.h"

#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <cstdio>

using namespace waste;

namespace {

// What this program does as the other process.
int holdLock(const char* file)
{
    const auto held = FileLock::acquire(file);
    std::puts(held ? "held" : held.error().reason.c_str());
    std::fflush(stdout);
    if (held)
        std::getchar(); // until it is killed, or its input ends
    return 0;
}

bool isWine()
{
    return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr;
}

} // namespace

class TestWindowsFiles : public QObject {
    Q_OBJECT

    QTemporaryDir m_directory;

    std::filesystem::path path(const char* name) const
    {
        return pathFromText(m_directory.filePath(QString::fromUtf8(name)).toStdString());
    }

    static QByteArray startOther(QProcess& process, const std::filesystem::path& file)
    {
        process.start(QCoreApplication::applicationFilePath(),
            {QStringLiteral("--hold"), QString::fromStdString(textFromPath(file))});
        process.waitForReadyRead(-1);
        return process.readLine().trimmed();
    }

private Q_SLOTS:
    void aFileIsReplacedWhileSomebodyReadsIt()
    {
        QVERIFY(writeFileAtomically(path("settings"), "old"));
        const auto reader = DirectFile::open(path("settings"), DirectFile::Access::Buffered);
        QVERIFY(reader);
        const Status replaced = writeFileAtomically(path("settings"), "new");
        if (!replaced && isWine())
            QSKIP("Wine 8 replaces no open file");
        QVERIFY2(replaced, replaced ? "" : replaced.error().message.c_str());
        std::array<std::byte, 3> text{};
        QVERIFY(reader->readExactly(0, text));
        QCOMPARE(std::string(reinterpret_cast<const char*>(text.data()), text.size()), std::string("old"));
        QCOMPARE(*readSmallFile(path("settings"), 10), std::string("new"));
    }

    void aFileIsRemovedWhileSomebodyReadsIt()
    {
        QVERIFY(writeFileAtomically(path("bank"), "12345"));
        const auto reader = DirectFile::open(path("bank"), DirectFile::Access::Direct);
        QVERIFY(reader);
        std::error_code error;
        QVERIFY(std::filesystem::remove(path("bank"), error));
    }

    void pathsMayBeLongAndOfAnyCharacters()
    {
        std::filesystem::path folder = path("");
        while (folder.native().size() < 400) {
            folder /= L"M\u00f6bel \u4f60\u597d 0123456789 0123456789";
            const std::wstring plain = LR"(\\?\)" + std::filesystem::path(folder).make_preferred().native();
            QVERIFY(CreateDirectoryW(plain.c_str(), nullptr));
        }
        const Status written = writeFileAtomically(folder / L"\u00e4.bin", "content");
        QVERIFY2(written, written ? "" : written.error().message.c_str());
        QCOMPARE(*readSmallFile(folder / L"\u00e4.bin", 10), std::string("content"));
        const auto facts = fileFacts(folder / L"\u00e4.bin");
        QVERIFY(facts);
        QCOMPARE(facts->bytes, std::uint64_t{7});
        const auto missing = readSmallFile(folder / L"\u00fc.bin", 10);
        QVERIFY(!missing);
        QCOMPARE(missing.error().code, ErrorCode::NotFound);
        QVERIFY(missing.error().message.find("\xC3\xBC.bin") != std::string::npos); // in UTF-8
    }

    void factsAreThoseOfTheFile()
    {
        QVERIFY(writeFileAtomically(path("one"), "123456"));
        QVERIFY(CreateHardLinkW(path("two").c_str(), path("one").c_str(), nullptr));
        const auto facts = fileFacts(path("one"));
        QVERIFY(facts);
        QVERIFY(facts->isRegular);
        QCOMPARE(facts->bytes, std::uint64_t{6});
        QCOMPARE(facts->linkCount, std::uint64_t{2});
        const QFileInfo same(m_directory.filePath(QStringLiteral("one")));
        QCOMPARE(facts->modifiedNs / 1'000'000, same.lastModified().toMSecsSinceEpoch());

        const auto folder = fileFacts(path(""));
        QVERIFY(folder);
        QVERIFY(!folder->isRegular);
        QCOMPARE(fileFacts(path("none")).error().code, ErrorCode::NotFound);
        QVERIFY(isSameVolume(path("one"), path("")));
        QVERIFY(!isSameVolume(path("one"), path("none")));
    }

    void aLockIsBusyForOtherProcessesAndEndsWithOneThatIsKilled()
    {
        QProcess holder;
        QCOMPARE(startOther(holder, path("lock")), QByteArray("held"));
        const auto here = FileLock::acquire(path("lock"));
        QVERIFY(!here);
        QCOMPARE(here.error().code, ErrorCode::Busy);
        QProcess late;
        QCOMPARE(startOther(late, path("lock")), QByteArray("busy"));
        QVERIFY(late.waitForFinished(-1));

        holder.kill();
        QVERIFY(holder.waitForFinished(-1));
        QVERIFY(FileLock::acquire(path("lock")));
    }
};

int main(int argc, char** argv)
{
    if (argc == 3 && std::string_view(argv[1]) == "--hold")
        return holdLock(argv[2]);
    const QCoreApplication application(argc, argv);
    TestWindowsFiles tests;
    return QTest::qExec(&tests, argc, argv);
}

#include "tst_windows_files.moc"
