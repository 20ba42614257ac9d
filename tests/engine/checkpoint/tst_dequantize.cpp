// Decoding of published number formats, by values worked out by hand (spec: model 4, vector V9).

#include "checkpoint/dequantize.h"

#include <QTest>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

using namespace waste;

namespace {

std::vector<float> decoded(const std::vector<std::uint8_t>& packed, const std::vector<std::uint8_t>& scales)
{
    std::vector<float> values(packed.size() * 2);
    if (decodeMxfp4(std::as_bytes(std::span(packed)), std::as_bytes(std::span(scales)), values))
        return {};
    return values;
}

} // namespace

class DequantizeTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyTypeIsFoundByItsName()
    {
        for (int i = 0; i <= static_cast<int>(TensorType::F8E5M2); ++i) {
            const auto type = static_cast<TensorType>(i);
            QCOMPARE(tensorTypeFromName(tensorTypeName(type)), std::optional(type));
        }
        QVERIFY(!tensorTypeFromName("BF17"));
        QCOMPARE(tensorTypeBytes(TensorType::F64), 8U);
        QCOMPARE(tensorTypeBytes(TensorType::Bf16), 2U);
        QCOMPARE(tensorTypeBytes(TensorType::F8E4M3), 1U);
    }

    void halvesAreExactDownToSubnormals()
    {
        const std::array<std::uint16_t, 5> halves = {0x3C00, 0xC000, 0x0001, 0x83FF, 0x7BFF};
        std::array<float, 5> values{};
        convertToF32(TensorType::F16, std::as_bytes(std::span(halves)), values);
        QCOMPARE(values, (std::array<float, 5>{1, -2, 0x1p-24F, -1023 * 0x1p-24F, 65504}));
    }

    void bfloat16IsTheUpperHalfOfFloat()
    {
        const std::array<std::uint16_t, 3> halves = {0x3F80, 0xC049, 0x0001};
        std::array<float, 3> values{};
        convertToF32(TensorType::Bf16, std::as_bytes(std::span(halves)), values);
        QCOMPARE(values, (std::array<float, 3>{1, -3.140625F, std::bit_cast<float>(0x00010000U)}));
    }

    void theLowNibbleIsTheEvenColumn()
    {
        std::vector<std::uint8_t> packed(16);
        packed[0] = 0x21;
        packed[1] = 0x9C;
        packed[2] = 0xF7;
        const std::vector<float> values = decoded(packed, {126});
        const std::vector<float> expected = {0.25F, 0.5F, -1.0F, -0.25F, 3.0F, -3.0F};
        QVERIFY(std::equal(expected.begin(), expected.end(), values.begin()));
        QCOMPARE(values[6], 0.0F);
    }

    void everyNibbleHasItsValue()
    {
        std::vector<std::uint8_t> packed;
        for (int i = 0; i < 16; i += 2)
            packed.push_back(static_cast<std::uint8_t>(i | (i + 1) << 4));
        packed.resize(16);
        const std::vector<float> values = decoded(packed, {127});
        const std::array<float, 16> expected = {0, .5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -.5F, -1, -1.5F, -2, -3, -4, -6};
        QVERIFY(std::equal(expected.begin(), expected.end(), values.begin()));
        QVERIFY(std::signbit(values[8]));
    }

    void scalesAreExactAtBothEnds()
    {
        const std::vector<std::uint8_t> packed(48, 0x21); // 0.5, 1, ... in three groups
        const std::vector<float> values = decoded(packed, {0, 1, 254});
        QCOMPARE(values[1], 0.0F); // scale byte 0 means 0
        QCOMPARE(values[32], 0x1p-127F);
        QCOMPARE(values[33], 0x1p-126F);
        QCOMPARE(values[65], 0x1p127F);
    }

    void scaleByte255IsReportedWithItsPlace()
    {
        const std::vector<std::uint8_t> packed(48);
        const std::vector<std::uint8_t> scales = {127, 127, 255};
        std::vector<float> values(96);
        QCOMPARE(decodeMxfp4(std::as_bytes(std::span(packed)), std::as_bytes(std::span(scales)), values),
            std::optional<std::size_t>(2));
    }
};

QTEST_APPLESS_MAIN(DequantizeTest)
#include "tst_dequantize.moc"
