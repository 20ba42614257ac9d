// Kernels that decode stored weights: every format, odd sizes, both index layouts, on every table that runs
// on this CPU. The expected values are sums in f64.

#include "kernel_tables.h"
#include "kernels/kernels.h"
#include "kernels/matrix_product.h"
#include "stored_weights.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

using namespace waste;
using namespace waste::kernels;
using namespace waste::test;

namespace {

constexpr double kLimit = 1e-6; // of the sum of the terms' magnitudes

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

// Cut at one row, in two places of a tile; every part by itself.
template<typename Matrix, typename Values>
void verifySideBySide(const KernelTable& table, const Matrix& matrix, const Values& values, const SideBySide& input)
{
    std::vector<float> tile(kTileFloats);
    std::vector<float> y(matrix.rows * input.count, -7.0F);
    for (const auto& [begin, end] : {std::pair(0U, 1U), std::pair(1U, matrix.rows)})
        multiply(table, matrix, input, y.data(), begin, end, tile.data());
    std::vector<float> x(matrix.columns);
    for (std::size_t v = 0; v < input.count; ++v) {
        for (std::size_t c = 0; c < matrix.columns; ++c)
            x[c] = input.x[c * input.count + v];
        for (std::size_t r = 0; r < matrix.rows; ++r)
            verifyRow(values.data() + r * matrix.columns, x.data(), matrix.columns, y[r * input.count + v]);
    }
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
    static void addRows()
    {
        addTablesAndFormats({WeightFormat::F32, WeightFormat::Q8G, WeightFormat::Q4G, WeightFormat::Q3G});
    }

private Q_SLOTS:
    void rowsTimesAVectorAgreeWithDoubleSums_data() { addRows(); }
    void rowsTimesAVectorAgreeWithDoubleSums()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(int, format);
        const std::vector<float> x = randomFloats(kColumnsMax, 21);
        for (const StoredMatrix& matrix : matricesOf(static_cast<WeightFormat>(format))) {
            const MatrixView& view = matrix.view;
            std::vector<float> y(view.rows, -7.0F);
            table->multiplyRows(view, x.data(), y.data(), 1, view.rows);
            QCOMPARE(y[0], -7.0F); // outside of the range
            for (std::uint32_t row = 1; row < view.rows; ++row)
                verifyRow(&matrix.values[std::size_t{row} * view.columns], x.data(), view.columns, y[row]);
        }
    }

    void rowsUnpackToExactlyTheStoredValues_data() { addRows(); }
    void rowsUnpackToExactlyTheStoredValues()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(int, format);
        for (const StoredMatrix& matrix : matricesOf(static_cast<WeightFormat>(format))) {
            const std::uint32_t columns = matrix.view.columns;
            for (const std::uint32_t begin : {0U, columns / 16 * 8}) {
                std::vector<float> values(columns + 1, -7.0F);
                table->unpackRow(matrix.view, 2, begin, columns, values.data());
                for (std::uint32_t c = begin; c < columns; ++c)
                    QCOMPARE(double{values[c - begin]}, matrix.values[2 * columns + c]);
                QCOMPARE(values[columns - begin], -7.0F); // not one value too many
            }
            if (columns < 14)
                continue;
            const std::uint32_t end = columns - columns % 2 - 1; // within a group, and within a byte of two codes
            std::vector<float> values(columns + 1, -7.0F);
            table->unpackRow(matrix.view, 2, 8, end, values.data());
            for (std::uint32_t c = 8; c < end; ++c)
                QCOMPARE(double{values[c - 8]}, matrix.values[2 * columns + c]);
            QCOMPARE(values[end - 8], -7.0F);
        }
    }

    void expertRowsUnpackToExactlyTheSumOfTheirStages_data() { addTables(); }
    void expertRowsUnpackToExactlyTheSumOfTheirStages()
    {
        QFETCH(const KernelTable*, table);
        for (const StoredExpert::Shape& shape : kExpertShapes) {
            const StoredExpert expert(shape);
            const std::size_t stride = shape.columns + 1;
            std::vector<float> values(shape.rows * stride, -7.0F);
            const std::uint32_t half = shape.columns / shape.vecDim / 2 * shape.vecDim;
            table->unpackVqRows(expert.view, 0, shape.rows, 0, half, values.data(), stride);
            table->unpackVqRows(expert.view, 0, 1, half, shape.columns, values.data() + half, stride);
            table->unpackVqRows(expert.view, 1, shape.rows, half, shape.columns, values.data() + stride + half, stride);
            for (std::uint32_t row = 0; row < shape.rows; ++row) {
                for (std::uint32_t c = 0; c < shape.columns; ++c)
                    QCOMPARE(values[row * stride + c], expert.exact[std::size_t{row} * shape.columns + c]);
                QCOMPARE(values[row * stride + shape.columns], -7.0F); // not one value too many
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
            table->multiplyVqRows(expert.view, {x.data(), 0, 1, y.data(), 0}, 0, shape.rows);
            for (std::uint32_t row = 0; row < shape.rows; ++row)
                verifyRow(&expert.exact[std::size_t{row} * shape.columns], x.data(), shape.columns, y[row]);
        }
    }

    void aRowsResultDoesNotDependOnTheRange_data() { addRows(); }
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

    void severalVectorsAtOnceAgreeWithDoubleSums_data() { addRows(); }
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
        constexpr std::size_t kTokens = kVqVectorsMax + 2;
        const std::vector<float> x = randomFloats(kTokens * 2048, 25);
        for (const StoredExpert::Shape& shape : kExpertShapes) {
            const StoredExpert expert(shape);
            for (std::size_t tokens = 2; tokens <= kTokens; ++tokens) {
                std::vector<float> y(tokens * shape.rows);
                multiply(*table, expert.view, {x.data(), shape.columns, tokens}, {y.data(), shape.rows}, 0, shape.rows);
                for (std::size_t t = 0; t < tokens; ++t) {
                    for (std::size_t r = 0; r < shape.rows; ++r)
                        verifyRow(&expert.exact[r * shape.columns], &x[t * shape.columns], shape.columns,
                            y[t * shape.rows + r]);
                }
            }
        }
    }

    void vectorsSideBySideAgreeWithDoubleSums_data() { addTables(); }
    void vectorsSideBySideAgreeWithDoubleSums()
    {
        QFETCH(const KernelTable*, table);
        const std::vector<float> x = randomFloats(24 * 2048, 27);
        for (const StoredExpert::Shape& shape : kExpertShapes) {
            const StoredExpert expert(shape);
            for (const std::size_t count : {kSideBySide, 2 * kSideBySide, 3 * kSideBySide})
                verifySideBySide(*table, expert.view, expert.exact, {x.data(), count});
        }
        for (const WeightFormat format : {WeightFormat::F32, WeightFormat::Q8G, WeightFormat::Q4G, WeightFormat::Q3G}) {
            const StoredMatrix matrix(format, 150, 300, 128);
            verifySideBySide(*table, matrix.view, matrix.values, {x.data(), 2 * kSideBySide});
        }
    }

    void fewVectorsGiveAnExpertTheBitsOfSingleOnes_data() { addTables(); }
    void fewVectorsGiveAnExpertTheBitsOfSingleOnes()
    {
        QFETCH(const KernelTable*, table);
        const std::vector<float> x = randomFloats(kVqVectorsMax * 2048, 26);
        for (const StoredExpert::Shape& shape : kExpertShapes) {
            const StoredExpert expert(shape);
            std::vector<float> expected(kVqVectorsMax * shape.rows);
            for (std::size_t t = 0; t < kVqVectorsMax; ++t)
                table->multiplyVqRows(expert.view,
                    {x.data() + t * shape.columns, 0, 1, expected.data() + t * shape.rows, 0}, 0, shape.rows);
            for (std::size_t tokens = 1; tokens <= kVqVectorsMax; ++tokens) {
                std::vector<float> y(tokens * shape.rows);
                table->multiplyVqRows(
                    expert.view, {x.data(), shape.columns, tokens, y.data(), shape.rows}, 0, shape.rows);
                QVERIFY(std::equal(y.begin(), y.end(), expected.begin()));
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestWeightKernels)
#include "tst_weight_kernels.moc"
