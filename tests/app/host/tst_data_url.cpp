// Pictures that come as data: URLs (spec: server 3.5): the alphabet, the padding, the limit.

#include "host/data_url.h"

#include <QByteArray>
#include <QTest>

using namespace waste;

class TestDataUrl : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void givesBackEveryByte()
    {
        QByteArray bytes;
        for (int length = 1; length < 300; ++length) {
            bytes += char(length * 37);
            const QByteArray text = bytes.toBase64();
            const auto decoded = host::decodeBase64(text.toStdString());
            QVERIFY(decoded);
            QCOMPARE(QByteArray::fromStdString(*decoded), bytes);
            const auto bare = host::decodeBase64(bytes.toBase64(QByteArray::OmitTrailingEquals).toStdString());
            QVERIFY(bare && *bare == *decoded);
        }
    }

    void readsDataUrlsOfAnyType()
    {
        for (const char* url : {"data:image/png;base64,SGk=", "data:;base64,SGk", "data:text/x;a=b;base64,SG\r\nk="}) {
            const auto bytes = host::decodeDataUrl(url);
            QVERIFY2(bytes, url);
            QCOMPARE(*bytes, std::string("Hi"));
        }
    }

    void refusesEverythingElse_data()
    {
        QTest::addColumn<QByteArray>("url");
        for (const char* url : {"", "data:", "data:image/png,SGk=", "https://example.org/x.png", "data:;base64,",
                 "data:;base64,S", "data:;base64,SGk==", "data:;base64,SGk=k", "data:;base64,SG k=",
                 "data:;base64,SG-_", "data:;base64,=", "data:;base64,SGkh=", "data:;base64,SG==="})
            QTest::newRow(*url ? url : "empty") << QByteArray(url);
    }
    void refusesEverythingElse()
    {
        QFETCH(QByteArray, url);
        const auto bytes = host::decodeDataUrl(url.toStdString());
        QVERIFY(!bytes);
        QCOMPARE(bytes.error().code, ErrorCode::InvalidArgument);
    }

    void stopsAtTwentyMebibytes()
    {
        const std::string atLimit(host::kPictureBytesMax / 3 * 4, 'A');
        QVERIFY(host::decodeBase64(atLimit));
        const auto over = host::decodeBase64(atLimit + "AAAAAAAA");
        QVERIFY(!over);
        QVERIFY(over.error().message.find("20 MiB") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(TestDataUrl)
#include "tst_data_url.moc"
