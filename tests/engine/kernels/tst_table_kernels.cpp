// Products of experts by tables: reduced ones have the bits of the specification for every set of kernels, stored
// layout, size and range, and are as near the exact sums as 14 bits allow; exact ones are those sums but for rounding.

#include "kernel_tables.h"
#include "kernels/kernels.h"
#include "stored_weights.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace waste;
using namespace waste::kernels;
using namespace waste::test;

namespace {

// Tables of one input, and the memory for them.
struct Tables {
    std::vector<std::uint8_t> entries;
    std::vector<float> scales;
    TableInput input;

    // Built in one piece, or in one piece a block.
    Tables(const ProductTables& kernels, const VqMatrixView& matrix, const std::vector<float>& x, bool inPieces = false)
    {
        const std::size_t positions = matrix.columns / kTableColumns;
        entries.resize(positions * kernels.positionBytes(matrix) + 32);
        scales.resize((positions + kTableBlock - 1) / kTableBlock);
        const auto misalignment = reinterpret_cast<std::uintptr_t>(entries.data()) % 32;
        input = {entries.data() + (32 - misalignment) % 32, scales.data(), positions};
        const std::size_t step = inPieces ? kTableBlock : positions;
        for (std::size_t begin = 0; begin < positions; begin += step)
            kernels.build(matrix, x.data(), input, begin, std::min(begin + step, positions));
    }
};

std::vector<float> multiply(const ProductTables& kernels, const VqMatrixView& matrix, const Tables& tables)
{
    std::vector<float> y(matrix.rows);
    kernels.multiply(matrix, tables.input, y.data(), 0, matrix.rows);
    return y;
}

const StoredExpert::Shape kShapes[] = {
    {65, 40, 8, 4, 6, 64},
    {31, 8, 8, 4, 6, 64},
    {1, 64, 8, 4, 6, 64},
    {72, 136, 8, 4, 6, 64},
    {330, 192, 8, 4, 6, 64},
    {257, 72, 8, 4, 6, 64},
    {68, 2056, 8, 4, 6, 64},
    {65, 40, 8, 3, 8, 64},
    {31, 8, 8, 3, 8, 64},
    {72, 136, 8, 3, 8, 64},
    {530, 192, 8, 3, 8, 64},
    {68, 2056, 8, 3, 8, 64},
};

} // namespace

class TestTableKernels : public QObject {
    Q_OBJECT

private:
    static void addKernelsAndShapes(bool alsoExact)
    {
        QTest::addColumn<const ProductTables*>("kernels");
        QTest::addColumn<bool>("isExact");
        QTest::addColumn<std::size_t>("shape");
        for (const char* isa : testedSets()) {
            const Result<const KernelTable*> table = selectKernels(isa);
            if (!table)
                continue;
            for (std::size_t i = 0; i < std::size(kShapes); ++i) {
                const VqMatrixView matrix = StoredExpert(kShapes[i]).view;
                const auto add = [&](const char* kind, const ProductTables& kernels, bool isExact) {
                    if (kernels.positionBytes(matrix) != 0)
                        QTest::addRow("%s %s %ux%ux%u", isa, kind, matrix.rows, matrix.columns, matrix.stages)
                            << &kernels << isExact << i;
                };
                add("reduced", (*table)->reducedTables, false);
                if (alsoExact)
                    add("exact", (*table)->exactTables, true);
            }
        }
    }

private Q_SLOTS:
    void onlyBlocksOfThreeBytesTakeTables()
    {
        for (const StoredExpert::Shape& shape : kShapes) {
            const StoredExpert expert(shape);
            const std::size_t values = shape.stages == 4 ? 4 * 64 : 3 * 256;
            QCOMPARE(anyReducedTableBytes(expert.view), 2 * values);
            QCOMPARE(anyExactTableBytes(expert.view), 4 * values);
            QCOMPARE(packedTableBytes(expert.view), shape.stages == 4 ? 2 * values : 0);
            QCOMPARE(noTableBytes(expert.view), 0U);
        }
        for (const StoredExpert::Shape& shape : {StoredExpert::Shape{5, 16, 8, 4, 6, 0}, {66, 32, 8, 4, 8, 64},
                 {72, 136, 8, 3, 8, 0}, {130, 60, 4, 3, 8, 64}}) {
            QCOMPARE(anyReducedTableBytes(StoredExpert(shape).view), 0U);
            QCOMPARE(anyExactTableBytes(StoredExpert(shape).view), 0U);
        }
    }

    void noKernelsBuildMoreThanThePlanCounts()
    {
        for (const char* isa : testedSets()) {
            const Result<const KernelTable*> table = selectKernels(isa);
            if (!table)
                continue;
            for (const StoredExpert::Shape& shape : kShapes) {
                const StoredExpert expert(shape);
                QVERIFY((*table)->exactTables.positionBytes(expert.view) <= kTableBytesMax);
                QVERIFY((*table)->reducedTables.positionBytes(expert.view) <= kTableBytesMax);
            }
        }
    }

    void productsHaveTheBitsOfTheSpecification_data() { addKernelsAndShapes(false); }
    void productsHaveTheBitsOfTheSpecification()
    {
        QFETCH(const ProductTables*, kernels);
        QFETCH(std::size_t, shape);
        const StoredExpert expert(kShapes[shape]);
        const std::vector<float> x = randomFloats(expert.view.columns, 31);
        const ProductTables& specification = scalarTable().reducedTables;
        const std::vector<float> expected = multiply(specification, expert.view, Tables(specification, expert.view, x));
        const Tables tables(*kernels, expert.view, x);
        QCOMPARE(multiply(*kernels, expert.view, tables), expected);
    }

    void resultsDoNotDependOnTheCut_data() { addKernelsAndShapes(true); }
    void resultsDoNotDependOnTheCut()
    {
        QFETCH(const ProductTables*, kernels);
        QFETCH(std::size_t, shape);
        const StoredExpert expert(kShapes[shape]);
        const std::vector<float> x = randomFloats(expert.view.columns, 34);
        const Tables tables(*kernels, expert.view, x, true);
        const std::vector<float> expected = multiply(*kernels, expert.view, Tables(*kernels, expert.view, x));
        std::vector<float> parts(expert.view.rows + 1, -7.0F);
        for (std::uint32_t begin = 0; begin < expert.view.rows; begin += 64)
            kernels->multiply(expert.view, tables.input, parts.data(), begin, std::min(begin + 64, expert.view.rows));
        QCOMPARE(parts.back(), -7.0F);
        parts.pop_back();
        QCOMPARE(parts, expected);
    }

    void productsAreNearTheExactSums_data() { addKernelsAndShapes(true); }
    void productsAreNearTheExactSums()
    {
        QFETCH(const ProductTables*, kernels);
        QFETCH(std::size_t, shape);
        const StoredExpert expert(kShapes[shape]);
        const VqMatrixView& view = expert.view;
        std::vector<float> x = randomFloats(view.columns, 32);
        x[view.columns / 2] *= 100; // an outlier spoils its own block alone
        QFETCH(bool, isExact);
        const Tables tables(*kernels, view, x);
        const std::vector<float> y = multiply(*kernels, view, tables);
        for (std::size_t row = 0; row < view.rows; ++row) {
            const double rowScale = std::abs(double{floatFromHalf(view.scales[row])});
            double sum = 0;
            double limit = 1e-30;
            for (std::size_t c = 0; c < view.columns; ++c) {
                const double term = double{expert.exact[row * view.columns + c]} * x[c];
                sum += term;
                limit += 1e-6 * std::abs(term);
                if (!isExact && c % kTableColumns == 0) // half a unit an entry, and the rounding of its eight terms
                    limit += rowScale * view.stages * 0.52 * tables.scales[c / kTableColumns / kTableBlock];
            }
            QVERIFY2(std::abs(y[row] - sum) <= limit, qPrintable(QString("%1 for %2").arg(y[row]).arg(sum)));
        }
    }

    void whatIsNotFiniteStaysVisible_data() { addKernelsAndShapes(true); }
    void whatIsNotFiniteStaysVisible()
    {
        QFETCH(const ProductTables*, kernels);
        QFETCH(std::size_t, shape);
        const StoredExpert expert(kShapes[shape]);
        for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            std::vector<float> x = randomFloats(expert.view.columns, 33);
            x.back() = value;
            for (const float sum : multiply(*kernels, expert.view, Tables(*kernels, expert.view, x)))
                QVERIFY(!std::isfinite(sum));
        }
    }

    void anInputOfZerosGivesZeros_data() { addKernelsAndShapes(true); }
    void anInputOfZerosGivesZeros()
    {
        QFETCH(const ProductTables*, kernels);
        QFETCH(std::size_t, shape);
        const StoredExpert expert(kShapes[shape]);
        const std::vector<float> x(expert.view.columns, 0.0F);
        QCOMPARE(multiply(*kernels, expert.view, Tables(*kernels, expert.view, x)),
            std::vector<float>(expert.view.rows, 0.0F));
    }
};

QTEST_APPLESS_MAIN(TestTableKernels)
#include "tst_table_kernels.moc"
