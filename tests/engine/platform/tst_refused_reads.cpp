// Systems that have io_uring and do not let it be used: a filter of system calls on a thread of its own, as sandboxes
// have it, and rings that take no plain reads, as before Linux 5.6.

#include "platform/async_reads.h"
#include "platform/pages.h"
#include "waste/machine_facts.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <cerrno>
#include <thread>

#if defined(__linux__) && __has_include(<liburing.h>)
#include <cstddef>
#include <liburing.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace waste;

namespace {

constexpr std::uint32_t kDepth = 4;
constexpr std::size_t kBlock = kDirectIoAlignment;

bool ringsAreOld = false;

#if defined(__linux__) && __has_include(<liburing.h>)

// Of the calling thread, until it ends.
bool forbidEnteringRings(int answer = EPERM)
{
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_enter, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(answer)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {.len = std::size(filter), .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#else

bool forbidEnteringRings(int = 0)
{
    return false;
}

#endif

} // namespace

#if defined(__linux__) && __has_include(<liburing.h>)

// In place of the library's.
extern "C" int io_uring_queue_init(unsigned entries, io_uring* ring, unsigned flags)
{
    io_uring_params parameters = {};
    parameters.flags = flags | (ringsAreOld ? IORING_SETUP_R_DISABLED : 0);
    const int result = io_uring_queue_init_params(entries, ring, &parameters);
    if (result != 0 || !ringsAreOld)
        return result;
    io_uring_restriction allowed = {};
    allowed.opcode = IORING_RESTRICTION_SQE_OP;
    allowed.sqe_op = IORING_OP_READV;
    syscall(__NR_io_uring_register, ring->ring_fd, IORING_REGISTER_RESTRICTIONS, &allowed, 1);
    return static_cast<int>(syscall(__NR_io_uring_register, ring->ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0));
}

#endif

class TestRefusedReads : public QObject {
    Q_OBJECT

    QTemporaryDir m_directory;
    Pages m_pages;

    DirectFile file() const
    {
        return std::move(*DirectFile::open(m_directory.filePath("file").toStdString(), DirectFile::Access::Direct));
    }
    void start(AsyncReads& reads, const DirectFile& file, std::uint32_t tag) const
    {
        reads.start(file, tag * kBlock, m_pages.bytes().subspan(tag * kBlock, kBlock), tag);
    }

private Q_SLOTS:
    void initTestCase()
    {
        QFile file(m_directory.filePath("file"));
        const QByteArray content(kDepth * kBlock, 'x');
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(content) == content.size());
        m_pages = std::move(*Pages::allocate(kDepth * kBlock, "targets"));
        if (AsyncReads::create(kDepth) == nullptr)
            QSKIP("this system has no asynchronous reads, or forbids them");
        QCOMPARE(MachineFacts::detect().ioUring, MachineFacts::IoUring::Available);
    }

    void aRingThatMayNotBeEnteredIsNotTaken_data()
    {
        QTest::addColumn<int>("answer");
        QTest::newRow("forbidden") << EPERM;
        QTest::newRow("try again, for ever") << EAGAIN;
        QTest::newRow("interrupted, for ever") << EINTR;
        QTest::newRow("busy, for ever") << EBUSY;
    }
    void aRingThatMayNotBeEnteredIsNotTaken()
    {
        QFETCH(const int, answer);
        bool isForbidden = false;
        bool isTaken = true;
        auto facts = MachineFacts::IoUring::Absent;
        std::thread([&] {
            isForbidden = forbidEnteringRings(answer);
            isTaken = AsyncReads::create(kDepth) != nullptr;
            facts = MachineFacts::detect().ioUring;
        }).join();
        if (!isForbidden)
            QSKIP("this system has no filters for system calls");
        QVERIFY(!isTaken);
        QCOMPARE(facts, MachineFacts::IoUring::Refused);
    }

    void aRingWithoutPlainReadsIsNotTaken()
    {
        ringsAreOld = true;
        const bool isTaken = AsyncReads::create(kDepth) != nullptr;
        const auto facts = MachineFacts::detect().ioUring;
        ringsAreOld = false;
        QVERIFY(!isTaken);
        QCOMPARE(facts, MachineFacts::IoUring::Refused);
    }

    void whatIsRefusedLaterComesBackUnread()
    {
        bool isForbidden = false;
        int whole = 0;
        int unread = 0;
        bool wokenByName = false;
        std::thread([&] {
            const DirectFile content = file();
            const auto reads = AsyncReads::create(kDepth);
            const auto waitFor = [&](int count) {
                for (int ended = 0; ended < count;) {
                    for (const AsyncReads::Done& done : reads->wait()) {
                        ++(done.isWhole ? whole : unread);
                        ++ended;
                    }
                }
            };
            for (std::uint32_t tag = 0; tag < kDepth - 1; ++tag)
                start(*reads, content, tag);
            const std::size_t early = reads->wait().size(); // has all of them begun
            whole += static_cast<int>(early);
            isForbidden = forbidEnteringRings();
            if (!isForbidden)
                return;
            start(*reads, content, kDepth - 1);
            waitFor(kDepth - static_cast<int>(early));
            for (int round = 0; round < 100; ++round) { // more than the ring has room for
                start(*reads, content, 0);
                waitFor(1);
            }
            std::thread waker([&] { reads->wake(); });
            wokenByName = reads->wait().empty();
            waker.join();
        }).join();
        if (!isForbidden)
            QSKIP("this system has no filters for system calls");
        QCOMPARE(whole, static_cast<int>(kDepth) - 1);
        QCOMPARE(unread, 101);
        QVERIFY(wokenByName);
    }
};

QTEST_APPLESS_MAIN(TestRefusedReads)
#include "tst_refused_reads.moc"
