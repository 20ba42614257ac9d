// Every loop of every table that runs on this CPU against sums in f64, over all lengths around the widths
// of the vector registers. The limit is 1e-6 of the sum of the terms' magnitudes.

#include "base/half.h"
#include "kernel_tables.h"
#include "kernels/kernels.h"

#include <QTest>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

using namespace waste;
using namespace waste::kernels;
using waste::test::addTables;

namespace {

constexpr double kLimit = 1e-6;

std::vector<float> randomFloats(std::size_t count, std::uint32_t seed, float spread = 1)
{
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(0, spread);
    std::vector<float> values(count);
    for (float& value : values)
        value = normal(generator);
    return values;
}

// A sum in f64 together with the magnitude that rounding errors are measured by.
struct Sum {
    double value = 0;
    double magnitude = 0;
    void add(double term)
    {
        value += term;
        magnitude += std::abs(term);
    }
    [[nodiscard]] bool agrees(float actual) const
    {
        return std::abs(actual - value) <= kLimit * magnitude + std::numeric_limits<float>::min();
    }
};

// |actual − expected| in units of the last place of an f32 near `expected`.
double lastPlaces(float actual, double expected)
{
    if (static_cast<float>(expected) == actual)
        return 0;
    const double place = std::max(std::ldexp(1.0, std::ilogb(expected) - 23), std::ldexp(1.0, -149));
    return std::abs(actual - expected) / place;
}

double sigmoid(double x)
{
    return 1 / (1 + std::exp(-x));
}

// From deep in the saturated ranges through the place where tanh changes its formula, to 0 and both zeros.
std::vector<float> activationInputs()
{
    std::vector<float> values = randomFloats(400, 7, 4);
    for (const float x : {0.0F, -0.0F, 1e-8F, -1e-3F, 0.6249F, 0.6251F, -2.4999F, 2.5001F, 20.0F, -20.0F, 87.0F, -87.0F,
             103.0F, -103.0F, 500.0F, -500.0F})
        values.push_back(x);
    return values;
}

} // namespace

class TestKernels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theFastestTableIsChosenUnlessOneIsNamed()
    {
        QVERIFY(selectKernels(nullptr).has_value());
        QCOMPARE(selectKernels("").value(), selectKernels(nullptr).value());
        QCOMPARE(selectKernels("scalar").value(), &scalarTable());
        for (const char* unknown : {"mmx", "AVX2", "scalar "}) {
            const Result<const KernelTable*> refused = selectKernels(unknown);
            QVERIFY(!refused.has_value());
            QCOMPARE(refused.error().code, ErrorCode::Unsupported);
            QVERIFY(refused.error().message.find(unknown) != std::string::npos);
        }
    }

    // Here it shows which instruction sets the tests of kernels left out.
    void everyTableOfThisBuildRunsOnThisCpu_data()
    {
        QTest::addColumn<QByteArray>("isa");
        for (const char* isa : waste::test::testedSets())
            QTest::newRow(isa) << QByteArray(isa);
    }
    void everyTableOfThisBuildRunsOnThisCpu()
    {
        QFETCH(QByteArray, isa);
        const Result<const KernelTable*> table = selectKernels(isa.constData());
        QVERIFY(table || !qEnvironmentVariableIsSet("WASTE_TESTED_ISAS"));
        if (!table)
            QSKIP("this CPU lacks it: no kernel of this table is tested");
        QCOMPARE(QByteArray((*table)->name), isa);
    }

    void dotAndAddScaledAgreeWithDoubleSumsForEveryLength_data() { addTables(); }
    void dotAndAddScaledAgreeWithDoubleSumsForEveryLength()
    {
        QFETCH(const KernelTable*, table);
        const std::vector<float> x = randomFloats(7200, 1);
        const std::vector<float> w = randomFloats(7200, 2);
        std::vector<std::size_t> lengths = {127, 128, 144, 1000, 7168, 7199};
        for (std::size_t count = 0; count < 70; ++count)
            lengths.push_back(count);
        for (const std::size_t count : lengths) {
            Sum sum;
            for (std::size_t i = 0; i < count; ++i)
                sum.add(double{x[i]} * w[i]);
            QVERIFY2(sum.agrees(table->dot(x.data(), w.data(), count)), qPrintable(QString::number(count)));

            std::vector<float> y = w;
            table->addScaled(0.37F, x.data(), y.data(), count);
            for (std::size_t i = 0; i < y.size(); ++i) {
                Sum element;
                element.add(w[i]);
                element.add(i < count ? double{0.37F} * x[i] : 0);
                QVERIFY(i < count ? element.agrees(y[i]) : y[i] == w[i]);
            }
        }
    }

    void productsOfRowsAndTokensAgreeForEveryShape_data() { addTables(); }
    void productsOfRowsAndTokensAgreeForEveryShape()
    {
        QFETCH(const KernelTable*, table);
        constexpr std::size_t kStride = 150;
        const std::vector<float> w = randomFloats(9 * kStride, 3);
        const std::vector<float> x = randomFloats(8 * kStride, 4);
        for (const std::size_t columns : {1U, 7U, 8U, 17U, 144U}) {
            for (std::size_t rows = 1; rows <= 9; ++rows) {
                for (std::size_t tokens = 1; tokens <= 8; ++tokens) {
                    for (const bool accumulate : {false, true}) {
                        std::vector<float> y(8 * 12, 0.5F);
                        table->multiplyTokens(
                            {w.data(), kStride, rows, x.data(), kStride, tokens, columns, y.data(), 12, accumulate});
                        for (std::size_t t = 0; t < 8; ++t) {
                            for (std::size_t r = 0; r < 12; ++r) {
                                if (t >= tokens || r >= rows) {
                                    QCOMPARE(y[t * 12 + r], 0.5F);
                                    continue;
                                }
                                Sum sum;
                                sum.add(accumulate ? 0.5 : 0);
                                for (std::size_t c = 0; c < columns; ++c)
                                    sum.add(double{w[r * kStride + c]} * x[t * kStride + c]);
                                QVERIFY(sum.agrees(y[t * 12 + r]));
                            }
                        }
                    }
                }
            }
        }
    }

    void addedProductsAgreeForEveryShapeAndBothOrientations_data() { addTables(); }
    void addedProductsAgreeForEveryShapeAndBothOrientations()
    {
        QFETCH(const KernelTable*, table);
        constexpr std::size_t kStride = 40;
        const std::vector<float> a = randomFloats(kStride * kStride, 5);
        const std::vector<float> b = randomFloats(kStride * kStride, 6);
        for (const bool transposed : {false, true}) {
            const std::size_t rowStride = transposed ? 1 : kStride;
            const std::size_t depthStride = transposed ? kStride : 1;
            for (const std::size_t rows : {1U, 3U, 4U, 9U, 12U, 16U, 28U}) {
                for (const std::size_t depth : {0U, 1U, 33U}) {
                    for (std::size_t columns = 1; columns <= 34; ++columns) {
                        std::vector<float> c(29 * kStride, 0.25F);
                        table->addProduct({a.data(), rowStride, depthStride, b.data(), kStride, c.data(), kStride, rows,
                            depth, columns});
                        for (std::size_t m = 0; m < 29; ++m) {
                            for (std::size_t n = 0; n < kStride; ++n) {
                                Sum sum;
                                sum.add(0.25);
                                for (std::size_t k = 0; k < depth && m < rows && n < columns; ++k)
                                    sum.add(double{a[m * rowStride + k * depthStride]} * b[k * kStride + n]);
                                QVERIFY(sum.agrees(c[m * kStride + n]));
                            }
                        }
                    }
                }
            }
        }
    }

    void exponentialsAreWithinTwoUnitsInTheLastPlace_data() { addTables(); }
    void exponentialsAreWithinTwoUnitsInTheLastPlace()
    {
        QFETCH(const KernelTable*, table);
        std::vector<float> x;
        for (float value = -110; value < 89; value += 0.0371F)
            x.push_back(value);
        x.insert(x.end(), {0.0F, -0.0F, 88.7F, -87.33F, -103.9F, -150.0F, -1e30F});
        std::vector<double> later(x.begin(), x.end());
        const std::vector<double> earlier(x.size(), 0.0);
        for (const std::size_t count : {x.size(), x.size() - 3, std::size_t{5}, std::size_t{0}}) {
            std::vector<float> values(x.size(), -1.0F);
            table->expOfDifference(later.data(), earlier.data(), values.data(), count);
            for (std::size_t i = 0; i < x.size(); ++i) {
                if (i < count)
                    QVERIFY2(lastPlaces(values[i], std::exp(double{x[i]})) <= 2, qPrintable(QString::number(x[i])));
                else
                    QCOMPARE(values[i], -1.0F);
            }
        }
        const float infinite = std::numeric_limits<float>::infinity();
        const double minusInfinity = -std::numeric_limits<double>::infinity();
        float value = -1;
        table->expOfDifference(&minusInfinity, earlier.data(), &value, 1);
        QCOMPARE(value, 0.0F);
        later[0] = 100;
        table->expOfDifference(later.data(), earlier.data(), &value, 1);
        QCOMPARE(value, infinite);
    }

    void softmaxTermsAndTheirSumAgreeForEveryLength_data() { addTables(); }
    void softmaxTermsAndTheirSumAgreeForEveryLength()
    {
        QFETCH(const KernelTable*, table);
        const std::vector<float> scores = randomFloats(64, 8, 6);
        for (std::size_t count = 0; count <= 64; ++count) {
            std::vector<float> x = scores;
            const float total = table->expAndSum(x.data(), 9.5F, count);
            Sum sum;
            for (std::size_t i = 0; i < 64; ++i) {
                if (i >= count) {
                    QCOMPARE(x[i], scores[i]);
                    continue;
                }
                const double expected = std::exp(double{scores[i] - 9.5F});
                QVERIFY(lastPlaces(x[i], expected) <= 2);
                sum.add(expected);
            }
            QVERIFY(sum.agrees(total));
        }
    }

    void activationsAreWithinAFewUnitsInTheLastPlace_data() { addTables(); }
    void activationsAreWithinAFewUnitsInTheLastPlace()
    {
        QFETCH(const KernelTable*, table);
        const std::vector<float> x = activationInputs();
        const std::vector<float> u = randomFloats(x.size(), 9, 30);
        const auto check = [&](const char* what, const std::vector<float>& actual,
                               const std::function<double(double, double)>& expected) {
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double value = expected(x[i], u[i]);
                // σ underflows to 0 below −103; its f32 form may do so from −88 on, where it is subnormal.
                const bool fine = lastPlaces(actual[i], value) <= 8 || std::abs(actual[i] - value) < 1e-36;
                QVERIFY2(
                    fine, qPrintable(QString("%1 of %2: %3 for %4").arg(what).arg(x[i]).arg(actual[i]).arg(value)));
            }
        };
        std::vector<float> y = u;
        table->multiplySigmoid(x.data(), y.data(), x.size());
        check("sigmoid", y, [](double t, double v) { return v * sigmoid(t); });
        y = x;
        table->siluInPlace(y.data(), x.size());
        check("silu in place", y, [](double g, double) { return g * sigmoid(g); });
        y = x;
        table->silu(y.data(), u.data(), x.size());
        check("silu", y, [](double g, double up) { return g * sigmoid(g) * up; });
        y = x;
        table->situ({4, 25}, y.data(), u.data(), x.size());
        check(
            "situ", y, [](double g, double up) { return 4 * std::tanh(g / 4) * sigmoid(g) * 25 * std::tanh(up / 25); });
        y = x;
        table->situ({1.5F, 0}, y.data(), u.data(), x.size());
        check("situ, linear up", y, [](double g, double up) { return 1.5 * std::tanh(g / 1.5) * sigmoid(g) * up; });
        table->logDecay({.rate = 2.5F}, x.data(), y.data(), x.size());
        check("decay without a bound", y,
            [](double z, double) { return -2.5 * (std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z)))); });
        table->logDecay({.rate = 1, .lowerBound = -5}, x.data(), y.data(), x.size());
        check("bounded decay", y, [](double z, double) { return -5 * sigmoid(z); });
    }

    void whatIsNotANumberStaysVisible_data() { addTables(); }
    void whatIsNotANumberStaysVisible()
    {
        QFETCH(const KernelTable*, table);
        const float nan = std::numeric_limits<float>::quiet_NaN();
        const double later = std::numeric_limits<double>::quiet_NaN();
        const double earlier = 0;
        float values[] = {1, 1, nan, nan, nan, nan, 1, 1};
        const float one = 1;
        table->expOfDifference(&later, &earlier, values, 1);
        table->multiplySigmoid(&nan, values + 1, 1);
        table->siluInPlace(values + 2, 1);
        table->silu(values + 3, &one, 1);
        table->situ({4, 25}, values + 4, &one, 1);
        QVERIFY(std::isnan(table->expAndSum(values + 5, 0, 1)));
        table->logDecay({.rate = 1}, &nan, values + 6, 1);
        table->logDecay({.rate = 1, .lowerBound = -5}, &nan, values + 7, 1);
        for (const float value : values)
            QVERIFY(std::isnan(value));
    }

    void situMatchesTheValuesOfTheSpecification_data() { addTables(); } // spec: model 14 V1
    void situMatchesTheValuesOfTheSpecification()
    {
        QFETCH(const KernelTable*, table);
        float gate[] = {1, -3, 8, 0};
        const float up[] = {2, 10, -40, 5};
        table->situ({4, 25}, gate, up, 4);
        const double expected[] = {1.429351132, -1.144501021, -88.821594288, 0};
        for (int i = 0; i < 4; ++i)
            QVERIFY(std::abs(gate[i] - expected[i]) <= 1e-6 * std::abs(expected[i]));
    }

    void aKdaStepAgreesWithDoubleArithmeticForEveryWidth_data() { addTables(); }
    void aKdaStepAgreesWithDoubleArithmeticForEveryWidth()
    {
        QFETCH(const KernelTable*, table);
        std::vector<std::size_t> dims = {64, 100, 128, 150};
        for (std::size_t dim = 1; dim <= 42; ++dim)
            dims.push_back(dim);
        for (const std::size_t dim : dims) {
            std::vector<float> state = randomFloats(dim * dim, 10, 0.2F);
            const std::vector<float> query = randomFloats(dim, 11, 0.1F);
            const std::vector<float> key = randomFloats(dim, 12, 0.1F);
            const std::vector<float> value = randomFloats(dim, 13);
            std::vector<float> decay = randomFloats(dim, 14);
            for (float& d : decay)
                d = std::exp(-std::abs(d));
            std::vector<float> output(dim);
            std::vector<double> expected(state.begin(), state.end());
            table->kdaStep(
                {state.data(), dim, query.data(), key.data(), value.data(), decay.data(), 0.7F, output.data()});
            for (std::size_t j = 0; j < dim; ++j) {
                double recalled = 0;
                for (std::size_t d = 0; d < dim; ++d) {
                    expected[d * dim + j] *= decay[d];
                    recalled += key[d] * expected[d * dim + j];
                }
                const double update = double{0.7F} * (value[j] - recalled);
                Sum out;
                for (std::size_t d = 0; d < dim; ++d) {
                    expected[d * dim + j] += key[d] * update;
                    out.add(query[d] * expected[d * dim + j]);
                    QVERIFY(std::abs(state[d * dim + j] - expected[d * dim + j]) <= 1e-6);
                }
                QVERIFY(std::abs(output[j] - out.value) <= 2e-6 * (out.magnitude + 1));
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestKernels)
#include "tst_kernels.moc"
