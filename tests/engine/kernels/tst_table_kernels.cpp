// Products of experts by tables: every table of kernels gives the bits of the specification for every
// stored layout, size and range, and they are as near the exact sums as 16 bits allow.

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
    Tables(const KernelTable& table, const VqMatrixView& matrix, const std::vector<float>& x, bool inPieces = false)
    {
        const std::size_t positions = matrix.columns / kTableColumns;
        entries.resize(positions * kTableBytes + 32);
        scales.resize((positions + kTableBlock - 1) / kTableBlock);
        const auto misalignment = reinterpret_cast<std::uintptr_t>(entries.data()) % 32;
        input = {entries.data() + (32 - misalignment) % 32, scales.data(), positions};
        const std::size_t step = inPieces ? kTableBlock : positions;
        for (std::size_t begin = 0; begin < positions; begin += step)
            table.buildTables(matrix, x.data(), input, begin, std::min(begin + step, positions));
    }
};

std::vector<float> multiply(const KernelTable& table, const VqMatrixView& matrix, const Tables& tables)
{
    std::vector<float> y(matrix.rows);
    table.multiplyTables(matrix, tables.input, y.data(), 0, matrix.rows);
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
};

} // namespace

class TestTableKernels : public QObject {
    Q_OBJECT

private:
    static void addTablesAndShapes()
    {
        QTest::addColumn<const KernelTable*>("table");
        QTest::addColumn<std::size_t>("shape");
        for (const char* isa : testedSets()) {
            const Result<const KernelTable*> table = selectKernels(isa);
            if (!table)
                continue;
            for (std::size_t i = 0; i < std::size(kShapes); ++i)
                QTest::addRow("%s %ux%u", isa, kShapes[i].rows, kShapes[i].columns) << *table << i;
        }
    }

private Q_SLOTS:
    void onlyBlocksOfFourSixBitIndicesTakeTables()
    {
        for (const StoredExpert::Shape& shape : kShapes)
            QVERIFY(takesTables(StoredExpert(shape).view));
        for (const StoredExpert::Shape& shape : {StoredExpert::Shape{5, 16, 8, 4, 6, 0}, {66, 32, 8, 4, 8, 64},
                 {72, 136, 8, 3, 8, 64}, {130, 60, 4, 3, 8, 64}})
            QVERIFY(!takesTables(StoredExpert(shape).view));
    }

    void productsHaveTheBitsOfTheSpecification_data() { addTablesAndShapes(); }
    void productsHaveTheBitsOfTheSpecification()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(std::size_t, shape);
        const StoredExpert expert(kShapes[shape]);
        const std::vector<float> x = randomFloats(expert.view.columns, 31);
        const std::vector<float> expected = multiply(scalarTable(), expert.view, Tables(scalarTable(), expert.view, x));
        const Tables tables(*table, expert.view, x);
        QCOMPARE(multiply(*table, expert.view, tables), expected);
        QCOMPARE(multiply(*table, expert.view, Tables(*table, expert.view, x, true)), expected);

        std::vector<float> parts(expert.view.rows + 1, -7.0F);
        for (std::uint32_t begin = 0; begin < expert.view.rows; begin += 64)
            table->multiplyTables(
                expert.view, tables.input, parts.data(), begin, std::min(begin + 64, expert.view.rows));
        QCOMPARE(parts.back(), -7.0F);
        parts.pop_back();
        QCOMPARE(parts, expected);
    }

    void productsAreNearTheExactSums_data() { addTablesAndShapes(); }
    void productsAreNearTheExactSums()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(std::size_t, shape);
        const StoredExpert expert(kShapes[shape]);
        const VqMatrixView& view = expert.view;
        std::vector<float> x = randomFloats(view.columns, 32);
        x[view.columns / 2] *= 100; // an outlier spoils its own block alone
        const Tables tables(*table, view, x);
        const std::vector<float> y = multiply(*table, view, tables);
        for (std::size_t row = 0; row < view.rows; ++row) {
            const double rowScale = std::abs(double{floatFromHalf(view.scales[row])});
            double sum = 0;
            double limit = 1e-30;
            for (std::size_t c = 0; c < view.columns; ++c) {
                const double term = double{expert.exact[row * view.columns + c]} * x[c];
                sum += term;
                limit += 1e-6 * std::abs(term);
                if (c % kTableColumns == 0) // half a unit an entry, and the rounding of its eight terms
                    limit += rowScale * view.stages * 0.52 * tables.scales[c / kTableColumns / kTableBlock];
            }
            QVERIFY2(std::abs(y[row] - sum) <= limit, qPrintable(QString("%1 for %2").arg(y[row]).arg(sum)));
        }
    }

    void whatIsNotFiniteStaysVisible_data() { addTablesAndShapes(); }
    void whatIsNotFiniteStaysVisible()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(std::size_t, shape);
        const StoredExpert expert(kShapes[shape]);
        for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            std::vector<float> x = randomFloats(expert.view.columns, 33);
            x.back() = value;
            for (const float sum : multiply(*table, expert.view, Tables(*table, expert.view, x)))
                QVERIFY(!std::isfinite(sum));
        }
    }

    void anInputOfZerosGivesZeros_data() { addTablesAndShapes(); }
    void anInputOfZerosGivesZeros()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(std::size_t, shape);
        const StoredExpert expert(kShapes[shape]);
        const std::vector<float> x(expert.view.columns, 0.0F);
        QCOMPARE(
            multiply(*table, expert.view, Tables(*table, expert.view, x)), std::vector<float>(expert.view.rows, 0.0F));
    }
};

QTEST_APPLESS_MAIN(TestTableKernels)
#include "tst_table_kernels.moc"
