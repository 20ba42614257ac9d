// The trunk's encoder against byte vectors of the specification and the reference decoder, and the error that its
// scales leave.

#include "base/crc32.h"
#include "base/half.h"
#include "container/dequantize.h"
#include "container/format.h"
#include "convert/trunk_encoder.h"
#include "support/test_weights.h"

#include <QTest>

#include <cmath>

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

// x[r][c] = sin(1 + 130 r + c), the matrix of the specification's vectors.
std::vector<float> sineMatrix()
{
    std::vector<float> values(260);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(std::sin(1.0 + static_cast<double>(i)));
    return values;
}

} // namespace

class TrunkEncoderTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void trunkBytesAreThoseOfTheSpecification_data()
    {
        QTest::addColumn<int>("format");
        QTest::addColumn<quint64>("rowBytes");
        QTest::addColumn<QByteArray>("start");
        QTest::addColumn<QList<int>>("scales");
        QTest::addColumn<quint32>("payloadCrc");
        QTest::addColumn<quint32>("scalesCrc");
        QTest::newRow("Q8G") << 2 << quint64{256} << QByteArray::fromHex("6b7312a0")
                             << QList<int>{0x2008, 0x1F80, 0x2007, 0x1FEE} << 0xF8C1A4ABU << 0x6D154405U;
        QTest::newRow("Q4G") << 3 << quint64{128} << QByteArray::fromHex("ee3961fd")
                             << QList<int>{0x3092, 0x3040, 0x3091, 0x307F} << 0xDDE38DEBU << 0xA1744D99U;
        QTest::newRow("Q3G") << 7 << quint64{97} << QByteArray::fromHex("3f95f955")
                             << QList<int>{0x3555, 0x34F6, 0x3554, 0x353F} << 0xD3ED39A6U << 0x7D771DEDU;
    }
    void trunkBytesAreThoseOfTheSpecification()
    {
        QFETCH(int, format);
        QFETCH(quint64, rowBytes);
        QFETCH(QByteArray, start);
        QFETCH(QList<int>, scales);
        QFETCH(quint32, payloadCrc);
        QFETCH(quint32, scalesCrc);
        const EncodedTrunk encoded = encodeTrunk(static_cast<WeightFormat>(format), sineMatrix(), 2, 130);
        QCOMPARE(encoded.layout.rowBytes, std::uint64_t{rowBytes});
        QCOMPARE(QByteArray(reinterpret_cast<const char*>(encoded.payload.data()), 4), start);
        QCOMPARE(QList<int>(encoded.scales.begin(), encoded.scales.end()), scales);
        QCOMPARE(crc32(encoded.payload), payloadCrc);
        QCOMPARE(crc32(std::as_bytes(std::span(encoded.scales))), scalesCrc);
    }

    void trunkErrorsAreWhatTheDecoderMakes_data()
    {
        QTest::addColumn<int>("format");
        QTest::addColumn<double>("expected"); // of Gaussian weights (spec: conversion 5)
        QTest::newRow("F32") << 0 << 0.0;
        QTest::newRow("Q8G") << 2 << 0.0065;
        QTest::newRow("Q4G") << 3 << 0.1172;
        QTest::newRow("Q3G") << 7 << 0.274;
    }
    void trunkErrorsAreWhatTheDecoderMakes()
    {
        QFETCH(int, format);
        QFETCH(double, expected);
        const auto weightFormat = static_cast<WeightFormat>(format);
        const std::vector<float> values = gaussians(300 * 200, 11);
        const EncodedTrunk encoded = encodeTrunk(weightFormat, values, 300, 200);
        const SquaredError measured = errorBetween(values, decode(weightFormat, encoded));
        QVERIFY(std::abs(encoded.error.difference - measured.difference) <= 1e-9 * measured.norm);
        QVERIFY2(std::abs(measured.relative() - expected) <= 0.03 * expected,
            qPrintable(QString::number(measured.relative())));
        const EncodedTrunk threaded = encodeTrunk(weightFormat, values, 300, 200, 5);
        QVERIFY(threaded.payload == encoded.payload && threaded.scales == encoded.scales);
        QCOMPARE(threaded.error.difference, encoded.error.difference);
    }

    void aTrunkScaleBeyondHalfPrecisionIsReported()
    {
        std::vector<float> values(128, 1.0F);
        values[5] = 1e9F;
        QVERIFY(!encodeTrunk(WeightFormat::Q8G, values, 1, 128).error.isFinite());
        QVERIFY(encodeTrunk(WeightFormat::F32, values, 1, 128).error.isFinite());
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
