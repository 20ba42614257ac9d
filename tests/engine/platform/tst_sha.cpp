// SHA-256 against the examples of FIPS 180-4.

#include "platform/sha.h"

#include <QTest>

#include <string>

using namespace waste;

namespace {

std::string digestOf(const std::string& text, std::size_t pieceBytes)
{
    Sha256 hash;
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    for (std::size_t at = 0; at < bytes.size(); at += pieceBytes)
        hash.update(bytes.subspan(at, std::min(pieceBytes, bytes.size() - at)));
    return hexText(hash.finish());
}

} // namespace

class TestSha : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void digestsAreThoseOfTheStandard_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("digest");
        QTest::newRow("empty") << QByteArray()
                               << QByteArray("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        QTest::newRow("abc") << QByteArray("abc")
                             << QByteArray("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        QTest::newRow("two blocks") << QByteArray("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
                                    << QByteArray("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        QTest::newRow("a million") << QByteArray(1000000, 'a')
                                   << QByteArray("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
    void digestsAreThoseOfTheStandard()
    {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, digest);
        for (const std::size_t pieceBytes : {std::size_t{1000000}, std::size_t{4099}})
            QCOMPARE(digestOf(text.toStdString(), pieceBytes), digest.toStdString());
    }

    void anObjectStartsAnewAfterEachDigest()
    {
        Sha256 hash;
        const std::string text = "abc";
        hash.update(std::as_bytes(std::span(text)));
        const Sha256Digest first = hash.finish();
        hash.update(std::as_bytes(std::span(text)));
        Sha256 moved = std::move(hash);
        QVERIFY(moved.finish() == first);
    }
};

QTEST_APPLESS_MAIN(TestSha)
#include "tst_sha.moc"
