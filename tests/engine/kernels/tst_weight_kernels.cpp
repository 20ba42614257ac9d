// Kernels that decode stored weights: every format, odd sizes, both index layouts, on every table that runs
// on this CPU. The expected values are decoded here from the text of the container specification, in f64.

#include "base/half.h"
#include "kernels/kernels.h"
#include "kernels/matrix_product.h"

#include <QTest>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace waste;
using namespace waste::kernels;

namespace {

constexpr double kLimit = 1e-6; // of the sum of the terms' magnitudes

std::mt19937 makeGenerator(std::uint32_t seed)
{
    return std::mt19937(seed);
}

std::vector<float> randomFloats(std::size_t count, std::uint32_t seed)
{
    std::mt19937 generator = makeGenerator(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values)
        value = normal(generator);
    return values;
}

std::vector<std::uint8_t> randomBytes(std::size_t count, std::uint32_t seed)
{
    std::mt19937 generator = makeGenerator(seed);
    std::vector<std::uint8_t> bytes(count);
    for (std::uint8_t& byte : bytes)
        byte = static_cast<std::uint8_t>(generator());
    return bytes;
}

// Normal, negative and subnormal scales, and zero.
std::vector<std::uint16_t> randomScales(std::size_t count, std::uint32_t seed)
{
    std::mt19937 generator = makeGenerator(seed);
    std::vector<std::uint16_t> scales(count);
    for (std::size_t i = 0; i < count; ++i) {
        const float magnitude = i % 5 == 3 ? 2e-6F : 0.01F + 0.01F * static_cast<float>(generator() % 7);
        scales[i] = i % 17 == 16 ? 0 : halfFromFloat(i % 3 == 1 ? -magnitude : magnitude);
    }
    return scales;
}

// A matrix in one of the trunk's formats with random content, and what it decodes to.
struct StoredMatrix {
    std::vector<std::uint8_t> payload;
    std::vector<std::uint16_t> scales;
    MatrixView view;
    std::vector<double> values; // [rows][columns]

    StoredMatrix(WeightFormat format, std::uint32_t rows, std::uint32_t columns, std::uint32_t group)
    {
        const std::uint32_t groups = (columns + group - 1) / group;
        const std::size_t padded = std::size_t{groups} * group;
        std::size_t rowBytes = columns * sizeof(float);
        if (format == WeightFormat::Q8G)
            rowBytes = padded;
        else if (format == WeightFormat::Q4G)
            rowBytes = padded / 2;
        else if (format == WeightFormat::Q3G)
            rowBytes = (padded * 3 + 7) / 8 + 1;
        payload = randomBytes(rows * rowBytes, rows * 1000 + columns);
        if (format == WeightFormat::F32) {
            const std::vector<float> floats = randomFloats(std::size_t{rows} * columns, columns);
            std::memcpy(payload.data(), floats.data(), payload.size());
        } else {
            scales = randomScales(std::size_t{rows} * groups, columns);
        }
        view = {format, rows, columns, group, rowBytes, reinterpret_cast<const std::byte*>(payload.data()),
            scales.empty() ? nullptr : scales.data()};
        for (std::uint32_t row = 0; row < rows; ++row) {
            for (std::uint32_t column = 0; column < columns; ++column)
                values.push_back(decode(row, column));
        }
    }

    [[nodiscard]] double decode(std::uint32_t row, std::uint32_t column) const
    {
        const std::uint8_t* const bytes = payload.data() + row * view.rowBytes;
        if (view.format == WeightFormat::F32) {
            float value = 0;
            std::memcpy(&value, bytes + column * sizeof(float), sizeof(float));
            return value;
        }
        int stored = 0;
        if (view.format == WeightFormat::Q8G) {
            stored = bytes[column] < 128 ? bytes[column] : bytes[column] - 256;
        } else if (view.format == WeightFormat::Q4G) {
            stored = (column % 2 == 0 ? bytes[column / 2] & 15 : bytes[column / 2] >> 4) - 8;
        } else {
            for (std::uint32_t bit = 0; bit < 3; ++bit)
                stored |= ((bytes[(column * 3 + bit) / 8] >> ((column * 3 + bit) % 8)) & 1) << bit;
            stored -= 4;
        }
        const std::uint32_t groups = (view.columns + view.group - 1) / view.group;
        return double{floatFromHalf(scales[row * groups + column / view.group])} * stored;
    }
};

// An expert's matrix with random indices and codebooks.
struct StoredExpert {
    std::vector<std::uint8_t> indices;
    std::vector<std::uint16_t> scales;
    std::vector<float> codebooks;
    VqMatrixView view;
    std::vector<float> exact; // stages added in ascending order, then times the scale, in f32

    struct Shape {
        std::uint32_t rows, columns;
        std::uint8_t vecDim, stages, indexBits, indexBlock;
    };
    explicit StoredExpert(const Shape& shape)
    {
        const std::size_t bytesPerVector = shape.indexBits == 6 ? 3 : shape.stages;
        const std::size_t vectors = shape.columns / shape.vecDim;
        const std::size_t block = shape.indexBlock == 0 ? 1 : shape.indexBlock;
        const std::size_t storedRows = (shape.rows + block - 1) / block * block;
        indices = randomBytes(storedRows * vectors * bytesPerVector, shape.rows + shape.columns);
        scales = randomScales(shape.rows, shape.rows);
        codebooks = randomFloats(std::size_t{shape.stages} * 256 * shape.vecDim, 5);
        view = {shape.rows, shape.columns, shape.vecDim, shape.stages, shape.indexBits, shape.indexBlock,
            indices.data(), scales.data(), codebooks.data()};
        for (std::size_t row = 0; row < shape.rows; ++row) {
            for (std::size_t vector = 0; vector < vectors; ++vector) {
                const std::size_t place = (row / block * vectors + vector) * block + row % block;
                const std::uint8_t* const bytes = indices.data() + place * bytesPerVector;
                for (std::size_t j = 0; j < shape.vecDim; ++j) {
                    float sum = 0;
                    for (std::size_t stage = 0; stage < shape.stages; ++stage)
                        sum += codebooks[(stage * 256 + index(bytes, stage)) * shape.vecDim + j];
                    exact.push_back(sum * floatFromHalf(scales[row]));
                }
            }
        }
    }

    [[nodiscard]] std::size_t index(const std::uint8_t* bytes, std::size_t stage) const
    {
        if (view.indexBits == 8)
            return bytes[stage];
        const std::size_t six[] = {bytes[0] & 63U, (bytes[0] >> 6 | bytes[1] << 2) & 63U,
            (bytes[1] >> 4 | bytes[2] << 4) & 63U, std::size_t{bytes[2]} >> 2};
        return six[stage];
    }
};

template<typename Values>
void verifyRow(const Values& row, const float* x, std::size_t columns, float actual)
{
    double sum = 0;
    double magnitude = 0;
    for (std::size_t c = 0; c < columns; ++c) {
        sum += double{row[c]} * x[c];
        magnitude += std::abs(double{row[c]} * x[c]);
    }
    QVERIFY2(std::abs(actual - sum) <= kLimit * magnitude + std::numeric_limits<float>::min(),
        qPrintable(QString("%1 for %2").arg(actual).arg(sum)));
}

const StoredExpert::Shape kExpertShapes[] = {
    {72, 136, 8, 3, 8, 64},
    {136, 72, 8, 3, 8, 64},
    {70, 24, 8, 2, 8, 64},
    {40, 144, 8, 2, 8, 0},
    {65, 40, 8, 4, 6, 64},
    {5, 16, 8, 4, 6, 0},
    {66, 32, 8, 4, 8, 64},
    {9, 32, 8, 6, 8, 64},
    {130, 60, 4, 3, 8, 64},
    {7, 33, 1, 1, 8, 64},
    {6, 72, 24, 5, 8, 0},
    {3, 64, 64, 8, 8, 64},
    {68, 2048, 8, 3, 8, 64},
};

} // namespace

class TestWeightKernels : public QObject {
    Q_OBJECT

private:
    static void addTables()
    {
        QTest::addColumn<const KernelTable*>("table");
        for (const char* isa : {"scalar", "avx2"}) {
            if (const Result<const KernelTable*> table = selectKernels(isa))
                QTest::newRow(isa) << *table;
        }
    }
    static void addTablesAndFormats()
    {
        QTest::addColumn<const KernelTable*>("table");
        QTest::addColumn<int>("format");
        for (const char* isa : {"scalar", "avx2"}) {
            const Result<const KernelTable*> table = selectKernels(isa);
            if (!table)
                continue;
            QTest::addRow("%s F32", isa) << *table << 0;
            QTest::addRow("%s Q8G", isa) << *table << 2;
            QTest::addRow("%s Q4G", isa) << *table << 3;
            QTest::addRow("%s Q3G", isa) << *table << 7;
        }
    }
    // Group widths: the usual one, small ones, and one that registers straddle.
    static std::vector<StoredMatrix> matrices(WeightFormat format)
    {
        std::vector<StoredMatrix> made;
        for (std::uint32_t columns = 1; columns <= 40; ++columns)
            made.emplace_back(format, 5, columns, 128);
        for (const std::uint32_t columns : {127U, 128U, 129U, 136U, 144U, 255U, 260U, 1500U, 7168U})
            made.emplace_back(format, 9, columns, 128);
        made.emplace_back(format, 6, 70, 32);
        made.emplace_back(format, 6, 70, 8);
        made.emplace_back(format, 6, 70, 20);
        made.emplace_back(format, 3, 1100, 4096);
        return made;
    }

private Q_SLOTS:
    void rowsTimesAVectorAgreeWithDoubleSums_data() { addTablesAndFormats(); }
    void rowsTimesAVectorAgreeWithDoubleSums()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(int, format);
        const std::vector<float> x = randomFloats(7168, 21);
        for (const StoredMatrix& matrix : matrices(static_cast<WeightFormat>(format))) {
            const MatrixView& view = matrix.view;
            std::vector<float> y(view.rows, -7.0F);
            table->multiplyRows(view, x.data(), y.data(), 1, view.rows);
            QCOMPARE(y[0], -7.0F); // outside of the range
            for (std::uint32_t row = 1; row < view.rows; ++row)
                verifyRow(&matrix.values[std::size_t{row} * view.columns], x.data(), view.columns, y[row]);
        }
    }

    void rowsUnpackToExactlyTheStoredValues_data() { addTablesAndFormats(); }
    void rowsUnpackToExactlyTheStoredValues()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(int, format);
        for (const StoredMatrix& matrix : matrices(static_cast<WeightFormat>(format))) {
            const std::uint32_t columns = matrix.view.columns;
            for (const std::uint32_t begin : {0U, columns / 16 * 8}) {
                std::vector<float> values(columns + 1, -7.0F);
                table->unpackRow(matrix.view, 2, begin, columns, values.data());
                for (std::uint32_t c = begin; c < columns; ++c)
                    QCOMPARE(double{values[c - begin]}, matrix.values[2 * columns + c]);
                QCOMPARE(values[columns - begin], -7.0F); // not one value too many
            }
        }
    }

    void expertRowsUnpackToExactlyTheSumOfTheirStages_data() { addTables(); }
    void expertRowsUnpackToExactlyTheSumOfTheirStages()
    {
        QFETCH(const KernelTable*, table);
        for (const StoredExpert::Shape& shape : kExpertShapes) {
            const StoredExpert expert(shape);
            std::vector<float> values(shape.columns);
            for (std::uint32_t row = 0; row < shape.rows; ++row) {
                const std::uint32_t begin = shape.columns / shape.vecDim / 2 * shape.vecDim;
                table->unpackVqRow(expert.view, row, 0, begin, values.data());
                table->unpackVqRow(expert.view, row, begin, shape.columns, values.data() + begin);
                for (std::uint32_t c = 0; c < shape.columns; ++c)
                    QCOMPARE(values[c], expert.exact[std::size_t{row} * shape.columns + c]);
            }
        }
    }

    void expertRowsTimesAVectorAgreeWithDoubleSums_data() { addTables(); }
    void expertRowsTimesAVectorAgreeWithDoubleSums()
    {
        QFETCH(const KernelTable*, table);
        const std::vector<float> x = randomFloats(2048, 22);
        for (const StoredExpert::Shape& shape : kExpertShapes) {
            const StoredExpert expert(shape);
            std::vector<float> y(shape.rows);
            table->multiplyVqRows(expert.view, x.data(), y.data(), 0, shape.rows);
            for (std::uint32_t row = 0; row < shape.rows; ++row)
                verifyRow(&expert.exact[std::size_t{row} * shape.columns], x.data(), shape.columns, y[row]);
        }
    }

    void aRowsResultDoesNotDependOnTheRange_data() { addTablesAndFormats(); }
    void aRowsResultDoesNotDependOnTheRange()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(int, format);
        const StoredMatrix matrix(static_cast<WeightFormat>(format), 11, 1300, 128);
        const std::vector<float> x = randomFloats(7 * 1300, 23);
        std::vector<float> tile(kTileFloats);
        for (const std::size_t tokens : {1U, 2U, 7U}) {
            const TokenInput input = {x.data(), 1300, tokens};
            std::vector<float> whole(tokens * 11);
            multiply(*table, matrix.view, input, {whole.data(), 11}, 0, 11, tile.data());
            for (const std::uint32_t cut : {1U, 3U, 6U}) {
                std::vector<float> parts(tokens * 11);
                multiply(*table, matrix.view, input, {parts.data(), 11}, 0, cut, tile.data());
                multiply(*table, matrix.view, input, {parts.data(), 11}, cut, 11, tile.data());
                QCOMPARE(parts, whole);
            }
        }
    }

    void severalVectorsAtOnceAgreeWithDoubleSums_data() { addTablesAndFormats(); }
    void severalVectorsAtOnceAgreeWithDoubleSums()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(int, format);
        const StoredMatrix matrix(static_cast<WeightFormat>(format), 11, 2100, 128);
        const std::vector<float> x = randomFloats(7 * 2100, 24);
        std::vector<float> tile(kTileFloats);
        for (std::size_t tokens = 1; tokens <= 7; ++tokens) {
            std::vector<float> y(tokens * 11);
            multiply(*table, matrix.view, {x.data(), 2100, tokens}, {y.data(), 11}, 0, 11, tile.data());
            for (std::size_t t = 0; t < tokens; ++t) {
                for (std::size_t r = 0; r < 11; ++r)
                    verifyRow(&matrix.values[r * 2100], &x[t * 2100], 2100, y[t * 11 + r]);
            }
        }
    }

    void expertsTimesSeveralVectorsAgreeWithDoubleSums_data() { addTables(); }
    void expertsTimesSeveralVectorsAgreeWithDoubleSums()
    {
        QFETCH(const KernelTable*, table);
        std::vector<float> tile(kTileFloats);
        const std::vector<float> x = randomFloats(std::size_t{3} * 2048, 25);
        for (const StoredExpert::Shape& shape : kExpertShapes) {
            const StoredExpert expert(shape);
            std::vector<float> y(std::size_t{3} * shape.rows);
            multiply(
                *table, expert.view, {x.data(), shape.columns, 3}, {y.data(), shape.rows}, 0, shape.rows, tile.data());
            for (std::size_t t = 0; t < 3; ++t) {
                for (std::size_t r = 0; r < shape.rows; ++r)
                    verifyRow(
                        &expert.exact[r * shape.columns], &x[t * shape.columns], shape.columns, y[t * shape.rows + r]);
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestWeightKernels)
#include "tst_weight_kernels.moc"
