// The trunk's encoder against bytes written by hand, the reference decoder and the scales of the public converter, and
// the error that its own scales leave.

#include "base/half.h"
#include "container/dequantize.h"
#include "container/format.h"
#include "convert/trunk_encoder.h"
#include "support/test_weights.h"

#include <QTest>

#include <cmath>
#include <limits>

using namespace waste;
using namespace waste::test;
using kernels::WeightFormat;

namespace {

struct EncodedTrunk {
    std::vector<std::byte> payload;
    std::vector<std::uint16_t> scales;
    SquaredError error;
    TrunkLayout layout;
};

EncodedTrunk encodeTrunk(WeightFormat format, std::span<const float> values, std::uint64_t rows, std::uint64_t columns,
    std::uint32_t threads = 1)
{
    const std::array<std::uint64_t, 2> shape = {rows, columns};
    EncodedTrunk encoded;
    encoded.layout = *TrunkLayout::compute(format, shape, kTrunkGroup);
    encoded.payload.resize(encoded.layout.payloadBytes, std::byte{0xEE});
    encoded.scales.resize(encoded.layout.scaleBytes / 2);
    ThreadPool pool({.threadCount = threads});
    encoded.error =
        encodeTrunkRows(format, values, static_cast<std::uint32_t>(columns), encoded.payload, encoded.scales, pool);
    return encoded;
}

std::vector<float> decode(WeightFormat format, const EncodedTrunk& encoded)
{
    const kernels::MatrixView view = {.format = format,
        .rows = encoded.layout.rows,
        .columns = encoded.layout.columns,
        .group = kTrunkGroup,
        .rowBytes = encoded.layout.rowBytes,
        .payload = encoded.payload.data(),
        .scales = encoded.scales.data()};
    std::vector<float> values(std::size_t{encoded.layout.rows} * encoded.layout.columns);
    dequantize(view, values);
    return values;
}

SquaredError errorBetween(std::span<const float> original, std::span<const float> decoded)
{
    SquaredError error;
    for (std::size_t i = 0; i < original.size(); ++i)
        error.add(original[i], decoded[i]);
    return error;
}

// A group with the public scale amax / highest (spec: conversion 5).
SquaredError errorOfPlainScale(std::span<const float> group, float highest)
{
    float amax = 0;
    for (const float value : group)
        amax = std::max(amax, std::abs(value));
    const float scale = amax / highest;
    SquaredError error;
    for (const float value : group)
        error.add(value, floatFromHalf(halfFromFloat(scale)) * std::nearbyint(value / scale));
    return error;
}

QByteArray bytesOf(std::span<const std::byte> bytes, qsizetype count)
{
    return {reinterpret_cast<const char*>(bytes.data()), count};
}

} // namespace

class TrunkEncoderTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void codesLieWhereTheSpecificationSays_data()
    {
        QTest::addColumn<int>("format");
        QTest::addColumn<QList<float>>("codes"); // the others of the row are zero
        QTest::addColumn<QByteArray>("start");
        QTest::addColumn<QByteArray>("zeros"); // how they go on
        QTest::newRow("Q8G") << 2 << QList<float>{127, -127, 1, -2} << QByteArray::fromHex("7f8101fe")
                             << QByteArray::fromHex("000000");
        QTest::newRow("Q4G") << 3 << QList<float>{-8, 7, 1, -2} << QByteArray::fromHex("f069")
                             << QByteArray::fromHex("888888");
        // Codes 0, 7, 5, 2, 4, 4, 4, 4 from the lowest bit on.
        QTest::newRow("Q3G") << 7 << QList<float>{-4, 3, 1, -2} << QByteArray::fromHex("784592")
                             << QByteArray::fromHex("244992");
    }
    void codesLieWhereTheSpecificationSays()
    {
        QFETCH(int, format);
        QFETCH(QList<float>, codes);
        QFETCH(QByteArray, start);
        QFETCH(QByteArray, zeros);
        constexpr float kScale = 0.0625F;
        std::vector<float> values(130);
        for (qsizetype i = 0; i < codes.size(); ++i)
            values[static_cast<std::size_t>(i)] = kScale * codes[i];
        const EncodedTrunk encoded = encodeTrunk(static_cast<WeightFormat>(format), values, 1, 130);
        QCOMPARE(bytesOf(encoded.payload, start.size() + zeros.size()), start + zeros);
        if (format == 7)
            QCOMPARE(encoded.payload.back(), std::byte{0}); // the guard
        QCOMPARE(floatFromHalf(encoded.scales[0]), kScale);
        QCOMPARE(encoded.error.difference, 0.0);
    }

    void trunkErrorsAreWhatTheDecoderMakes_data()
    {
        QTest::addColumn<int>("format");
        QTest::addColumn<double>("errorMax"); // of Gaussian weights; plain scales leave 0.65, 11.7 and 27.4 %
        QTest::newRow("F32") << 0 << 0.0;
        QTest::newRow("Q8G") << 2 << 0.0064;
        QTest::newRow("Q4G") << 3 << 0.098;
        QTest::newRow("Q3G") << 7 << 0.19;
    }
    void trunkErrorsAreWhatTheDecoderMakes()
    {
        QFETCH(int, format);
        QFETCH(double, errorMax);
        const auto weightFormat = static_cast<WeightFormat>(format);
        for (const std::vector<float>& values : {gaussians(300 * 256, 11), expertLike(300, 256, 12)}) {
            const EncodedTrunk encoded = encodeTrunk(weightFormat, values, 300, 256);
            const SquaredError measured = errorBetween(values, decode(weightFormat, encoded));
            QVERIFY(std::abs(encoded.error.difference - measured.difference) <= 1e-9 * measured.norm);
            QVERIFY2(measured.relative() <= errorMax, qPrintable(QString::number(measured.relative())));
            QVERIFY(measured.relative() >= 0.9 * errorMax); // less is a mistake in the measurement
            const EncodedTrunk threaded = encodeTrunk(weightFormat, values, 300, 256, 5);
            QVERIFY(threaded.payload == encoded.payload && threaded.scales == encoded.scales);
            QCOMPARE(threaded.error.difference, encoded.error.difference);
        }
    }

    void noGroupIsWorseThanWithThePlainScale_data()
    {
        QTest::addColumn<int>("format");
        QTest::addColumn<float>("highest");
        QTest::newRow("Q8G") << 2 << 127.0F;
        QTest::newRow("Q4G") << 3 << 7.0F;
        QTest::newRow("Q3G") << 7 << 3.0F;
    }
    void noGroupIsWorseThanWithThePlainScale()
    {
        QFETCH(int, format);
        QFETCH(float, highest);
        const auto weightFormat = static_cast<WeightFormat>(format);
        constexpr std::size_t kGroups = 500;
        std::vector<float> values = gaussians(kGroups * kTrunkGroup, 5);
        for (std::size_t i = 0; i < values.size(); i += 97)
            values[i] *= 9; // outliers, which a scale may cut off only where that pays
        const std::vector<float> decoded =
            decode(weightFormat, encodeTrunk(weightFormat, values, kGroups, kTrunkGroup));
        for (std::size_t first = 0; first < values.size(); first += kTrunkGroup) {
            const auto group = std::span(values).subspan(first, kTrunkGroup);
            const double plain = errorOfPlainScale(group, highest).difference;
            const double fitted = errorBetween(group, std::span(decoded).subspan(first, kTrunkGroup)).difference;
            // Both scales are rounded to f16, which for one of them may be the worse luck.
            QVERIFY2(fitted <= 1.01 * plain, qPrintable(QString("%1 > %2").arg(fitted).arg(plain)));
        }
    }

    void aTrunkScaleBeyondHalfPrecisionIsReported()
    {
        std::vector<float> values(128, 1.0F);
        values[5] = 1e9F;
        QVERIFY(!encodeTrunk(WeightFormat::Q8G, values, 1, 128).error.isFinite());
        QVERIFY(encodeTrunk(WeightFormat::F32, values, 1, 128).error.isFinite());
        values.assign(128, -3e38F); // no square of it is finite
        QVERIFY(!encodeTrunk(WeightFormat::Q4G, values, 1, 128).error.isFinite());
        values.assign(128, 1.0F);
        values[7] = std::numeric_limits<float>::quiet_NaN();
        QVERIFY(!encodeTrunk(WeightFormat::Q4G, values, 1, 128).error.isFinite());
        values[7] = -std::numeric_limits<float>::infinity();
        QVERIFY(!encodeTrunk(WeightFormat::Q3G, values, 1, 128).error.isFinite());
    }

    void weightsBelowHalfPrecisionBecomeZero()
    {
        const std::vector<float> values(128, 1e-25F);
        for (const WeightFormat format : {WeightFormat::Q8G, WeightFormat::Q4G, WeightFormat::Q3G})
            QVERIFY(decode(format, encodeTrunk(format, values, 1, 128)) == std::vector<float>(128));
    }

    void zeroRowsStayZero()
    {
        const std::vector<float> zeros(2 * 128);
        for (const WeightFormat format : {WeightFormat::Q8G, WeightFormat::Q4G, WeightFormat::Q3G})
            QVERIFY(decode(format, encodeTrunk(format, zeros, 2, 128)) == zeros);
    }
};

QTEST_APPLESS_MAIN(TrunkEncoderTest)
#include "tst_trunk_encoder.moc"
