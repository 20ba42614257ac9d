// Sizes and CPU lists as people write them: every form of the specification (cli A.2, B.2), and what is refused.

#include "host/cpu_list.h"
#include "host/size_text.h"

#include <QTest>

#include <string>
#include <vector>

using namespace waste;

class TestSizeText : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsEveryWayToWriteASize_data()
    {
        QTest::addColumn<quint64>("bytes");
        const auto row = [](const char* text, quint64 bytes) { QTest::newRow(text) << bytes; };
        row("0", 0);
        row("4096", 4096);
        row("4096B", 4096);
        row("1k", 1024);
        row("1K", 1024);
        row("1KB", 1024);
        row("1KiB", 1024);
        row("1kib", 1024);
        row("46G", Q_UINT64_C(49392123904));
        row("1.5M", 1572864);
        row(".5k", 512);
        row("2T", Q_UINT64_C(2199023255552));
        row("2TiB", Q_UINT64_C(2199023255552));
        row("1e3", 1000);
        row("1.9", 1);
        row("18446744073709551615", Q_UINT64_C(18446744073709551615));
        row("17179869183G", Q_UINT64_C(18446744072635809792));
    }
    void readsEveryWayToWriteASize()
    {
        QFETCH(quint64, bytes);
        const auto size = host::parseSize(QTest::currentDataTag());
        QVERIFY2(size, QTest::currentDataTag());
        QCOMPARE(quint64{*size}, bytes);
    }

    void refusesWhatIsNoSize_data()
    {
        QTest::addColumn<QByteArray>("text");
        for (const char* text : {"", "G", "-1", "-0", "46 G", "46X", "46GG", "46iB", "46Gi", "46BG", "0x10", "1,5G",
                 "nan", "inf", "infinity", "1e400", "18446744073709551616", "17179869184G", "16777216T", "1e30", "+1"})
            QTest::newRow(text) << QByteArray(text);
    }
    void refusesWhatIsNoSize()
    {
        QFETCH(QByteArray, text);
        const auto size = host::parseSize(text.toStdString());
        QVERIFY(!size);
        QCOMPARE(size.error().code, ErrorCode::InvalidArgument);
        QVERIFY(size.error().message.find("'" + text.toStdString() + "'") != std::string::npos);
    }

    void printsSizesInBinaryUnits()
    {
        QCOMPARE(host::formatSize(0), std::string("0 MiB"));
        QCOMPARE(host::formatSize(372244480), std::string("355 MiB"));
        QCOMPARE(host::formatSize(std::uint64_t{1} << 30), std::string("1.00 GiB"));
        QCOMPARE(host::formatSize(49649821942), std::string("46.24 GiB"));
        QCOMPARE(host::formatAmount(12), std::string("12 B"));
        QCOMPARE(host::formatAmount(98304), std::string("96.0 KiB"));
        QCOMPARE(host::formatAmount(1363149), std::string("1.3 MiB"));
        QCOMPARE(host::formatAmount(10.5 * 0x1p30), std::string("10.5 GiB"));
    }

    void readsEveryWayToWriteCpus_data()
    {
        QTest::addColumn<QList<int>>("cpus");
        const auto row = [](const char* text, QList<int> cpus) { QTest::newRow(text) << cpus; };
        row("3", {3});
        row("0-5", {0, 1, 2, 3, 4, 5});
        row("0-2,6-8", {0, 1, 2, 6, 7, 8});
        row(" 0 - 2 , 1023 ", {0, 1, 2, 1023});
        row("4,2,2-3", {2, 3, 4});
        row("7-7", {7});
    }
    void readsEveryWayToWriteCpus()
    {
        QFETCH(QList<int>, cpus);
        const auto list = host::parseCpuList(QTest::currentDataTag());
        QVERIFY(list);
        QCOMPARE(QList<int>(list->begin(), list->end()), cpus);
    }

    void refusesWhatIsNoCpuList_data()
    {
        QTest::addColumn<QByteArray>("text");
        for (const char* text : {"", ",", "1,", ",1", "1,,2", "5-2", "-", "1-", "-1", "1024", "0-1024", "a", "1 2",
                 "1.5", "0x1", "99999999999"})
            QTest::newRow(text) << QByteArray(text);
    }
    void refusesWhatIsNoCpuList()
    {
        QFETCH(QByteArray, text);
        const auto list = host::parseCpuList(text.toStdString());
        QVERIFY(!list);
        QCOMPARE(list.error().code, ErrorCode::InvalidArgument);
    }
};

QTEST_APPLESS_MAIN(TestSizeText)
#include "tst_size_text.moc"
