// Products in two planes: every table gives the bits of the specification, whatever the length, the format, the
// number of vectors and the range of rows; and they are as near the exact sums as 15 bits allow.

#include "kernels/kernels.h"
#include "plane_vectors.h"
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

bool isSame(const Planes& a, const Planes& b)
{
    const auto sameBytes = [](const PlaneBytes& x, const PlaneBytes& y) {
        return std::equal(std::begin(x.high), std::end(x.high), y.high)
            && std::equal(std::begin(x.low), std::end(x.low), y.low);
    };
    const auto sameWords = [](const PlaneWords& x, const PlaneWords& y) {
        return std::equal(std::begin(x.values), std::end(x.values), y.values);
    };
    return std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end(), sameBytes)
        && std::equal(a.words.begin(), a.words.end(), b.words.begin(), b.words.end(), sameWords);
}

// From ordinary activations to outliers, tiny values and zeros.
std::vector<float> activations(std::size_t count, std::uint32_t seed)
{
    std::vector<float> x = randomFloats(count, seed);
    for (std::size_t i = 0; i < count; i += 97)
        x[i] *= 300;
    for (std::size_t i = 640; i < std::min<std::size_t>(count, 768); ++i)
        x[i] = 0;
    for (std::size_t i = 768; i < std::min<std::size_t>(count, 896); ++i)
        x[i] *= 1e-34F;
    return x;
}

} // namespace

class TestPlaneKernels : public QObject {
    Q_OBJECT

private:
    static void addRows() { addTablesAndFormats({WeightFormat::Q8G, WeightFormat::Q4G}); }

private Q_SLOTS:
    void theIntegersAreTheSameOnEveryTable_data() { addRows(); }
    void theIntegersAreTheSameOnEveryTable()
    {
        QFETCH(const KernelTable*, table);
        for (std::size_t columns = 1; columns <= 1100; columns += columns < 300 ? 1 : 100) {
            const std::vector<float> x = activations(columns, static_cast<std::uint32_t>(columns));
            const Planes expected(scalarTable(), x, columns, 1);
            const Planes actual(*table, x, columns, 1);
            QVERIFY(isSame(actual, expected));
            QCOMPARE(actual.scales, expected.scales);
            QCOMPARE(actual.sums, expected.sums);
        }
    }

    void planesHoldFifteenBitsOfEachValue_data() { addRows(); }
    void planesHoldFifteenBitsOfEachValue()
    {
        QFETCH(const KernelTable*, table);
        const std::vector<float> x = activations(2000, 3);
        const Planes planes(*table, x, x.size(), 1);
        for (std::size_t i = 0; i < planes.words.size() * kPlaneGroup; ++i) {
            const PlaneBytes& bytes = planes.bytes[i / kPlaneGroup];
            const std::size_t column = i % kPlaneGroup;
            const std::size_t place = column % 2 * (kPlaneGroup / 2) + column / 2;
            const int whole = planes.words[i / kPlaneGroup].values[column];
            QCOMPARE(whole, 128 * bytes.high[place] + bytes.low[place]);
            const float scale = planes.scales[i / kPlaneGroup];
            const double value = i < x.size() ? x[i] : 0;
            QVERIFY(std::abs(double{scale} * whole - value) <= 0.5001 * scale + 1e-30);
        }
    }

    void productsHaveTheBitsOfTheSpecification_data() { addRows(); }
    void productsHaveTheBitsOfTheSpecification()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(int, format);
        for (const StoredMatrix& matrix : matricesOf(static_cast<WeightFormat>(format))) {
            const MatrixView& view = matrix.view;
            if (!takesPlanes(view))
                continue;
            for (const std::size_t tokens : {1U, 2U, 3U, 4U, 7U, 8U, 70U}) {
                const Planes x(scalarTable(), activations(view.columns * tokens, 5), view.columns, tokens);
                const std::size_t stride = view.rows + 1;
                std::vector<float> expected(tokens * stride, -7.0F);
                std::vector<float> actual = expected;
                scalarTable().multiplyPlanes(view, x.input, expected.data(), stride, 0, view.rows);
                for (const std::uint32_t cut : {0U, 1U, std::min(20U, view.rows), view.rows}) {
                    table->multiplyPlanes(view, x.input, actual.data(), stride, 0, cut);
                    table->multiplyPlanes(view, x.input, actual.data(), stride, cut, view.rows);
                    QCOMPARE(actual, expected);
                }
            }
        }
    }

    void aVectorsResultDoesNotDependOnTheOthers_data() { addRows(); }
    void aVectorsResultDoesNotDependOnTheOthers()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(int, format);
        constexpr std::size_t kTokens = 67;
        const StoredMatrix matrix(static_cast<WeightFormat>(format), 7, 2304, 128);
        const std::vector<float> x = activations(2304 * kTokens, 8);
        const Planes all(*table, x, 2304, kTokens);
        std::vector<float> together(kTokens * 7);
        table->multiplyPlanes(matrix.view, all.input, together.data(), 7, 0, 7);
        for (std::size_t t = 0; t < kTokens; ++t) {
            const Planes one(*table, {x.begin() + static_cast<std::ptrdiff_t>(t * 2304), x.end()}, 2304, 1);
            std::vector<float> alone(7);
            table->multiplyPlanes(matrix.view, one.input, alone.data(), 7, 0, 7);
            QVERIFY(std::equal(alone.begin(), alone.end(), together.begin() + static_cast<std::ptrdiff_t>(t * 7)));
        }
    }

    void productsAreNearTheExactSums_data() { addRows(); }
    void productsAreNearTheExactSums()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(int, format);
        for (const StoredMatrix& matrix : matricesOf(static_cast<WeightFormat>(format))) {
            const MatrixView& view = matrix.view;
            if (!takesPlanes(view))
                continue;
            const std::vector<float> x = activations(view.columns, 6);
            const Planes planes(*table, x, view.columns, 1);
            std::vector<float> y(view.rows);
            table->multiplyPlanes(view, planes.input, y.data(), view.rows, 0, view.rows);
            for (std::size_t row = 0; row < view.rows; ++row) {
                double sum = 0;
                double limit = 1e-30;
                for (std::size_t c = 0; c < view.columns; ++c) {
                    const double weight = matrix.values[row * view.columns + c];
                    sum += weight * x[c];
                    limit += std::abs(weight) * (0.5001 * planes.scales[c / kPlaneGroup] + 1e-6 * std::abs(x[c]));
                }
                QVERIFY(std::abs(y[row] - sum) <= limit);
            }
        }
    }

    void whatIsNotFiniteStaysVisible_data() { addRows(); }
    void whatIsNotFiniteStaysVisible()
    {
        QFETCH(const KernelTable*, table);
        QFETCH(int, format);
        const StoredMatrix matrix(static_cast<WeightFormat>(format), 3, 300, 128);
        for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                 -std::numeric_limits<float>::infinity()}) {
            for (const std::size_t place : {0U, 131U, 299U}) {
                std::vector<float> x = randomFloats(300, 4);
                x[place] = value;
                const Planes planes(*table, x, 300, 1);
                std::vector<float> y(3);
                table->multiplyPlanes(matrix.view, planes.input, y.data(), 3, 0, 3);
                for (const float sum : y)
                    QVERIFY(!std::isfinite(sum));
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestPlaneKernels)
#include "tst_plane_kernels.moc"
