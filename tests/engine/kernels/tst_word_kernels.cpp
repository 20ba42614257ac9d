// Experts times several vectors in 16-bit integers: every table gives the bits of the specification, no sum can
// overflow, and results are as near the exact sums as the integers allow.

#include "kernel_tables.h"
#include "kernels/kernels.h"
#include "kernels/matrix_product.h"
#include "kernels/word_books.h"
#include "stored_weights.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

using namespace waste;
using namespace waste::kernels;
using namespace waste::test;

namespace {

const StoredExpert::Shape kShapes[] = {
    {72, 136, 8, 3, 8, 64},
    {70, 24, 8, 2, 8, 64},
    {65, 40, 8, 4, 6, 64},
    {66, 32, 8, 4, 8, 64},
    {130, 64, 8, 4, 6, 64},
    {1, 8, 8, 3, 8, 64},
    {68, 2048, 8, 3, 8, 64},
};
const std::size_t kCounts[] = {8, 16, 24};

// Ordinary activations, and by vector: outliers, zeros, tiny values, one that is no number and one that is infinite.
std::vector<float> activations(std::size_t columns, std::size_t count, std::uint32_t seed)
{
    std::vector<float> x = randomFloats(columns * count, seed);
    for (std::size_t c = 0; c < columns; ++c) {
        x[c * count + 1] *= c % 50 == 7 ? 300 : 1;
        x[c * count + 2] = 0;
        x[c * count + 3] *= 1e-34F;
    }
    x[columns / 2 * count + 4] = std::numeric_limits<float>::quiet_NaN();
    x[columns / 2 * count + 5] = -std::numeric_limits<float>::infinity();
    return x;
}

// Group by group, as whoever multiplies wants them.
void split(const KernelTable& table, std::vector<float>& x, std::size_t columns, std::size_t count)
{
    for (std::size_t c = 0; c < columns; c += kWordGroup)
        table.splitWords(x.data() + c * count, std::min(kWordGroup, columns - c), count);
}

int wordAt(const float* group, std::size_t column, std::size_t count, std::size_t vector)
{
    std::int16_t words[2];
    std::memcpy(words, group + column / 2 * count + vector, sizeof words);
    return words[column % 2];
}

bool isSame(const std::vector<float>& a, const std::vector<float>& b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

} // namespace

class TestWordKernels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theInputsWordsAreTheSameOnEveryTable_data() { addTables(); }
    void theInputsWordsAreTheSameOnEveryTable()
    {
        QFETCH(const KernelTable*, table);
        for (const std::size_t count : kCounts) {
            for (std::size_t columns = 2; columns <= kWordGroup; columns += 2) {
                std::vector<float> expected = activations(columns, count, static_cast<std::uint32_t>(columns));
                std::vector<float> actual = expected;
                scalarTable().splitWords(expected.data(), columns, count);
                table->splitWords(actual.data(), columns, count);
                const std::size_t used = (columns / 2 + 1) * count;
                expected.resize(used);
                actual.resize(used);
                QVERIFY(isSame(actual, expected));
            }
        }
    }

    void aWordIsWithinHalfAUnitOfItsValue_data() { addTables(); }
    void aWordIsWithinHalfAUnitOfItsValue()
    {
        QFETCH(const KernelTable*, table);
        const std::size_t count = 8;
        const std::vector<float> x = activations(kWordGroup, count, 3);
        std::vector<float> words = x;
        table->splitWords(words.data(), kWordGroup, count);
        for (std::size_t v = 0; v < count; ++v) {
            const float scale = words[kWordGroup / 2 * count + v];
            QCOMPARE(std::isnan(scale), v == 4 || v == 5);
            for (std::size_t c = 0; c < kWordGroup && !std::isnan(scale); ++c) {
                const int word = wordAt(words.data(), c, count, v);
                QVERIFY(std::abs(word) <= kWordInputMax);
                QVERIFY(std::abs(double{scale} * word - x[c * count + v]) <= 0.5001 * scale + 1e-30);
            }
        }
    }

    void entriesAreWithinHalfAUnitAndTheirSumsWithinTheLimit()
    {
        for (const StoredExpert::Shape& shape : kShapes) {
            const StoredExpert expert(shape);
            std::vector<std::int16_t> values(kWordBookValues);
            const WordBooks books = buildWordBooks(expert.view, values);
            int largest = 0;
            for (std::size_t stage = 0; stage < shape.stages; ++stage) {
                int largestOfStage = 0;
                for (std::size_t i = stage * 2048; i < (stage + 1) * 2048; ++i) {
                    largestOfStage = std::max(largestOfStage, std::abs(int{books.entries[i]}));
                    QVERIFY(
                        std::abs(double{books.unit} * books.entries[i] - expert.codebooks[i]) <= 0.501 * books.unit);
                }
                largest += largestOfStage;
            }
            QVERIFY(largest <= kWordWeightMax);
            QVERIFY(largest > kWordWeightMax - 5);
        }
    }

    void codebooksOfZerosAndOfNoNumbersAreTakenForWhatTheyAre()
    {
        StoredExpert expert({72, 136, 8, 3, 8, 64});
        std::vector<std::int16_t> values(kWordBookValues, 7);
        expert.codebooks[700] = std::numeric_limits<float>::infinity();
        QVERIFY(std::isnan(buildWordBooks(expert.view, values).unit));
        std::fill(expert.codebooks.begin(), expert.codebooks.end(), 0.0F);
        QCOMPARE(buildWordBooks(expert.view, values).unit, 0.0F);
        QCOMPARE(values[0], std::int16_t{0});
    }

    void rowsAreDecodedToTheSameWordsOnEveryTable_data() { addTables(); }
    void rowsAreDecodedToTheSameWordsOnEveryTable()
    {
        QFETCH(const KernelTable*, table);
        constexpr std::size_t kStride = kWordGroup + 3;
        for (const StoredExpert::Shape& shape : kShapes) {
            const StoredExpert expert(shape);
            std::vector<std::int16_t> values(kWordBookValues);
            const WordBooks books = buildWordBooks(expert.view, values);
            for (std::uint32_t first = 0; first < shape.rows; first += 64) {
                const std::uint32_t last = std::min(first + 64, shape.rows);
                for (std::uint32_t column = 0; column < shape.columns; column += kWordGroup) {
                    const std::uint32_t end = std::min(column + std::uint32_t{kWordGroup}, shape.columns);
                    std::vector<std::int16_t> expected(68 * kStride);
                    std::vector<std::int16_t> actual(68 * kStride);
                    scalarTable().unpackVqWords(expert.view, books, first, last, column, end, expected.data(), kStride);
                    table->unpackVqWords(expert.view, books, first, last, column, end, actual.data(), kStride);
                    expected.resize((last - first) * kStride);
                    actual.resize(expected.size());
                    QCOMPARE(actual, expected);
                }
            }
        }
    }

    void theLargestWordsDoNotOverflow_data() { addTables(); }
    void theLargestWordsDoNotOverflow()
    {
        QFETCH(const KernelTable*, table);
        for (const int sign : {1, -1}) {
            std::vector<float> x(kWordGroup * 8, static_cast<float>(sign));
            table->splitWords(x.data(), kWordGroup, 8);
            const std::vector<std::int16_t> w(kWordGroup, kWordWeightMax);
            std::vector<float> y(8);
            table->addWordProduct({w.data(), kWordGroup, 1, x.data(), kWordGroup, 8, y.data()});
            QCOMPARE(y[0], static_cast<float>(sign) * kWordGroup * kWordWeightMax);
        }
    }

    void productsHaveTheBitsOfTheSpecification_data() { addTables(); }
    void productsHaveTheBitsOfTheSpecification()
    {
        QFETCH(const KernelTable*, table);
        for (const StoredExpert::Shape& shape : kShapes) {
            const StoredExpert expert(shape);
            std::vector<std::int16_t> values(kWordBookValues);
            const WordBooks books = buildWordBooks(expert.view, values);
            for (const std::size_t count : kCounts) {
                std::vector<float> x = activations(shape.columns, count, 5);
                split(scalarTable(), x, shape.columns, count);
                std::vector<float> tile(kTileFloats);
                std::vector<float> expected(shape.rows * count, -7.0F);
                std::vector<float> actual = expected;
                multiplyWords(
                    scalarTable(), expert.view, books, {x.data(), count}, expected.data(), 0, shape.rows, tile.data());
                for (std::uint32_t row = 0; row < shape.rows; row += 64)
                    multiplyWords(*table, expert.view, books, {x.data(), count}, actual.data(), row,
                        std::min(row + 64, shape.rows), tile.data());
                QVERIFY(isSame(actual, expected));
            }
        }
    }

    void aVectorsResultDoesNotDependOnTheOthers_data() { addTables(); }
    void aVectorsResultDoesNotDependOnTheOthers()
    {
        QFETCH(const KernelTable*, table);
        const StoredExpert expert({72, 136, 8, 3, 8, 64});
        std::vector<std::int16_t> values(kWordBookValues);
        const WordBooks books = buildWordBooks(expert.view, values);
        const std::vector<float> x = activations(136, 24, 9);
        const auto multiplied = [&](std::size_t first, std::size_t count) {
            std::vector<float> some;
            for (std::size_t c = 0; c < 136; ++c)
                some.insert(some.end(), x.data() + c * 24 + first, x.data() + c * 24 + first + count);
            split(*table, some, 136, count);
            std::vector<float> tile(kTileFloats);
            std::vector<float> y(72 * count);
            multiplyWords(*table, expert.view, books, {some.data(), count}, y.data(), 0, 72, tile.data());
            return y;
        };
        const std::vector<float> together = multiplied(0, 24);
        for (const std::size_t first : {0U, 8U, 16U}) {
            const std::vector<float> apart = multiplied(first, 8);
            for (std::size_t row = 0; row < 72; ++row)
                QCOMPARE(std::memcmp(apart.data() + row * 8, together.data() + row * 24 + first, 8 * sizeof(float)), 0);
        }
    }

    void productsAreNearTheExactSums_data() { addTables(); }
    void productsAreNearTheExactSums()
    {
        QFETCH(const KernelTable*, table);
        const std::size_t count = 8;
        for (const StoredExpert::Shape& shape : kShapes) {
            const StoredExpert expert(shape);
            std::vector<std::int16_t> values(kWordBookValues);
            const WordBooks books = buildWordBooks(expert.view, values);
            const std::vector<float> x = activations(shape.columns, count, 6);
            std::vector<float> words = x;
            split(*table, words, shape.columns, count);
            std::vector<float> tile(kTileFloats);
            std::vector<float> y(shape.rows * count);
            multiplyWords(*table, expert.view, books, {words.data(), count}, y.data(), 0, shape.rows, tile.data());
            for (std::size_t v = 0; v < 4; ++v) { // the others are no numbers
                for (std::size_t row = 0; row < shape.rows; ++row) {
                    const double rowScale = std::abs(double{floatFromHalf(expert.scales[row])});
                    double sum = 0;
                    double limit = 1e-30;
                    for (std::size_t c = 0; c < shape.columns; ++c) {
                        const std::size_t group = c / kWordGroup * kWordGroup;
                        const std::size_t pairs = std::min(kWordGroup, shape.columns - group) / 2;
                        const double scale = words[(group + pairs) * count + v];
                        const double weight = expert.exact[row * shape.columns + c];
                        const double value = x[c * count + v];
                        sum += weight * value;
                        limit += (std::abs(weight) + 2.1 * rowScale * books.unit) * 0.5001 * scale
                            + 2.1 * rowScale * books.unit * std::abs(value) + 1e-6 * std::abs(weight * value);
                    }
                    QVERIFY(std::abs(y[row * count + v] - sum) <= limit);
                }
            }
            for (std::size_t row = 0; row < shape.rows; ++row)
                QVERIFY(std::isnan(y[row * count + 4]) && std::isnan(y[row * count + 5]));
        }
    }
};

QTEST_APPLESS_MAIN(TestWordKernels)
#include "tst_word_kernels.moc"
