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
    {130, 136, 8, 4, 6, 64},
    {1, 8, 8, 3, 8, 64},
    {68, 2048, 8, 3, 8, 64},
};
const std::size_t kCounts[] = {1, 2, 3, 4, 5, 6, 7, 11, 16};
constexpr std::size_t kKinds = 6; // of vectors

// Ordinary activations, and by vector: outliers, zeros, tiny values, one that is no number and one that is infinite.
std::vector<float> activations(std::size_t columns, std::size_t count, std::uint32_t seed)
{
    std::vector<float> x = randomFloats(columns * count, seed);
    for (std::size_t v = 0; v < count; ++v) {
        float* const vector = x.data() + v * columns;
        for (std::size_t c = 0; c < columns; ++c) {
            if (v % kKinds == 1)
                vector[c] *= c % 50 == 7 ? 300.0F : 1.0F;
            if (v % kKinds == 2)
                vector[c] = 0;
            if (v % kKinds == 3)
                vector[c] *= 1e-34F;
        }
        if (v % kKinds == 4)
            vector[columns / 2] = std::numeric_limits<float>::quiet_NaN();
        if (v % kKinds == 5)
            vector[columns / 2] = -std::numeric_limits<float>::infinity();
    }
    return x;
}

// Vectors in words; one place more than there are vectors.
struct Words {
    Words(const KernelTable& table, const std::vector<float>& x, std::size_t columns, std::size_t count)
        : stride(count + 1)
        , vectors(count)
        , groups(stride * ((columns + kWordGroup - 1) / kWordGroup))
    {
        for (std::size_t v = 0; v < count; ++v) {
            for (std::size_t c = 0; c < columns; c += kWordGroup)
                table.splitWords(
                    x.data() + v * columns + c, std::min(kWordGroup, columns - c), groups[c / kWordGroup * stride + v]);
        }
    }
    [[nodiscard]] WordInput input() const { return {groups.data(), stride, vectors}; }

    std::size_t stride;
    std::size_t vectors;
    std::vector<WordGroup> groups;
};

struct Books {
    explicit Books(const StoredExpert& expert)
        : values(kWordBookBytes / sizeof(std::int16_t))
        , books(buildWordBooks(expert.view, values))
    {
    }
    std::vector<std::int16_t> values;
    WordBooks books;
};

// [count][rows]
std::vector<float> multiplied(
    const KernelTable& table, const StoredExpert& expert, const WordBooks& books, const WordInput& input)
{
    const std::size_t rows = expert.view.rows;
    std::vector<float> y(input.count * rows);
    std::vector<float> block(input.count * kWordRows);
    std::vector<float> tile(kTileFloats);
    for (std::size_t row = 0; row < rows; row += kWordRows) {
        std::fill(block.begin(), block.end(), -7.0F);
        multiplyWords(table, expert.view, books, input, block.data(), static_cast<std::uint32_t>(row), tile.data());
        for (std::size_t v = 0; v < input.count; ++v)
            std::copy_n(block.data() + v * kWordRows, std::min(kWordRows, rows - row), y.data() + v * rows + row);
    }
    return y;
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
        for (std::size_t columns = kWordColumns; columns <= kWordGroup; columns += kWordColumns) {
            const std::vector<float> x = activations(columns, kKinds, static_cast<std::uint32_t>(columns));
            for (std::size_t v = 0; v < kKinds; ++v) {
                WordGroup expected = {};
                WordGroup actual = {};
                scalarTable().splitWords(x.data() + v * columns, columns, expected);
                table->splitWords(x.data() + v * columns, columns, actual);
                QCOMPARE(std::memcmp(expected.values, actual.values, sizeof actual.values), 0);
                QVERIFY(expected.scale == actual.scale || (std::isnan(expected.scale) && std::isnan(actual.scale)));
            }
        }
    }

    void aWordIsWithinHalfAUnitOfItsValue_data() { addTables(); }
    void aWordIsWithinHalfAUnitOfItsValue()
    {
        QFETCH(const KernelTable*, table);
        const std::vector<float> x = activations(kWordGroup, kKinds, 3);
        const Words words(*table, x, kWordGroup, kKinds);
        for (std::size_t v = 0; v < kKinds; ++v) {
            const WordGroup& group = words.groups[v];
            QCOMPARE(std::isnan(group.scale), v == 4 || v == 5);
            for (std::size_t c = 0; c < kWordGroup && !std::isnan(group.scale); ++c) {
                const int word = group.values[c];
                QVERIFY(std::abs(word) <= kWordInputMax);
                QVERIFY(std::abs(double{group.scale} * word - x[v * kWordGroup + c]) <= 0.5001 * group.scale + 1e-30);
            }
        }
    }

    void entriesAreWithinHalfAUnitAndTheirSumsWithinTheLimit()
    {
        for (const StoredExpert::Shape& shape : kShapes) {
            const StoredExpert expert(shape);
            std::vector<std::int16_t> values(kWordBookBytes / sizeof(std::int16_t));
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
        std::vector<std::int16_t> values(kWordBookBytes / sizeof(std::int16_t), 7);
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
        for (const StoredExpert::Shape& shape : kShapes) {
            const StoredExpert expert(shape);
            const Books books(expert);
            for (std::uint32_t row = 0; row < shape.rows; row += kWordRows) {
                for (std::uint32_t column = 0; column < shape.columns; column += kWordGroup) {
                    const std::uint32_t end = std::min(column + std::uint32_t{kWordGroup}, shape.columns);
                    std::vector<std::int16_t> expected(kWordGroup * kWordRows);
                    std::vector<std::int16_t> actual(expected.size());
                    scalarTable().unpackVqWords(expert.view, books.books, row, column, end, expected.data());
                    table->unpackVqWords(expert.view, books.books, row, column, end, actual.data());
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
            const Words words(*table, std::vector<float>(kWordGroup, static_cast<float>(sign)), kWordGroup, 1);
            const std::vector<std::int16_t> w(kWordGroup * kWordRows, kWordWeightMax);
            std::vector<float> y(kWordRows);
            table->addWordProduct({w.data(), words.groups.data(), kWordGroup, 1, y.data()});
            for (const float value : y)
                QCOMPARE(value, static_cast<float>(sign) * kWordGroup * kWordWeightMax);
        }
    }

    void productsHaveTheBitsOfTheSpecification_data() { addTables(); }
    void productsHaveTheBitsOfTheSpecification()
    {
        QFETCH(const KernelTable*, table);
        for (const StoredExpert::Shape& shape : kShapes) {
            const StoredExpert expert(shape);
            const Books books(expert);
            for (const std::size_t count : kCounts) {
                const Words words(scalarTable(), activations(shape.columns, count, 5), shape.columns, count);
                QVERIFY(isSame(multiplied(*table, expert, books.books, words.input()),
                    multiplied(scalarTable(), expert, books.books, words.input())));
            }
        }
    }

    void aVectorsResultDoesNotDependOnTheOthers_data() { addTables(); }
    void aVectorsResultDoesNotDependOnTheOthers()
    {
        QFETCH(const KernelTable*, table);
        const StoredExpert expert({72, 136, 8, 3, 8, 64});
        const Books books(expert);
        constexpr std::size_t kCount = 17;
        const Words words(*table, activations(136, kCount, 9), 136, kCount);
        const std::vector<float> together = multiplied(*table, expert, books.books, words.input());
        for (std::size_t first = 0; first < kCount; ++first) {
            for (const std::size_t count : {1U, 4U}) {
                if (first + count > kCount)
                    continue;
                const WordInput some = {words.groups.data() + first, words.stride, count};
                const std::vector<float> apart = multiplied(*table, expert, books.books, some);
                QCOMPARE(std::memcmp(apart.data(), together.data() + first * 72, apart.size() * sizeof(float)), 0);
            }
        }
    }

    void productsAreNearTheExactSums_data() { addTables(); }
    void productsAreNearTheExactSums()
    {
        QFETCH(const KernelTable*, table);
        for (const StoredExpert::Shape& shape : kShapes) {
            const StoredExpert expert(shape);
            const Books books(expert);
            const std::vector<float> x = activations(shape.columns, kKinds, 6);
            const Words words(*table, x, shape.columns, kKinds);
            const std::vector<float> y = multiplied(*table, expert, books.books, words.input());
            for (std::size_t v = 0; v < 4; ++v) { // the others are no numbers
                for (std::size_t row = 0; row < shape.rows; ++row) {
                    const double rowScale = std::abs(double{floatFromHalf(expert.scales[row])});
                    double sum = 0;
                    double limit = 1e-30;
                    for (std::size_t c = 0; c < shape.columns; ++c) {
                        const double scale = words.groups[c / kWordGroup * words.stride + v].scale;
                        const double weight = expert.exact[row * shape.columns + c];
                        const double value = x[v * shape.columns + c];
                        sum += weight * value;
                        limit += (std::abs(weight) + 2.1 * rowScale * books.books.unit) * 0.5001 * scale
                            + 2.1 * rowScale * books.books.unit * std::abs(value) + 1e-6 * std::abs(weight * value);
                    }
                    QVERIFY(std::abs(y[v * shape.rows + row] - sum) <= limit);
                }
            }
            for (std::size_t row = 0; row < shape.rows; ++row)
                QVERIFY(std::isnan(y[4 * shape.rows + row]) && std::isnan(y[5 * shape.rows + row]));
        }
    }
};

QTEST_APPLESS_MAIN(TestWordKernels)
#include "tst_word_kernels.moc"
