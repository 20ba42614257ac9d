// Checksums and number formats against published vectors and, for half floats, against every bit pattern.

#include "base/checked.h"
#include "base/crc32.h"
#include "base/fused.h"
#include "base/half.h"
#include "base/json_depth.h"
#include "base/size_text.h"

#include <QTest>

#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

using namespace waste;

namespace {

std::uint32_t crcOf(std::string_view text)
{
    return crc32(std::as_bytes(std::span(text)));
}

// The definition: sign · 2^(e−15) · 1.m, or 2^−14 · 0.m.
double halfByDefinition(std::uint32_t bits)
{
    const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
    const auto exponent = static_cast<int>((bits >> 10) & 31U);
    const auto mantissa = static_cast<double>(bits & 1023U) / 1024;
    if (exponent == 31)
        return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
    return exponent == 0 ? sign * std::ldexp(mantissa, -14) : sign * std::ldexp(1 + mantissa, exponent - 15);
}

} // namespace

class TestBase : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void bracketsInsideEachOtherAreCountedButNotThoseInStrings()
    {
        QVERIFY(!isNestedDeeperThan("", 0));
        QVERIFY(isNestedDeeperThan("{}", 0));
        QVERIFY(!isNestedDeeperThan("[[],[],{}]", 2));
        QVERIFY(isNestedDeeperThan("[[],[{}]]", 2));
        QVERIFY(!isNestedDeeperThan("[\"[[[[\", \"\\\"[[\"]", 1)); // an escaped quote ends no string
        QVERIFY(isNestedDeeperThan("[\"\\\\\", [[", 2)); // but an escaped backslash before it does
        QVERIFY(!isNestedDeeperThan("]]]][[", 2)); // the parser refuses it
    }

    // Against sums in whole numbers, which are exact, and whose conversion rounds once.
    void fusedProductsAreRoundedOnce()
    {
        std::uint64_t state = 1;
        const auto draw = [&](unsigned bits) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            return static_cast<std::int64_t>(state >> (64 - bits)) - (std::int64_t{1} << (bits - 1));
        };
        for (int step = 0; step < 200'000; ++step) {
            const std::int64_t x = draw(24);
            // Small second factors make sums that lie near the middle between two floats.
            const std::int64_t y = draw(static_cast<unsigned>(2 + step % 23));
            const std::int64_t z = draw(24) * (std::int64_t{1} << step % 39);
            const float sum = fusedMultiplyAdd(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z));
            QCOMPARE(
                std::bit_cast<std::uint32_t>(sum + 0.0F), std::bit_cast<std::uint32_t>(static_cast<float>(x * y + z)));
        }
        // Sums that are no ties between two floats, but in double become such: just below the middle, just above it.
        QCOMPARE(fusedMultiplyAdd(0x1.000002p-12F, 0x1.fffffcp-13F, 0x1.000002p0F), 0x1.000002p0F);
        QCOMPARE(fusedMultiplyAdd(-0x1.000002p-12F, 0x1.fffffcp-13F, 0x1.000002p0F), 0x1.000002p0F);
    }

    void fusedProductsOfWhatIsNotFiniteAreThoseOfTheParts()
    {
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        constexpr float kLargest = std::numeric_limits<float>::max();
        QCOMPARE(fusedMultiplyAdd(kInfinity, -2, 3), -kInfinity);
        QCOMPARE(fusedMultiplyAdd(kLargest, 2, 0), kInfinity);
        QCOMPARE(fusedMultiplyAdd(kLargest, 2, -kLargest), kLargest);
        QVERIFY(std::isnan(fusedMultiplyAdd(kInfinity, 0, 3)));
        QVERIFY(std::isnan(fusedMultiplyAdd(2, 3, std::nanf(""))));
        QVERIFY(std::signbit(fusedMultiplyAdd(-0.0F, 1, -0.0F)));
    }

    void sizesAreRoundedUpForPeople()
    {
        QCOMPARE(sizeText(1023), std::string("1023 bytes"));
        QCOMPARE(sizeText((1 << 20) + 1), std::string("2 MiB"));
        QCOMPARE(sizeText(std::uint64_t{20} << 30), std::string("20.00 GiB"));
        QCOMPARE(sizeText((std::uint64_t{20} << 30) + 1), std::string("20.01 GiB"));
    }

    void crcMatchesThePublishedVectors()
    {
        QCOMPARE(crcOf(""), 0U);
        QCOMPARE(crcOf("a"), 0xE8B7BE43U);
        QCOMPARE(crcOf("123456789"), 0xCBF43926U);
    }

    void crcContinuesOverParts()
    {
        const std::string_view text = "The quick brown fox jumps over the lazy dog";
        for (std::size_t cut = 0; cut <= text.size(); ++cut) {
            const auto bytes = std::as_bytes(std::span(text));
            QCOMPARE(crc32(bytes.subspan(cut), crc32(bytes.first(cut))), 0x414FA339U);
        }
    }

    void everyHalfFloatIsDecodedExactly()
    {
        for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
            const double expected = halfByDefinition(bits);
            const float actual = floatFromHalf(static_cast<std::uint16_t>(bits));
            if (std::isnan(expected)) {
                QVERIFY(std::isnan(actual));
                continue;
            }
            QCOMPARE(static_cast<double>(actual), expected);
            QCOMPARE(std::signbit(actual), std::signbit(expected));
            QCOMPARE(halfFromFloat(actual), static_cast<std::uint16_t>(bits));
        }
    }

    void halfRoundsToNearestEven()
    {
        for (std::uint32_t bits = 0; bits < 0x7BFFU; ++bits) {
            const double low = halfByDefinition(bits);
            const double high = halfByDefinition(bits + 1);
            const auto middle = static_cast<float>((low + high) / 2);
            const std::uint32_t even = (bits & 1U) == 0 ? bits : bits + 1;
            QCOMPARE(std::uint32_t{halfFromFloat(middle)}, even);
            QCOMPARE(std::uint32_t{halfFromFloat(std::nextafter(middle, 0.0F))}, bits);
            QCOMPARE(std::uint32_t{halfFromFloat(std::nextafter(middle, 1e9F))}, bits + 1);
        }
        QCOMPARE(halfFromFloat(65519.99F), std::uint16_t{0x7BFF});
        QCOMPARE(halfFromFloat(65520.0F), std::uint16_t{0x7C00});
        QCOMPARE(halfFromFloat(-1e30F), std::uint16_t{0xFC00});
    }

    void checkedArithmeticSeesOverflow()
    {
        constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
        QVERIFY(!checkedAdd(kMax, std::uint64_t{1}));
        QVERIFY(!checkedMultiply(kMax / 2, std::uint64_t{3}));
        QCOMPARE(checkedMultiply(kMax / 2, std::uint64_t{2}).value(), kMax - 1);
        QCOMPARE(roundUp(std::uint64_t{kMax - 4095}, std::uint64_t{4096}), kMax - 4095);
    }
};

QTEST_APPLESS_MAIN(TestBase)
#include "tst_base.moc"
