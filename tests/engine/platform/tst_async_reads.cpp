// Asynchronous reads against the bytes of the file, in any order and at its end. Skipped, visibly, where the
// system forbids them: reader threads do the work there.

#include "platform/async_reads.h"
#include "platform/pages.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <cstring>
#include <random>
#include <thread>

using namespace waste;

namespace {

constexpr std::uint32_t kDepth = 6;
constexpr std::size_t kBlock = kDirectIoAlignment;
constexpr std::size_t kBlockCount = 64;

} // namespace

class TestAsyncReads : public QObject {
    Q_OBJECT

    QTemporaryDir m_directory;
    QByteArray m_content;
    std::unique_ptr<AsyncReads> m_reads;
    Pages m_pages;

    std::span<std::byte> target(std::uint32_t tag) const
    {
        return m_pages.bytes().subspan(tag * 2 * kBlock, 2 * kBlock);
    }
    DirectFile open(DirectFile::Access access) const
    {
        return std::move(*DirectFile::open(m_directory.filePath("file").toStdString(), access));
    }

private Q_SLOTS:
    void initTestCase()
    {
        std::mt19937 random(1);
        for (std::size_t i = 0; i < kBlock * kBlockCount; ++i)
            m_content.append(static_cast<char>(random()));
        QFile file(m_directory.filePath("file"));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write(m_content) == m_content.size());
        m_pages = std::move(*Pages::allocate(kDepth * 2 * kBlock, "targets"));
    }

    void init()
    {
        m_reads = AsyncReads::create(kDepth);
        if (m_reads == nullptr)
            QSKIP("this system has no asynchronous reads, or forbids them");
    }
    void cleanup() { m_reads.reset(); }

    void everyReadBringsItsBytesOnce_data()
    {
        QTest::addColumn<bool>("direct");
        QTest::newRow("direct") << true;
        QTest::newRow("buffered") << false;
    }
    void everyReadBringsItsBytesOnce()
    {
        QFETCH(bool, direct);
        const DirectFile file = open(direct ? DirectFile::Access::Direct : DirectFile::Access::Buffered);
        std::mt19937 random(2);
        std::array<std::uint64_t, kDepth> offsets = {};
        std::uint32_t started = 0;
        const auto start = [&](std::uint32_t tag) {
            offsets[tag] = random() % (kBlockCount - 1) * kBlock;
            m_reads->start(file, offsets[tag], target(tag), tag);
            ++started;
        };
        for (std::uint32_t tag = 0; tag < kDepth; ++tag)
            start(tag);
        std::uint32_t ended = 0;
        while (ended < started) {
            const auto span = m_reads->wait();
            const std::vector<AsyncReads::Done> done(span.begin(), span.end());
            for (const AsyncReads::Done& read : done) {
                QVERIFY(read.isWhole);
                const char* expected = m_content.constData() + offsets[read.tag];
                QCOMPARE(std::memcmp(target(read.tag).data(), expected, 2 * kBlock), 0);
                ++ended;
                if (started < 500)
                    start(read.tag);
            }
        }
        QCOMPARE(ended, 500U);
        QCOMPARE(file.readCount(), 500U);
    }

    void aReadPastTheEndIsNotWhole()
    {
        const DirectFile file = open(DirectFile::Access::Direct);
        m_reads->start(file, (kBlockCount - 1) * kBlock, target(0), 0);
        m_reads->start(file, kBlockCount * kBlock, target(1), 1);
        for (std::size_t ended = 0; ended < 2;) {
            for (const AsyncReads::Done& read : m_reads->wait()) {
                QVERIFY(!read.isWhole);
                ++ended;
            }
        }
    }

    void wakingUpEndsAWaitWithoutReads()
    {
        std::thread waker([&] { m_reads->wake(); });
        QVERIFY(m_reads->wait().empty());
        waker.join();
        m_reads->wake(); // also one that came before the wait
        QVERIFY(m_reads->wait().empty());
    }

    void itCanGoWhileReadsAreUnderWay()
    {
        const DirectFile file = open(DirectFile::Access::Direct);
        for (std::uint32_t tag = 0; tag < kDepth; ++tag)
            m_reads->start(file, tag * kBlock, target(tag), tag);
        m_reads.reset();
        for (std::uint32_t tag = 0; tag < kDepth; ++tag)
            QCOMPARE(std::memcmp(target(tag).data(), m_content.constData() + tag * kBlock, 2 * kBlock), 0);
    }
};

QTEST_APPLESS_MAIN(TestAsyncReads)
#include "tst_async_reads.moc"
