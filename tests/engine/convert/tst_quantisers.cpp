// The parts that turn weights into codes: random numbers, search, k-means, and both encoders, against byte
// vectors of the specification and against the reference decoder.

#include "base/crc32.h"
#include "base/half.h"
#include "container/dequantize.h"
#include "convert/codebook_search.h"
#include "convert/kmeans.h"
#include "convert/random.h"
#include "convert/trunk_encoder.h"
#include "convert/vq_codebooks.h"
#include "convert/vq_encoder.h"

#include <QTest>

#include <cmath>
#include <limits>

using namespace waste;
using kernels::WeightFormat;

namespace {

double uniform(Random& random)
{
    return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

float gaussian(Random& random)
{
    const double radius = std::sqrt(-2 * std::log(1 - uniform(random)));
    return static_cast<float>(radius * std::cos(6.283185307179586 * uniform(random)));
}

std::vector<float> gaussians(std::size_t count, std::uint64_t seed)
{
    Random random(seed);
    std::vector<float> values(count);
    for (float& value : values)
        value = gaussian(random);
    return values;
}

// Rows of different sizes, as real experts have them.
std::vector<float> expertLike(std::size_t rows, std::size_t columns, std::uint64_t seed)
{
    std::vector<float> values = gaussians(rows * columns, seed);
    Random random(seed + 1000);
    for (std::size_t r = 0; r < rows; ++r) {
        const float size = 0.03F * std::exp(0.3F * gaussian(random));
        for (std::size_t c = 0; c < columns; ++c)
            values[r * columns + c] *= size;
    }
    return values;
}

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

// The codebooks of a matrix as a reader keeps them: [stages][256][8].
std::vector<float> tables(const VqCodebooks& codebooks, const ExpertQuant& quant)
{
    std::vector<float> values(std::size_t{quant.stages} * kCodebookTableRows * kVectorDim);
    for (std::size_t stage = 0; stage < quant.stages; ++stage) {
        for (std::size_t e = 0; e < quant.entries; ++e)
            std::copy_n(codebooks.entry(stage, static_cast<std::uint8_t>(e)), kVectorDim,
                values.data() + (stage * kCodebookTableRows + e) * kVectorDim);
    }
    return values;
}

const ExpertQuant kVq3r = {};
const ExpertQuant kVq2r = {.stages = 2};
const ExpertQuant kVq4p = {.stages = 4, .entries = 64, .indexBits = 6};

VqCodebooks fitTo(std::span<const float> matrix, std::size_t columns, const ExpertQuant& quant, ThreadPool& pool)
{
    VqSample sample;
    Random random(7);
    sample.add(matrix, columns, 1'000'000, random);
    return VqCodebooks::fit(sample.take(), quant, Random(8), pool);
}

void addFormats()
{
    QTest::addColumn<ExpertQuant>("quant");
    QTest::newRow("VQ3R") << kVq3r;
    QTest::newRow("VQ2R") << kVq2r;
    QTest::newRow("VQ4P") << kVq4p;
}

} // namespace

class QuantisersTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void randomNumbersAreThoseOfSplitmix64()
    {
        Random random(1234567);
        QCOMPARE(random.next(), std::uint64_t{6457827717110365317U});
        QCOMPARE(random.next(), std::uint64_t{3203168211198807973U});
        for (int i = 0; i < 1000; ++i)
            QVERIFY(random.below(3) < 3);
        QVERIFY(Random::forPart(1, 2, 3, 4).next() != Random::forPart(1, 3, 2, 4).next());
    }

    void theSearchFindsTheNearestEntry_data()
    {
        QTest::addColumn<int>("entries");
        QTest::newRow("64") << 64;
        QTest::newRow("256") << 256;
    }
    void theSearchFindsTheNearestEntry()
    {
        QFETCH(int, entries);
        const std::vector<float> codebook = gaussians(static_cast<std::size_t>(entries) * kVectorDim, 1);
        const std::vector<float> vectors = gaussians(500 * kVectorDim, 2);
        std::vector<std::uint8_t> indices(500);
        CodebookSearch(codebook).nearest(vectors.data(), indices.size(), indices.data());
        const auto distance = [&](std::size_t vector, std::size_t entry) {
            double sum = 0;
            for (std::size_t d = 0; d < kVectorDim; ++d)
                sum += std::pow(double{vectors[vector * kVectorDim + d]} - double{codebook[entry * kVectorDim + d]}, 2);
            return sum;
        };
        for (std::size_t v = 0; v < indices.size(); ++v) {
            for (std::size_t e = 0; e < static_cast<std::size_t>(entries); ++e)
                QVERIFY(distance(v, indices[v]) <= distance(v, e) + 1e-5);
        }
    }

    void equallyNearEntriesGiveTheLowestIndex()
    {
        std::vector<float> codebook(256 * kVectorDim, 5.0F);
        for (const std::size_t entry : {100U, 17U, 200U})
            std::fill_n(codebook.begin() + static_cast<std::ptrdiff_t>(entry * kVectorDim), kVectorDim, 1.0F);
        const std::vector<float> vector(kVectorDim, 1.25F);
        std::uint8_t index = 0;
        CodebookSearch(codebook).nearest(vector.data(), 1, &index);
        QCOMPARE(int{index}, 17);
    }

    void kmeansFindsSeparateClusters()
    {
        // 64 points, each repeated with a little noise; started anywhere, most end at a mean of few points.
        std::vector<float> vectors;
        Random random(3);
        for (int repeat = 0; repeat < 100; ++repeat) {
            for (int point = 0; point < 64; ++point) {
                for (std::uint32_t d = 0; d < kVectorDim; ++d)
                    vectors.push_back(static_cast<float>((point >> (d % 6)) & 1) * 10 + 0.1F * gaussian(random));
            }
        }
        ThreadPool pool({.threadCount = 1});
        const std::vector<float> one = fitCodebook(vectors, {.entryCount = 256, .iterations = 1}, Random(4), pool);
        const std::vector<float> ten = fitCodebook(vectors, {.entryCount = 256, .iterations = 10}, Random(4), pool);
        const auto left = [&](const std::vector<float>& codebook) {
            std::vector<std::uint8_t> indices(6400);
            CodebookSearch(codebook).nearest(vectors.data(), indices.size(), indices.data());
            double sum = 0;
            for (std::size_t i = 0; i < vectors.size(); ++i)
                sum += std::pow(vectors[i] - codebook[indices[i / kVectorDim] * kVectorDim + i % kVectorDim], 2);
            return sum / 6400;
        };
        QVERIFY(left(ten) <= left(one));
        QVERIFY2(left(ten) < 1.0, qPrintable(QString::number(left(ten))));
    }

    void kmeansDoesNotDependOnTheNumberOfThreads()
    {
        const std::vector<float> vectors = gaussians(20'000 * kVectorDim, 5); // five tiles, one of them partial
        ThreadPool one({.threadCount = 1});
        ThreadPool four({.threadCount = 4});
        QVERIFY(fitCodebook(vectors, {.entryCount = 64}, Random(6), one)
            == fitCodebook(vectors, {.entryCount = 64}, Random(6), four));
    }

    void fewerVectorsThanEntriesLeaveZeroEntries()
    {
        const std::vector<float> vectors = gaussians(10 * kVectorDim, 5);
        ThreadPool pool({.threadCount = 1});
        const std::vector<float> codebook = fitCodebook(vectors, {.entryCount = 64}, Random(6), pool);
        QVERIFY(std::equal(vectors.begin(), vectors.end(), codebook.begin())); // each its own mean
        QVERIFY(std::all_of(codebook.begin() + 80, codebook.end(), [](float value) { return value == 0; }));
    }

    void aSampleIsDrawnEvenly()
    {
        std::vector<float> matrix(64 * 80, 1.0F);
        VqSample sample;
        Random random(1);
        sample.add(matrix, 80, 100, random);
        QCOMPARE(sample.take().size(), std::size_t{100} * kVectorDim);
    }

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

    void aRecordDecodesToWhatTheEncoderMeasured_data() { addFormats(); }
    void aRecordDecodesToWhatTheEncoderMeasured()
    {
        QFETCH(ExpertQuant, quant);
        constexpr std::uint32_t kRows = 72; // one whole and one partial block
        constexpr std::uint32_t kColumns = 136;
        const ExpertGeometry geometry = *ExpertGeometry::compute(kRows, kColumns, quant, "test");
        std::vector<float> values = expertLike(kRows, kColumns, 21);
        std::fill_n(values.begin() + 5 * kColumns, kColumns, 0.0F);
        ThreadPool pool({.threadCount = 1});
        const VqCodebooks codebooks = fitTo(values, kColumns, quant, pool);

        std::vector<std::byte> record(geometry.strideBytes);
        const ExpertGeometry::Matrix& up = geometry.matrices[1];
        const SquaredError error = encodeVqMatrix(values, up, quant, codebooks, record, pool);

        const std::vector<float> books = tables(codebooks, quant);
        const kernels::VqMatrixView view = {.rows = kRows,
            .columns = kColumns,
            .vecDim = quant.vecDim,
            .stages = quant.stages,
            .indexBits = quant.indexBits,
            .indexBlock = quant.indexBlock,
            .indices = reinterpret_cast<const std::uint8_t*>(record.data() + up.indexOffset),
            .scales = reinterpret_cast<const std::uint16_t*>(record.data() + up.scaleOffset),
            .codebooks = books.data()};
        std::vector<float> decoded(values.size());
        dequantize(view, decoded);
        const SquaredError measured = errorBetween(values, decoded);
        QVERIFY(std::abs(error.difference - measured.difference) <= 1e-12 * measured.norm);
        for (std::size_t c = 0; c < kColumns; ++c)
            QCOMPARE(decoded[5 * kColumns + c], 0.0F);

        // Nothing outside the matrix's own bytes, and zero for the rows that its last block lacks.
        for (std::size_t i = 0; i < record.size(); ++i) {
            const bool isIndex = i >= up.indexOffset && i < up.indexOffset + up.indexBytes;
            const bool isScale = i >= up.scaleOffset && i < up.scaleOffset + 2 * kRows;
            if (!isIndex && !isScale)
                QCOMPARE(record[i], std::byte{0});
        }
        const std::uint64_t vectorBytes = std::uint64_t{kIndexBlockRows} * quant.bytesPerVector();
        const std::byte* lastBlock = record.data() + up.indexOffset + up.indexBytes / 2;
        for (std::uint64_t v = 0; v < kColumns / kVectorDim; ++v) {
            for (std::uint64_t i = 8 * quant.bytesPerVector(); i < vectorBytes; ++i)
                QCOMPARE(lastBlock[v * vectorBytes + i], std::byte{0});
        }

        std::vector<std::byte> threaded(record.size());
        ThreadPool four({.threadCount = 4});
        encodeVqMatrix(values, up, quant, codebooks, threaded, four);
        QVERIFY(threaded == record);
    }

    void heldOutWeightsLoseWhatTheFormatCosts_data()
    {
        QTest::addColumn<ExpertQuant>("quant");
        QTest::addColumn<double>("errorMax"); // of the public recipe on such weights (spec: conversion 12)
        QTest::newRow("VQ3R") << kVq3r << 0.1947;
        QTest::newRow("VQ2R") << kVq2r << 0.335;
        QTest::newRow("VQ4P") << kVq4p << 0.2086;
    }
    void heldOutWeightsLoseWhatTheFormatCosts()
    {
        QFETCH(ExpertQuant, quant);
        QFETCH(double, errorMax);
        ThreadPool pool({.threadCount = 2});
        const std::vector<float> training = expertLike(2 * 256, 512, 31);
        const std::vector<float> heldOut = expertLike(256, 512, 32);
        const VqCodebooks codebooks = fitTo(training, 512, quant, pool);
        const ExpertGeometry geometry = *ExpertGeometry::compute(256, 512, quant, "test");
        std::vector<std::byte> record(geometry.strideBytes);
        const double error = encodeVqMatrix(heldOut, geometry.matrices[0], quant, codebooks, record, pool).relative();
        qInfo("%s: %.2f %%", std::string(quant.name()).c_str(), 100 * error);
        QVERIFY2(error < errorMax, qPrintable(QString::number(error)));
        QVERIFY(error > 0.8 * errorMax); // better than that is a mistake in the measurement
    }

    void anExpertScaleBeyondHalfPrecisionIsReported()
    {
        std::vector<float> values = expertLike(64, 64, 41);
        ThreadPool pool({.threadCount = 1});
        const VqCodebooks codebooks = fitTo(values, 64, kVq3r, pool);
        for (float& value : values)
            value *= 1e9F;
        const ExpertGeometry geometry = *ExpertGeometry::compute(64, 64, kVq3r, "test");
        std::vector<std::byte> record(geometry.strideBytes);
        QVERIFY(!encodeVqMatrix(values, geometry.matrices[0], kVq3r, codebooks, record, pool).isFinite());
    }

    void codebookRecordsHoldTheRoundedEntries()
    {
        ThreadPool pool({.threadCount = 1});
        const VqCodebooks codebooks = fitTo(gaussians(64 * 64, 51), 64, kVq4p, pool);
        std::vector<std::byte> bytes;
        codebooks.appendRecords(65'537, bytes);
        QCOMPARE(bytes.size(), std::size_t{4} * 1040);
        const auto header = CodebookHeader::decode(std::span(bytes).subspan(2 * 1040).first<kCodebookHeaderBytes>());
        QCOMPARE(header.magic, CodebookHeader::kMagic);
        QCOMPARE(int{header.id}, 3); // modulo 2^16
        QCOMPARE(header.entries, 64U);
        std::uint16_t half = 0;
        std::memcpy(&half, bytes.data() + 2 * 1040 + 16 + 2 * (9 * kVectorDim + 3), sizeof(half));
        QCOMPARE(floatFromHalf(half), codebooks.entry(2, 9)[3]);
    }
};

QTEST_APPLESS_MAIN(QuantisersTest)
#include "tst_quantisers.moc"
