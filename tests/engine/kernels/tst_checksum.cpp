// The fast checksum against the plain one, which is the specification.

#include "base/crc32.h"
#include "kernels/checksum.h"

#include <QTest>

#include <random>
#include <vector>

using namespace waste;

class TestChecksum : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        std::mt19937 random(1);
        for (std::byte& byte : m_bytes)
            byte = static_cast<std::byte>(random());
    }

    void everyLengthAndPlaceGivesThePlainOne()
    {
        for (std::size_t length = 0; length <= 600; ++length) {
            const auto bytes = std::span<const std::byte>(m_bytes).subspan(length % 17, length);
            QCOMPARE(kernels::crc32(bytes), crc32(bytes));
            QCOMPARE(kernels::crc32(bytes, 0x12345678), crc32(bytes, 0x12345678));
        }
        QCOMPARE(kernels::crc32(m_bytes), crc32(m_bytes));
    }

    void piecesAreTheWhole()
    {
        const auto bytes = std::span<const std::byte>(m_bytes);
        for (const std::size_t cut : {1U, 63U, 64U, 65U, 80U, 1000U, 4096U})
            QCOMPARE(kernels::crc32(bytes.subspan(cut), kernels::crc32(bytes.first(cut))), crc32(bytes));
    }

    void knownValues() // spec: container 12
    {
        const std::string_view digits = "123456789";
        QCOMPARE(kernels::crc32(std::as_bytes(std::span(digits))), 0xCBF43926U);
        QCOMPARE(kernels::crc32({}), 0U);
        const std::vector<std::byte> zeros(4096); // zlib's
        QCOMPARE(kernels::crc32(zeros), 0xC71C0011U);
    }

private:
    std::vector<std::byte> m_bytes = std::vector<std::byte>(100'003);
};

QTEST_APPLESS_MAIN(TestChecksum)
#include "tst_checksum.moc"
