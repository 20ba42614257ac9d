// Sizes, offsets and bytes that the specification states as figures (spec: container 2.4, 14 and 17).

#include "base/crc32.h"
#include "base/little_endian.h"
#include "container/dequantize.h"
#include "container/format.h"
#include "container/index_packing.h"
#include "container/record_header.h"

#include "base/half.h"

#include <QTest>

#include <array>
#include <cmath>
#include <vector>

using namespace waste;

namespace {

constexpr ExpertQuant kVq3r;
constexpr ExpertQuant kVq2r{.stages = 2};
constexpr ExpertQuant kVq4p{.stages = 4, .entries = 64, .indexBits = 6};

ExpertGeometry geometryOf(std::uint32_t width, std::uint32_t input, const ExpertQuant& quant)
{
    auto geometry = ExpertGeometry::compute(width, input, quant, "test");
    return geometry ? *geometry : ExpertGeometry{};
}

// The record of section 17: layer 1, expert 2, base 9, I = 72, X = 136.
std::vector<std::byte> referenceRecord(const ExpertQuant& quant, const ExpertGeometry& geometry)
{
    std::vector<std::byte> record(geometry.strideBytes);
    auto* bytes = reinterpret_cast<std::uint8_t*>(record.data());
    for (std::uint32_t k = 0; k < 3; ++k) {
        const ExpertGeometry::Matrix& matrix = geometry.matrices[k];
        for (std::uint32_t r = 0; r < matrix.rows; ++r) {
            for (std::uint32_t v = 0; v < matrix.columns / quant.vecDim; ++v) {
                std::array<std::uint8_t, 4> stages = {};
                for (std::uint32_t s = 0; s < quant.stages; ++s)
                    stages[s] = static_cast<std::uint8_t>((7 * r + 3 * v + 11 * s + 5 * k) % quant.entries);
                std::uint8_t* target = bytes + matrix.indexOffset + indexOffset(quant, matrix.columns, r, v);
                const auto packed = packSixBit(stages);
                if (quant.indexBits == 6)
                    std::copy(packed.begin(), packed.end(), target);
                else
                    std::copy_n(stages.begin(), quant.stages, target);
            }
            const float scale = std::ldexp(r % 2 == 0 ? 1.0F : -1.0F, -static_cast<int>(r % 4));
            storeLittle(std::span(record), matrix.scaleOffset + r * 2, halfFromFloat(scale));
        }
    }
    RecordHeader header = RecordHeader::expected(geometry, quant, 1, 2, 9);
    header.payloadCrc32 = crc32(std::span(record).first(geometry.payloadEnd).subspan(kRecordHeaderBytes));
    header.encode(std::span(record).first<kRecordHeaderBytes>());
    return record;
}

} // namespace

class TestFormat : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void recordsHaveTheStatedSizes_data();
    void recordsHaveTheStatedSizes();
    void offsetsOfTheWorkedExampleAreRight();
    void rowMajorIndicesHaveNoPadding();
    void vectorsThatDoNotFitAreRefused();
    void recordsOfFourGibibytesAreRefused();
    void sixBitIndicesPackAsStated();
    void everySixBitIndexSurvivesPacking();
    void referenceRecordsHaveTheStatedChecksums_data();
    void referenceRecordsHaveTheStatedChecksums();
    void headersSurviveEncodingAndAnyBitOfTheirFieldsIsSeen();
    void headersOfOtherWritersAreAccepted();
    void trunkRowsHaveTheStatedSizes();
    void trunkSizesThatOverflowAreRefused();
    void codebookHeadersSurviveEncoding();
};

void TestFormat::recordsHaveTheStatedSizes_data()
{
    QTest::addColumn<std::uint32_t>("width");
    QTest::addColumn<std::uint32_t>("input");
    QTest::addColumn<int>("stages");
    QTest::addColumn<std::uint64_t>("payloadEnd");
    QTest::addColumn<std::uint64_t>("stride");
    const auto row = [](const char* name, std::uint32_t width, std::uint32_t input, int stages, std::uint64_t end,
                         std::uint64_t stride) { QTest::newRow(name) << width << input << stages << end << stride; };
    row("Kimi K3, VQ3R", 3072, 3584, 3, 12405808, 12406784);
    row("Kimi-Linear, VQ3R", 1024, 2304, 3, 2662960, 2666496);
    row("Kimi K3, VQ2R", 3072, 3584, 2, 2ULL * 4128768 + 48 + 2 * (2 * 3072 + 3584), 8278016);
    row("Kimi-Linear, VQ2R", 1024, 2304, 2, 2ULL * 884736 + 48 + 2 * (2 * 1024 + 2304), 1781760);
    row("K3-mini, VQ3R", 128, 128, 3, 19248, 20480);
    row("K3-mini, VQ2R", 128, 128, 2, 13104, 16384);
    row("Kimi K3, VQ4P", 3072, 3584, 4, 12405808, 12406784);
}

void TestFormat::recordsHaveTheStatedSizes()
{
    QFETCH(std::uint32_t, width);
    QFETCH(std::uint32_t, input);
    QFETCH(int, stages);
    QFETCH(std::uint64_t, payloadEnd);
    QFETCH(std::uint64_t, stride);
    const ExpertGeometry geometry = geometryOf(width, input, stages == 4 ? kVq4p : stages == 2 ? kVq2r : kVq3r);
    QCOMPARE(geometry.payloadEnd, payloadEnd);
    QCOMPARE(geometry.strideBytes, stride);
}

void TestFormat::offsetsOfTheWorkedExampleAreRight()
{
    const ExpertGeometry geometry = geometryOf(72, 136, kVq3r);
    QCOMPARE(geometry.matrices[0].indexOffset, 48ULL);
    QCOMPARE(geometry.matrices[1].indexOffset, 6576ULL);
    QCOMPARE(geometry.matrices[2].indexOffset, 13104ULL);
    QCOMPARE(geometry.scalesOffset, 18288ULL);
    QCOMPARE(geometry.matrices[1].scaleOffset, 18288ULL + 2 * 72);
    QCOMPARE(geometry.matrices[2].scaleOffset, 18288ULL + 4 * 72);
    QCOMPARE(geometry.payloadEnd, 18848ULL);
    QCOMPARE(geometry.strideBytes, 20480ULL);
}

void TestFormat::rowMajorIndicesHaveNoPadding()
{
    const ExpertQuant rows{.indexBlock = 0};
    QCOMPARE(indexBytes(rows, 72, 136), 72ULL * 17 * 3);
    QCOMPARE(indexBytes(kVq3r, 72, 136), 128ULL * 17 * 3);
    QCOMPARE(indexOffset(rows, 136, 2, 5), (2ULL * 17 + 5) * 3);
    QCOMPARE(indexOffset(kVq3r, 136, 65, 5), (17ULL + 5) * 64 * 3 + 3);
}

void TestFormat::vectorsThatDoNotFitAreRefused()
{
    const auto geometry = ExpertGeometry::compute(72, 136, ExpertQuant{.vecDim = 16}, "manifest.json");
    QVERIFY(!geometry);
    QCOMPARE(geometry.error().code, ErrorCode::Corrupt);
    QVERIFY(geometry.error().message.find("vec_dim 16") != std::string::npos);
}

void TestFormat::recordsOfFourGibibytesAreRefused()
{
    const ExpertQuant wide{.stages = 8, .vecDim = 1};
    QVERIFY(!ExpertGeometry::compute(1U << 20, 1U << 20, wide, "test"));
    QVERIFY(!ExpertGeometry::compute(1U << 20, 1U << 20, kVq3r, "test"));
}

void TestFormat::sixBitIndicesPackAsStated()
{
    QCOMPARE(packSixBit({1, 2, 3, 4}), (std::array<std::uint8_t, 3>{0x81, 0x30, 0x10}));
    QCOMPARE(packSixBit({63, 32, 21, 42}), (std::array<std::uint8_t, 3>{0x3f, 0x58, 0xa9}));
}

void TestFormat::everySixBitIndexSurvivesPacking()
{
    for (std::uint32_t i = 0; i < 64 * 64; ++i) {
        const auto a = static_cast<std::uint8_t>(i % 64);
        const auto b = static_cast<std::uint8_t>(i / 64);
        const std::array<std::uint8_t, 4> stages = {a, b, static_cast<std::uint8_t>(63 - a), b};
        QCOMPARE(unpackSixBit(packSixBit(stages).data()), stages);
    }
}

void TestFormat::referenceRecordsHaveTheStatedChecksums_data()
{
    QTest::addColumn<int>("stages");
    QTest::addColumn<std::uint32_t>("payloadCrc");
    QTest::addColumn<std::uint32_t>("recordCrc");
    QTest::newRow("VQ3R") << 3 << 0x58ad1334U << 0x9e35fb0cU;
    QTest::newRow("VQ4P") << 4 << 0x64c782abU << 0xedc92dccU;
    QTest::newRow("VQ2R") << 2 << 0x20b79316U << 0x3f1b2e4fU;
}

void TestFormat::referenceRecordsHaveTheStatedChecksums()
{
    QFETCH(int, stages);
    QFETCH(std::uint32_t, payloadCrc);
    QFETCH(std::uint32_t, recordCrc);
    const ExpertQuant quant = stages == 4 ? kVq4p : stages == 2 ? kVq2r : kVq3r;
    const ExpertGeometry geometry = geometryOf(72, 136, quant);
    std::vector<std::byte> record = referenceRecord(quant, geometry);
    QCOMPARE(
        RecordHeader::decode(std::span<const std::byte>(record).first<kRecordHeaderBytes>()).payloadCrc32, payloadCrc);
    storeLittle(std::span(record), 40, std::uint64_t{0}); // stated for absent header checksum
    QCOMPARE(crc32(record), recordCrc);

    // The stated weights, with codebooks C_i[e][j] = f16(sin(1 + i + e + j)).
    if (stages == 2)
        return;
    const std::array<std::array<std::uint32_t, 2>, 3> places = {{{0, 0}, {71, 135}, {135, 67}}};
    const std::array<float, 3> expected = stages == 3 ? std::array{-0.02349854F, -0.25997925F, 0.03269196F}
                                                      : std::array{0.87835693F, -0.26901245F, -0.40222168F};
    for (std::uint32_t k = 0; k < 3; ++k) {
        std::vector<float> codebooks(std::size_t{quant.stages} * 256 * 8);
        for (std::uint32_t s = 0; s < quant.stages; ++s)
            for (std::uint32_t e = 0; e < quant.entries; ++e)
                for (std::uint32_t j = 0; j < 8; ++j)
                    codebooks[(std::size_t{s} * 256 + e) * 8 + j] = floatFromHalf(
                        halfFromFloat(static_cast<float>(std::sin(1.0 + (9 + k * quant.stages + s) + e + j))));
        const ExpertGeometry::Matrix& matrix = geometry.matrices[k];
        kernels::VqMatrixView view;
        view.rows = matrix.rows;
        view.columns = matrix.columns;
        view.stages = quant.stages;
        view.indexBits = quant.indexBits;
        view.indices = reinterpret_cast<const std::uint8_t*>(record.data() + matrix.indexOffset);
        view.scales = reinterpret_cast<const std::uint16_t*>(record.data() + matrix.scaleOffset);
        view.codebooks = codebooks.data();
        std::vector<float> weights(std::size_t{matrix.rows} * matrix.columns);
        dequantize(view, weights);
        const float actual = weights[std::size_t{places[k][0]} * matrix.columns + places[k][1]];
        QVERIFY2(std::abs(actual - expected[k]) < 1e-8F, qPrintable(QString::number(actual, 'g', 9)));
    }
}

void TestFormat::headersSurviveEncodingAndAnyBitOfTheirFieldsIsSeen()
{
    const ExpertGeometry geometry = geometryOf(72, 136, kVq3r);
    const RecordHeader expected = RecordHeader::expected(geometry, kVq3r, 37, 412, 999);
    std::array<std::byte, kRecordHeaderBytes> bytes = {};
    expected.encode(bytes);
    QVERIFY(recordHeaderMismatch(bytes, expected).empty());
    QVERIFY(RecordHeader::decode(bytes).headerCrc32 != 0);
    for (std::size_t bit = 0; bit < 40 * 8; ++bit) {
        auto flipped = bytes;
        flipped[bit / 8] ^= std::byte{1} << (bit % 8);
        QVERIFY2(!recordHeaderMismatch(flipped, expected).empty(), qPrintable(QString::number(bit)));
    }
}

void TestFormat::headersOfOtherWritersAreAccepted()
{
    const ExpertGeometry geometry = geometryOf(72, 136, kVq3r);
    const RecordHeader expected = RecordHeader::expected(geometry, kVq3r, 1, 2, 9);
    std::array<std::byte, kRecordHeaderBytes> bytes = {};
    expected.encode(bytes);
    storeLittle(std::span<std::byte>(bytes), 40, std::uint32_t{0}); // no header checksum
    storeLittle(std::span<std::byte>(bytes), 8, std::uint8_t{5}); // also 8-bit indices
    storeLittle(std::span<std::byte>(bytes), 9, std::uint8_t{7}); // flags
    storeLittle(std::span<std::byte>(bytes), 14, std::uint16_t{99}); // reserved
    QCOMPARE(recordHeaderMismatch(bytes, expected), std::string_view());
    storeLittle(std::span<std::byte>(bytes), 8, std::uint8_t{8});
    QCOMPARE(recordHeaderMismatch(bytes, expected), std::string_view("fmt"));
}

void TestFormat::trunkRowsHaveTheStatedSizes()
{
    using kernels::WeightFormat;
    const std::array<std::uint64_t, 2> shape = {2, 130};
    QCOMPARE(TrunkLayout::compute(WeightFormat::F32, shape, 0)->rowBytes, 520ULL);
    QCOMPARE(TrunkLayout::compute(WeightFormat::Q8G, shape, 128)->rowBytes, 256ULL);
    QCOMPARE(TrunkLayout::compute(WeightFormat::Q4G, shape, 128)->rowBytes, 128ULL);
    QCOMPARE(TrunkLayout::compute(WeightFormat::Q3G, shape, 128)->rowBytes, 97ULL);
    const std::array<std::uint64_t, 2> head = {520, 136};
    const auto layout = TrunkLayout::compute(WeightFormat::Q8G, head, 128);
    QCOMPARE(layout->payloadBytes, 133120ULL);
    QCOMPARE(layout->bytes(), 135200ULL);
}

void TestFormat::trunkSizesThatOverflowAreRefused()
{
    const std::uint64_t most = 1ULL << 26;
    const std::array<std::uint64_t, 4> shape = {most, most, most, most};
    QVERIFY(!TrunkLayout::compute(kernels::WeightFormat::F32, shape, 0));
    const std::array<std::uint64_t, 3> rows = {most, 64, 1};
    QVERIFY(!TrunkLayout::compute(kernels::WeightFormat::F32, rows, 0));
}

void TestFormat::codebookHeadersSurviveEncoding()
{
    const CodebookHeader header{.id = 513, .vecDim = 4, .entries = 64};
    std::array<std::byte, kCodebookHeaderBytes> bytes = {};
    header.encode(bytes);
    QCOMPARE(std::to_integer<int>(bytes[0]), 0x57); // "WCBK"
    const CodebookHeader decoded = CodebookHeader::decode(bytes);
    QCOMPARE(decoded.magic, CodebookHeader::kMagic);
    QCOMPARE(decoded.id, header.id);
    QCOMPARE(decoded.format, header.format);
    QCOMPARE(decoded.vecDim, header.vecDim);
    QCOMPARE(decoded.entries, header.entries);
}

QTEST_APPLESS_MAIN(TestFormat)
#include "tst_format.moc"
