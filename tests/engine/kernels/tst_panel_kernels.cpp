// Products over panels, of every table, against sums in f64 over all ends of rows, columns and vectors; and the
// tower's GELU. The limit is 1e-6 of the sum of the terms' magnitudes.

#include "kernel_tables.h"
#include "kernels/panel_product.h"
#include "stored_weights.h"

#include <cmath>
#include <limits>

using namespace waste;
using namespace waste::test;

namespace {

constexpr double kLimit = 1e-6;
constexpr float kUntouched = 0.5F;

bool agrees(float actual, double sum, double magnitude)
{
    return std::abs(double{actual} - sum) <= kLimit * magnitude + double{std::numeric_limits<float>::min()};
}

} // namespace

class TestPanelKernels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void panelsAreTheRowsTurned_data() { addTables(); }
    void panelsAreTheRowsTurned()
    {
        QFETCH(const KernelTable*, table);
        constexpr std::size_t kStride = 37;
        const std::vector<float> w = randomFloats(kPanelRows * kStride, 1);
        for (std::size_t rows = 1; rows <= kPanelRows; ++rows) {
            for (std::size_t columns = 1; columns <= 33; ++columns) {
                std::vector<float> panel(34 * kPanelRows, kUntouched);
                table->packPanel(w.data(), kStride, rows, columns, panel.data());
                for (std::size_t c = 0; c < 34; ++c) {
                    for (std::size_t r = 0; r < kPanelRows; ++r) {
                        const float expected = c >= columns ? kUntouched : r < rows ? w[r * kStride + c] : 0;
                        QCOMPARE(panel[c * kPanelRows + r], expected);
                    }
                }
            }
        }
    }

    void productsAgreeForEveryShape_data() { addTables(); }
    void productsAgreeForEveryShape()
    {
        QFETCH(const KernelTable*, table);
        constexpr std::size_t kTokensMax = 14;
        constexpr std::size_t kYStride = kPanelRows + 3;
        for (const std::size_t columns : {1U, 2U, 31U, 144U}) {
            const std::vector<float> panel = randomFloats(columns * kPanelRows, 2);
            const std::vector<float> x = randomFloats(kTokensMax * 150, 3);
            for (std::size_t rows = 1; rows <= kPanelRows; ++rows) {
                for (std::size_t tokens = 1; tokens < kTokensMax; ++tokens) {
                    const bool accumulate = (rows + tokens) % 2 == 0;
                    std::vector<float> y(kTokensMax * kYStride, kUntouched);
                    table->multiplyPanel(
                        {panel.data(), rows, x.data(), 150, tokens, columns, y.data(), kYStride, accumulate});
                    for (std::size_t t = 0; t < kTokensMax; ++t) {
                        for (std::size_t r = 0; r < kYStride; ++r) {
                            const float actual = y[t * kYStride + r];
                            if (t >= tokens || r >= rows) {
                                QCOMPARE(actual, kUntouched);
                                continue;
                            }
                            double sum = accumulate ? kUntouched : 0;
                            double magnitude = sum;
                            for (std::size_t c = 0; c < columns; ++c) {
                                const double term = double{panel[c * kPanelRows + r]} * x[t * 150 + c];
                                sum += term;
                                magnitude += std::abs(term);
                            }
                            QVERIFY(agrees(actual, sum, magnitude));
                        }
                    }
                }
            }
        }
    }

    // Of stored matrices, whose rows are unpacked first; cut anywhere, to the same bits.
    void wholeProductsAgreeWithThePlainOnes_data()
    {
        QTest::addColumn<const KernelTable*>("table");
        QTest::addColumn<WeightFormat>("format");
        QTest::addColumn<int>("columns");
        for (const char* isa : testedSets()) {
            const Result<const KernelTable*> table = selectKernels(isa);
            if (!table)
                continue;
            for (const auto& [format, name] : {std::pair(WeightFormat::F32, "F32"), {WeightFormat::Q8G, "Q8G"}}) {
                for (const int columns : {64, 588, 1024})
                    QTest::addRow("%s, %s, %d columns", isa, name, columns) << *table << format << columns;
            }
        }
    }
    void wholeProductsAgreeWithThePlainOnes()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(WeightFormat, format);
        QFETCH(int, columns);
        constexpr std::uint32_t kRows = 301; // more than two pieces of work, and an end
        constexpr std::size_t kTokens = 29;
        const auto width = static_cast<std::uint32_t>(columns);
        const StoredMatrix matrix(format, kRows, width, 128);
        const std::vector<float> x = randomFloats(kTokens * width, 5);
        std::vector<float> scratch(kPanelScratchFloats);
        std::vector<float> plain(kTokens * kRows);
        std::vector<float> tile(kTileFloats);
        multiply(scalarTable(), matrix.view, {x.data(), width, kTokens}, {plain.data(), kRows}, 0, kRows, tile.data());

        std::vector<float> y(kTokens * kRows, kUntouched);
        multiplyPanels(
            *table, matrix.view, {x.data(), width, kTokens}, {y.data(), kRows}, 0, kRows, Sum::New, scratch.data());
        for (std::size_t t = 0; t < kTokens; ++t) {
            for (std::size_t r = 0; r < kRows; ++r) {
                double magnitude = 0;
                for (std::size_t c = 0; c < width; ++c)
                    magnitude += std::abs(double{matrix.values[r * width + c]} * x[t * width + c]);
                QVERIFY(agrees(y[t * kRows + r], plain[t * kRows + r], 2 * magnitude));
            }
        }
        std::vector<float> pieces(kTokens * kRows, 0);
        for (const auto& [begin, end] : {std::pair(0U, 7U), std::pair(7U, 200U), std::pair(200U, kRows)})
            multiplyPanels(*table, matrix.view, {x.data(), width, kTokens}, {pieces.data(), kRows}, begin, end,
                Sum::Added, scratch.data());
        QVERIFY(pieces == y);
    }

    void geluIsWithinAFewUnitsInTheLastPlaceOfItsInput_data() { addTables(); }
    void geluIsWithinAFewUnitsInTheLastPlaceOfItsInput()
    {
        QFETCH(const KernelTable*, table);
        std::vector<float> x = randomFloats(1003, 6);
        for (const float value : {0.0F, -0.0F, 1e-20F, 0.78F, -0.78F, 5.0F, -5.0F, 20.0F, -20.0F, 1e4F, -1e4F})
            x.push_back(value);
        std::vector<float> y = x;
        table->geluTanh(y.data(), y.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double u = x[i];
            const double expected = 0.5 * u * (1 + std::tanh(std::sqrt(2 / M_PI) * (u + 0.044715 * u * u * u)));
            const double limit = 4 * std::abs(u) * std::numeric_limits<float>::epsilon();
            QVERIFY2(std::abs(y[i] - expected) <= limit, qPrintable(QString::number(u)));
        }
    }
};

QTEST_APPLESS_MAIN(TestPanelKernels)
#include "tst_panel_kernels.moc"
