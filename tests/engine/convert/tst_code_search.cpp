// The searches for codes: every table of kernels finds the codes of the specification, bit for bit, and these are as
// near as a search of everything where that is possible.

#include "convert/codebook_search.h"
#include "engine/kernels/kernel_tables.h"
#include "kernels/kernels.h"
#include "support/test_weights.h"

#include <QTest>

#include <limits>
#include <vector>

using namespace waste;
using namespace waste::kernels;
using namespace waste::test;

namespace {

// Books whose stages get smaller, as fitted ones do: [stages][entries][8].
std::vector<float> booksOf(std::size_t stages, std::size_t entries, std::uint64_t seed)
{
    std::vector<float> books = gaussians(stages * entries * kCodeColumns, seed);
    for (std::size_t i = 0; i < books.size(); ++i)
        books[i] *= std::exp2(-static_cast<float>(i / (entries * kCodeColumns)));
    return books;
}

double distance(const float* x, std::span<const float> books, std::size_t entries, std::span<const std::uint8_t> code)
{
    double sum = 0;
    for (std::size_t d = 0; d < kCodeColumns; ++d) {
        double rest = double{x[d]};
        for (std::size_t s = 0; s < code.size(); ++s)
            rest -= double{books[(s * entries + code[s]) * kCodeColumns + d]};
        sum += rest * rest;
    }
    return sum;
}

void addShapes()
{
    QTest::addColumn<int>("stages");
    QTest::addColumn<int>("entries");
    for (const int entries : {64, 256}) {
        for (int stages = 2; stages <= 4; ++stages)
            QTest::addRow("%d x %d", stages, entries) << stages << entries;
    }
}

std::vector<const KernelTable*> tablesOfThisCpu()
{
    std::vector<const KernelTable*> tables;
    for (const char* isa : testedSets()) {
        if (const Result<const KernelTable*> table = selectKernels(isa))
            tables.push_back(*table);
    }
    return tables;
}

constexpr BeamWidth kWidths[] = {BeamWidth::Eight, BeamWidth::Sixteen, BeamWidth::ThirtyTwo, BeamWidth::SixtyFour};

} // namespace

class CodeSearchTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyTableFindsTheSameCodes_data() { addShapes(); }
    void everyTableFindsTheSameCodes()
    {
        QFETCH(int, stages);
        QFETCH(int, entries);
        const auto stageCount = static_cast<std::size_t>(stages);
        const std::vector<float> books = booksOf(stageCount, static_cast<std::size_t>(entries), 1);
        std::vector<float> vectors = gaussians(200 * kCodeColumns, 2);
        std::fill_n(vectors.begin(), kCodeColumns, 0.0F);
        std::fill_n(vectors.begin() + kCodeColumns, kCodeColumns, 3e30F); // far beyond all sums
        std::fill_n(vectors.begin() + 2 * kCodeColumns, kCodeColumns, -1e-40F);
        // What is no number has codes all the same: those of zero, and nothing is made an integer that is none.
        vectors[3 * kCodeColumns + 1] = std::numeric_limits<float>::quiet_NaN();
        vectors[4 * kCodeColumns + 6] = -std::numeric_limits<float>::infinity();
        const CodeSearch plain(scalarTable(), stageCount, books);
        std::vector<std::uint8_t> first(5 * stageCount);
        plain.search(BeamWidth::Sixteen, vectors.data(), 5, first.data());
        for (const std::size_t same : {1, 3, 4})
            QVERIFY(std::equal(first.begin(), first.begin() + stages, &first[same * stageCount]));
        for (const KernelTable* const table : tablesOfThisCpu()) {
            const CodeSearch search(*table, stageCount, books);
            for (const BeamWidth width : kWidths) {
                std::vector<std::uint8_t> expected(200 * stageCount);
                std::vector<std::uint8_t> found(200 * stageCount);
                plain.search(width, vectors.data(), 200, expected.data());
                search.search(width, vectors.data(), 200, found.data());
                QVERIFY2(found == expected, table->name);
                // Whoever cuts the vectors into pieces.
                search.search(width, vectors.data() + 7 * kCodeColumns, 1, found.data());
                QVERIFY2(std::equal(found.begin(), found.begin() + stages, expected.begin() + 7 * stages), table->name);
            }
        }
    }

    void everyTableFindsTheSameNearestEntries_data()
    {
        QTest::addColumn<int>("entries");
        QTest::newRow("64") << 64;
        QTest::newRow("256") << 256;
    }
    void everyTableFindsTheSameNearestEntries()
    {
        QFETCH(int, entries);
        std::vector<float> book = gaussians(static_cast<std::size_t>(entries) * kCodeColumns, 1);
        // Some entries twice: of equally near ones the first is found.
        std::copy_n(book.begin(), 20 * kCodeColumns, book.begin() + 21 * kCodeColumns);
        std::vector<float> vectors = gaussians(1000 * kCodeColumns, 2);
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        // Of some vectors only some entries have a score that is a number.
        for (std::size_t i = 0; i < 64; ++i) {
            for (std::size_t d = 0; d <= i % 4; ++d)
                vectors[i * kCodeColumns + d] = (i >> (2 + d)) % 2 == 0 ? kInfinity : -kInfinity;
        }
        vectors[100 * kCodeColumns + 1] = std::numeric_limits<float>::quiet_NaN();
        std::vector<std::uint8_t> expected(1000);
        CodebookSearch(scalarTable(), book).nearest(vectors.data(), 1000, expected.data());
        for (const std::uint8_t entry : expected)
            QVERIFY(entry < 21 || entry >= 41);
        for (const KernelTable* const table : tablesOfThisCpu()) {
            std::vector<std::uint8_t> found(1000);
            CodebookSearch(*table, book).nearest(vectors.data(), 1000, found.data());
            QVERIFY2(found == expected, table->name);
        }
    }

    void aWidthOfAllEntriesFindsTheBestCodeOfTwoStages()
    {
        // 64 beginnings of 64 entries: nothing is left out, but for what rounding to units cannot tell apart.
        const std::vector<float> books = booksOf(2, 64, 3);
        const std::vector<float> vectors = gaussians(100 * kCodeColumns, 4);
        std::vector<std::uint8_t> codes(200);
        CodeSearch(**selectKernels(nullptr), 2, books).search(BeamWidth::SixtyFour, vectors.data(), 100, codes.data());
        for (std::size_t i = 0; i < 100; ++i) {
            const float* const x = &vectors[i * kCodeColumns];
            double best = std::numeric_limits<double>::max();
            for (int pair = 0; pair < 64 * 64; ++pair) {
                const std::uint8_t code[] = {
                    static_cast<std::uint8_t>(pair / 64), static_cast<std::uint8_t>(pair % 64)};
                best = std::min(best, distance(x, books, 64, code));
            }
            QVERIFY(distance(x, books, 64, std::span(codes).subspan(2 * i, 2)) <= best + 5e-3);
        }
    }

    void widerSearchesComeNearer_data() { addShapes(); }
    void widerSearchesComeNearer()
    {
        QFETCH(int, stages);
        QFETCH(int, entries);
        const auto stageCount = static_cast<std::size_t>(stages);
        const auto entryCount = static_cast<std::size_t>(entries);
        const std::vector<float> books = booksOf(stageCount, entryCount, 5);
        const std::vector<float> vectors = gaussians(1000 * kCodeColumns, 6);
        const CodeSearch search(**selectKernels(nullptr), stageCount, books);
        double before = std::numeric_limits<double>::max();
        double first = 0;
        for (const BeamWidth width : kWidths) {
            std::vector<std::uint8_t> codes(1000 * stageCount);
            search.search(width, vectors.data(), 1000, codes.data());
            double sum = 0;
            for (std::size_t i = 0; i < 1000; ++i)
                sum += distance(&vectors[i * kCodeColumns], books, entryCount,
                    std::span(codes).subspan(i * stageCount, stageCount));
            QVERIFY(sum <= before); // of two stages, 32 beginnings already lead to the best code
            first = first > 0 ? first : sum;
            before = sum;
        }
        QVERIFY(before < 0.99 * first);
    }
};

QTEST_APPLESS_MAIN(CodeSearchTest)
#include "tst_code_search.moc"
