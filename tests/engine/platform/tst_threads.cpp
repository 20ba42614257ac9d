// What is asked of CPUs and threads, compared with what the system itself reports.

#include "platform/cpu_features.h"
#include "platform/threads.h"

#include <QFile>
#include <QSet>
#include <QSysInfo>
#include <QTest>
#include <QVersionNumber>

#include <array>
#include <optional>
#include <thread>

using namespace waste;

class TestThreads : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void coresAreAtMostCpus()
    {
        QVERIFY(physicalCoreCount() >= 1);
        QVERIFY(physicalCoreCount() <= logicalCpuCount());
    }

    void aThreadCanBeNamedAndBound()
    {
#if defined(__linux__)
        std::string name;
        std::vector<std::uint32_t> usable;
        bool bound = false;
        std::thread([&] {
            nameCurrentThread("waste reader with a long name");
            lowerCurrentThreadPriority();
            QFile comm("/proc/thread-self/comm");
            if (comm.open(QIODevice::ReadOnly))
                name = comm.readAll().trimmed().toStdString();
            cpu_set_t set;
            pthread_getaffinity_np(pthread_self(), sizeof(set), &set);
            for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
                if (CPU_ISSET(cpu, &set))
                    usable.push_back(cpu);
            }
            const std::array<std::uint32_t, 1> last = {usable.back()};
            bound = bindCurrentThread(last).has_value();
            pthread_getaffinity_np(pthread_self(), sizeof(set), &set);
            bound = bound && CPU_COUNT(&set) == 1 && CPU_ISSET(usable.back(), &set);
        }).join();
        QCOMPARE(name, std::string("waste reader wi"));
        QVERIFY(bound);
#else
        QSKIP("checked on Linux");
#endif
    }

    void aCpuThatDoesNotExistIsRefused()
    {
        for (const std::uint32_t cpu : {1023U, 5000U}) {
            const std::array<std::uint32_t, 1> list = {cpu};
            const Status status = bindCurrentThread(list);
            if (cpu < 1024 && status)
                QSKIP("a machine with 1024 CPUs");
            QVERIFY(!status);
            QVERIFY(status.error().code == ErrorCode::InvalidArgument || status.error().code == ErrorCode::Unsupported);
        }
        QVERIFY(!bindCurrentThread({}));
    }

    void cpusAreCheckedAgainstThoseThatThisThreadMayUse()
    {
#if defined(__linux__)
        cpu_set_t whole;
        QCOMPARE(pthread_getaffinity_np(pthread_self(), sizeof(whole), &whole), 0);
        std::vector<std::uint32_t> usable;
        for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &whole))
                usable.push_back(cpu);
        QVERIFY(checkCpus(usable));
        QVERIFY(checkCpus({}));
        const std::array<std::uint32_t, 2> beyond = {usable.front(), 5000};
        const Status missing = checkCpus(beyond);
        QVERIFY(!missing);
        QCOMPARE(missing.error().code, ErrorCode::InvalidArgument);
        QVERIFY2(missing.error().message.starts_with("there is no CPU 5000 for this program; it may use "),
            missing.error().message.c_str());
        if (usable.size() < 2)
            QSKIP("one CPU is all there is here");

        // There, but not allowed: in a thread of its own, whose restriction ends with it.
        const std::array<std::uint32_t, 1> last = {usable.back()};
        Status forbidden;
        Status allowed;
        std::thread([&] {
            const std::array<std::uint32_t, 1> first = {usable.front()};
            if (bindCurrentThread(first)) {
                forbidden = checkCpus(last);
                allowed = checkCpus(first);
            }
        }).join();
        QVERIFY(allowed);
        QVERIFY(!forbidden);
        QCOMPARE(forbidden.error().message,
            "there is no CPU " + std::to_string(usable.back()) + " for this program; it may use "
                + std::to_string(usable.front()));
#else
        QSKIP("checked on Linux");
#endif
    }

    void aThreadThatWakesPromptlyHasShortSlicesAndKeepsItsPriority()
    {
#if defined(__linux__)
        // "se.slice : 100000", in nanoseconds
        const auto fact = [](const QByteArray& name) -> std::optional<qlonglong> {
            QFile file("/proc/thread-self/sched");
            if (!file.open(QIODevice::ReadOnly))
                return std::nullopt;
            for (const QByteArray& line : file.readAll().split('\n')) {
                if (line.startsWith(name))
                    return line.mid(line.indexOf(':') + 1).trimmed().toLongLong();
            }
            return std::nullopt;
        };
        if (QVersionNumber::fromString(QSysInfo::kernelVersion()) < QVersionNumber(6, 12) || !fact("se.slice"))
            QSKIP("this Linux lets no thread choose its slice, or does not show it");
        std::optional<qlonglong> slice;
        std::optional<qlonglong> priorityBefore;
        std::optional<qlonglong> priority;
        std::thread([&] {
            lowerCurrentThreadPriority();
            priorityBefore = fact("prio");
            wakeCurrentThreadPromptly();
            slice = fact("se.slice");
            priority = fact("prio");
        }).join();
        QCOMPARE(slice, 100'000);
        QVERIFY(priorityBefore.has_value());
        QCOMPARE(priority, priorityBefore);
#else
        QSKIP("checked on Linux");
#endif
    }

    void cpuFeaturesAreThoseThatTheKernelSees()
    {
#if defined(__linux__) && defined(__x86_64__)
        QFile file("/proc/cpuinfo");
        QVERIFY(file.open(QIODevice::ReadOnly));
        QSet<QByteArray> flags;
        for (const QByteArray& line : file.readAll().split('\n')) {
            if (line.startsWith("flags")) {
                for (const QByteArray& flag : line.split(' '))
                    flags.insert(flag);
                break;
            }
        }
        const CpuFeatures features = CpuFeatures::detect();
        QCOMPARE(features.avx2, flags.contains("avx2"));
        QCOMPARE(features.fma, flags.contains("fma"));
        QCOMPARE(features.f16c, flags.contains("f16c"));
        QCOMPARE(features.avxvnni, flags.contains("avx_vnni"));
        QCOMPARE(features.avx512f, flags.contains("avx512f"));
        QCOMPARE(features.avx512bw, flags.contains("avx512bw"));
        QCOMPARE(features.avx512dq, flags.contains("avx512dq"));
        QCOMPARE(features.avx512vl, flags.contains("avx512vl"));
        QCOMPARE(features.avx512vbmi, flags.contains("avx512vbmi"));
        QCOMPARE(features.avx512vnni, flags.contains("avx512_vnni"));
        QVERIFY(!features.neon);
        QVERIFY(!features.dotprod);
#else
        QSKIP("checked on Linux, x86-64");
#endif
    }
};

QTEST_APPLESS_MAIN(TestThreads)
#include "tst_threads.moc"
