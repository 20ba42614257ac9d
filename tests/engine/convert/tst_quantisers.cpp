// The parts that turn experts into codes: random numbers, searches, k-means, the joint refit and the encoder,
// against plain versions and the reference decoder, and the error that each recipe leaves.

#include "base/half.h"
#include "base/little_endian.h"
#include "container/dequantize.h"
#include "convert/codebook_search.h"
#include "convert/joint_refit.h"
#include "convert/kmeans.h"
#include "convert/random.h"
#include "convert/vq_codebooks.h"
#include "convert/vq_encoder.h"
#include "kernels/kernels.h"
#include "support/test_weights.h"

#include <QTest>

#include <cmath>
#include <set>

using namespace waste;
using namespace waste::test;

namespace {

SquaredError errorBetween(std::span<const float> original, std::span<const float> decoded)
{
    SquaredError error;
    for (std::size_t i = 0; i < original.size(); ++i)
        error.add(original[i], decoded[i]);
    return error;
}

// The codebooks of a matrix as a reader keeps them: [stages][256][8].
std::vector<float> tables(const VqCodebooks& codebooks, const ExpertQuant& quant)
{
    std::vector<float> values(std::size_t{quant.stages} * kCodebookTableRows * kVectorDim);
    for (std::size_t stage = 0; stage < quant.stages; ++stage) {
        for (std::size_t e = 0; e < quant.entries; ++e)
            std::copy_n(codebooks.entry(stage, static_cast<std::uint8_t>(e)), kVectorDim,
                values.data() + (stage * kCodebookTableRows + e) * kVectorDim);
    }
    return values;
}

const ExpertQuant kVq3r = {};
const ExpertQuant kVq2r = {.stages = 2};
const ExpertQuant kVq4p = {.stages = 4, .entries = 64, .indexBits = 6};

const kernels::KernelTable& fastestKernels()
{
    return **kernels::selectKernels();
}

constexpr VqRecipe kQuick = {"quick", kernels::BeamWidth::Eight, 2, 1'000'000};

VqCodebooks fitTo(std::span<const float> matrix, std::size_t columns, const ExpertQuant& quant, ThreadPool& pool)
{
    VqSample sample;
    Random random(7);
    sample.add(matrix, columns, kQuick.sampledVectorsMax, random);
    return VqCodebooks::fit(sample.take(), quant, kQuick, Random(8), fastestKernels(), pool);
}

void addFormats()
{
    QTest::addColumn<ExpertQuant>("quant");
    QTest::newRow("VQ3R") << kVq3r;
    QTest::newRow("VQ2R") << kVq2r;
    QTest::newRow("VQ4P") << kVq4p;
}

} // namespace

class QuantisersTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void randomNumbersAreThoseOfSplitmix64()
    {
        Random random(1234567);
        QCOMPARE(random.next(), std::uint64_t{6457827717110365317U});
        QCOMPARE(random.next(), std::uint64_t{3203168211198807973U});
        for (int i = 0; i < 1000; ++i)
            QVERIFY(random.below(3) < 3);
        QVERIFY(Random::forPart(1, 2, 3, 4).next() != Random::forPart(1, 3, 2, 4).next());
    }

    void theSearchFindsTheNearestEntry_data()
    {
        QTest::addColumn<int>("entries");
        QTest::newRow("64") << 64;
        QTest::newRow("256") << 256;
    }
    void theSearchFindsTheNearestEntry()
    {
        QFETCH(int, entries);
        const std::vector<float> codebook = gaussians(static_cast<std::size_t>(entries) * kVectorDim, 1);
        const std::vector<float> vectors = gaussians(500 * kVectorDim, 2);
        std::vector<std::uint8_t> indices(500);
        CodebookSearch(fastestKernels(), codebook).nearest(vectors.data(), indices.size(), indices.data());
        const auto distance = [&](std::size_t vector, std::size_t entry) {
            double sum = 0;
            for (std::size_t d = 0; d < kVectorDim; ++d)
                sum += std::pow(double{vectors[vector * kVectorDim + d]} - double{codebook[entry * kVectorDim + d]}, 2);
            return sum;
        };
        for (std::size_t v = 0; v < indices.size(); ++v) {
            for (std::size_t e = 0; e < static_cast<std::size_t>(entries); ++e)
                QVERIFY(distance(v, indices[v]) <= distance(v, e) + 1e-5);
        }
    }

    void equallyNearEntriesGiveTheLowestIndex()
    {
        std::vector<float> codebook(256 * kVectorDim, 5.0F);
        for (const std::size_t entry : {100U, 17U, 200U})
            std::fill_n(codebook.begin() + static_cast<std::ptrdiff_t>(entry * kVectorDim), kVectorDim, 1.0F);
        const std::vector<float> vector(kVectorDim, 1.25F);
        std::uint8_t index = 0;
        CodebookSearch(fastestKernels(), codebook).nearest(vector.data(), 1, &index);
        QCOMPARE(int{index}, 17);
    }

    void kmeansFindsSeparateClusters()
    {
        // 64 points, each repeated with a little noise; started anywhere, most end at a mean of few points.
        std::vector<float> vectors;
        Random random(3);
        for (int repeat = 0; repeat < 100; ++repeat) {
            for (int point = 0; point < 64; ++point) {
                for (std::uint32_t d = 0; d < kVectorDim; ++d)
                    vectors.push_back(static_cast<float>((point >> (d % 6)) & 1) * 10 + 0.1F * gaussian(random));
            }
        }
        ThreadPool pool({.threadCount = 1});
        const std::vector<float> one =
            fitCodebook(vectors, {.entryCount = 256, .iterations = 1}, Random(4), fastestKernels(), pool);
        const std::vector<float> ten =
            fitCodebook(vectors, {.entryCount = 256, .iterations = 10}, Random(4), fastestKernels(), pool);
        const auto left = [&](const std::vector<float>& codebook) {
            std::vector<std::uint8_t> indices(6400);
            CodebookSearch(fastestKernels(), codebook).nearest(vectors.data(), indices.size(), indices.data());
            double sum = 0;
            for (std::size_t i = 0; i < vectors.size(); ++i)
                sum += std::pow(vectors[i] - codebook[indices[i / kVectorDim] * kVectorDim + i % kVectorDim], 2);
            return sum / 6400;
        };
        QVERIFY(left(ten) <= left(one));
        QVERIFY2(left(ten) < 1.0, qPrintable(QString::number(left(ten))));
    }

    void kmeansDoesNotDependOnTheNumberOfThreads()
    {
        const std::vector<float> vectors = gaussians(20'000 * kVectorDim, 5); // five tiles, one of them partial
        ThreadPool one({.threadCount = 1});
        ThreadPool four({.threadCount = 4});
        QVERIFY(fitCodebook(vectors, {.entryCount = 64}, Random(6), fastestKernels(), one)
            == fitCodebook(vectors, {.entryCount = 64}, Random(6), fastestKernels(), four));
    }

    void fewerVectorsThanEntriesLeaveZeroEntries()
    {
        const std::vector<float> vectors = gaussians(10 * kVectorDim, 5);
        ThreadPool pool({.threadCount = 1});
        const std::vector<float> codebook = fitCodebook(vectors, {.entryCount = 64}, Random(6), fastestKernels(), pool);
        for (std::size_t i = 0; i < vectors.size(); i += kVectorDim) { // each its own mean, in some order
            const auto isThis = [&](std::size_t entry) {
                return std::equal(&vectors[i], &vectors[i] + kVectorDim, &codebook[entry * kVectorDim]);
            };
            std::size_t entry = 0;
            while (entry < 10 && !isThis(entry))
                ++entry;
            QVERIFY(entry < 10);
        }
        QVERIFY(std::all_of(codebook.begin() + 80, codebook.end(), [](float value) { return value == 0; }));
    }

    void aStartInOnePlaceSpreadsByItself()
    {
        // Two far groups, the smaller one so rare that seeds miss it: entries without vectors move there.
        std::vector<float> vectors = gaussians(8'192 * kVectorDim, 5);
        ThreadPool pool({.threadCount = 1});
        const std::vector<float> codebook =
            fitCodebook(vectors, {.entryCount = 256, .iterations = 10}, Random(6), fastestKernels(), pool);
        std::vector<std::uint8_t> indices(8'192);
        CodebookSearch(fastestKernels(), codebook).nearest(vectors.data(), indices.size(), indices.data());
        QCOMPARE(std::set(indices.begin(), indices.end()).size(), std::size_t{256});
    }

    void theJointRefitSolvesTheLeastSquaresProblem()
    {
        // At the optimum, what is left of the vectors that share an entry has a mean of zero; nothing else is left
        // of what random codes and books stand for exactly.
        constexpr std::size_t kCount = 3000;
        Random random(1);
        std::vector<std::uint8_t> codes(kCount * 4);
        for (std::uint8_t& code : codes)
            code = static_cast<std::uint8_t>(random.below(63)); // entry 63 of each stage is used by none
        const std::vector<float> truth = gaussians(std::size_t{4} * 64 * kVectorDim, 2);
        std::vector<float> vectors(kCount * kVectorDim);
        for (std::size_t i = 0; i < kCount * 4; ++i) {
            for (std::size_t d = 0; d < kVectorDim; ++d)
                vectors[i / 4 * kVectorDim + d] += truth[(i % 4 * 64 + codes[i]) * kVectorDim + d];
        }
        std::vector<float> books = gaussians(std::size_t{4} * 64 * kVectorDim, 3);
        const std::vector<float> start = books;
        ThreadPool pool({.threadCount = 3});
        refitJointly(vectors, codes, 4, books, pool);
        double left = 0;
        for (std::size_t i = 0; i < kCount; ++i) {
            for (std::size_t d = 0; d < kVectorDim; ++d) {
                double rest = double{vectors[i * kVectorDim + d]};
                for (std::size_t s = 0; s < 4; ++s)
                    rest -= double{books[(s * 64 + codes[i * 4 + s]) * kVectorDim + d]};
                left += rest * rest;
            }
        }
        QVERIFY2(left < 1e-4 * kCount, qPrintable(QString::number(left)));
        for (std::size_t s = 0; s < 4; ++s)
            QVERIFY(std::equal(&books[(s * 64 + 63) * kVectorDim], &books[(s * 64 + 63) * kVectorDim] + kVectorDim,
                &start[(s * 64 + 63) * kVectorDim]));
    }

    void fittingDoesNotDependOnThreadsOrInstructionSet_data() { addFormats(); }
    void fittingDoesNotDependOnThreadsOrInstructionSet()
    {
        QFETCH(ExpertQuant, quant);
        const std::vector<float> sample = gaussians(4'500 * kVectorDim, 61); // two tiles, one of them partial
        const auto recordsOf = [&](const char* isa, std::uint32_t threads) {
            ThreadPool pool({.threadCount = threads});
            std::vector<std::byte> bytes;
            VqCodebooks::fit(sample, quant, kQuick, Random(8), **kernels::selectKernels(isa), pool)
                .appendRecords(0, bytes);
            return bytes;
        };
        const std::vector<std::byte> plain = recordsOf("scalar", 1);
        QVERIFY(recordsOf("scalar", 4) == plain);
        QVERIFY(recordsOf(nullptr, 1) == plain); // the fastest here
        QVERIFY(recordsOf(nullptr, 4) == plain);
    }

    void aStoppedFitEndsWithThePassInWork_data() { addFormats(); }
    void aStoppedFitEndsWithThePassInWork()
    {
        QFETCH(ExpertQuant, quant);
        const std::vector<float> sample = gaussians(4'500 * kVectorDim, 61);
        ThreadPool pool({.threadCount = 2});
        // How often the fit asks whether it should stop, if that is to be from the n-th time on.
        const auto asked = [&](std::uint32_t n) {
            std::uint32_t count = 0;
            VqCodebooks::fit(sample, quant, kQuick, Random(8), fastestKernels(), pool, [&] { return ++count >= n; });
            return count;
        };
        const std::uint32_t passes = quant.stages * KmeansOptions().iterations + kQuick.refitRounds;
        QCOMPARE(asked(UINT32_MAX), passes);
        for (const std::uint32_t n : {1U, 2U, KmeansOptions().iterations, passes - 1, passes})
            // Each stage and the refit asks once more, and none makes a pass.
            QVERIFY2(asked(n) <= n + quant.stages, qPrintable(QString::number(n)));
    }

    void aStoppedEncoderLeavesTheRest()
    {
        constexpr std::uint32_t kRows = 24;
        const ExpertGeometry geometry = *ExpertGeometry::compute(kRows, 64, kVq3r, "test");
        const std::vector<float> values = expertLike(kRows, 64, 21);
        ThreadPool pool({.threadCount = 1});
        const VqCodebooks codebooks = fitTo(values, 64, kVq3r, pool);
        std::vector<std::byte> record(geometry.strideBytes);
        int count = 0;
        encodeVqMatrix(
            values, geometry.matrices[0], kVq3r, codebooks, kQuick.width, record, pool, [&] { return ++count > 2; });
        QCOMPARE(count, 3);
        const auto scale = [&](std::uint32_t row) {
            return loadLittle<std::uint16_t>(record, geometry.matrices[0].scaleOffset + row * 2);
        };
        QVERIFY(scale(1) != 0);
        QVERIFY(scale(2) == 0);
    }

    void aSampleIsDrawnEvenly()
    {
        std::vector<float> matrix(64 * 80, 1.0F);
        VqSample sample;
        Random random(1);
        sample.add(matrix, 80, 100, random);
        QCOMPARE(sample.take().size(), std::size_t{100} * kVectorDim);
    }

    void aRecordDecodesToWhatTheEncoderMeasured_data() { addFormats(); }
    void aRecordDecodesToWhatTheEncoderMeasured()
    {
        QFETCH(ExpertQuant, quant);
        constexpr std::uint32_t kRows = 72; // one whole and one partial block
        constexpr std::uint32_t kColumns = 136;
        const ExpertGeometry geometry = *ExpertGeometry::compute(kRows, kColumns, quant, "test");
        std::vector<float> values = expertLike(kRows, kColumns, 21);
        std::fill_n(values.begin() + 5 * kColumns, kColumns, 0.0F);
        ThreadPool pool({.threadCount = 1});
        const VqCodebooks codebooks = fitTo(values, kColumns, quant, pool);

        std::vector<std::byte> record(geometry.strideBytes);
        const ExpertGeometry::Matrix& up = geometry.matrices[1];
        const SquaredError error = encodeVqMatrix(values, up, quant, codebooks, kQuick.width, record, pool);

        const std::vector<float> books = tables(codebooks, quant);
        const kernels::VqMatrixView view = {.rows = kRows,
            .columns = kColumns,
            .vecDim = quant.vecDim,
            .stages = quant.stages,
            .indexBits = quant.indexBits,
            .indexBlock = quant.indexBlock,
            .indices = reinterpret_cast<const std::uint8_t*>(record.data() + up.indexOffset),
            .scales = reinterpret_cast<const std::uint16_t*>(record.data() + up.scaleOffset),
            .codebooks = books.data()};
        std::vector<float> decoded(values.size());
        dequantize(view, decoded);
        const SquaredError measured = errorBetween(values, decoded);
        QVERIFY(std::abs(error.difference - measured.difference) <= 1e-9 * measured.norm);
        for (std::size_t c = 0; c < kColumns; ++c)
            QCOMPARE(decoded[5 * kColumns + c], 0.0F);

        // Nothing outside the matrix's own bytes, and zero for the rows that its last block lacks.
        for (std::size_t i = 0; i < record.size(); ++i) {
            const bool isIndex = i >= up.indexOffset && i < up.indexOffset + up.indexBytes;
            const bool isScale = i >= up.scaleOffset && i < up.scaleOffset + 2 * kRows;
            if (!isIndex && !isScale)
                QCOMPARE(record[i], std::byte{0});
        }
        const std::uint64_t vectorBytes = std::uint64_t{kIndexBlockRows} * quant.bytesPerVector();
        const std::byte* lastBlock = record.data() + up.indexOffset + up.indexBytes / 2;
        for (std::uint64_t v = 0; v < kColumns / kVectorDim; ++v) {
            for (std::uint64_t i = 8 * quant.bytesPerVector(); i < vectorBytes; ++i)
                QCOMPARE(lastBlock[v * vectorBytes + i], std::byte{0});
        }

        std::vector<std::byte> threaded(record.size());
        ThreadPool four({.threadCount = 4});
        encodeVqMatrix(values, up, quant, codebooks, kQuick.width, threaded, four);
        QVERIFY(threaded == record);
    }

    void anExpertScaleBeyondHalfPrecisionIsReported()
    {
        std::vector<float> values = expertLike(64, 64, 41);
        ThreadPool pool({.threadCount = 1});
        const VqCodebooks codebooks = fitTo(values, 64, kVq3r, pool);
        for (float& value : values)
            value *= 1e9F;
        const ExpertGeometry geometry = *ExpertGeometry::compute(64, 64, kVq3r, "test");
        std::vector<std::byte> record(geometry.strideBytes);
        QVERIFY(!encodeVqMatrix(values, geometry.matrices[0], kVq3r, codebooks, kQuick.width, record, pool).isFinite());
    }

    void codebookRecordsHoldTheRoundedEntries()
    {
        ThreadPool pool({.threadCount = 1});
        const VqCodebooks codebooks = fitTo(gaussians(64 * 64, 51), 64, kVq4p, pool);
        std::vector<std::byte> bytes;
        codebooks.appendRecords(65'537, bytes);
        QCOMPARE(bytes.size(), std::size_t{4} * 1040);
        const auto header = CodebookHeader::decode(std::span(bytes).subspan(2 * 1040).first<kCodebookHeaderBytes>());
        QCOMPARE(header.magic, CodebookHeader::kMagic);
        QCOMPARE(int{header.id}, 3); // modulo 2^16
        QCOMPARE(header.entries, 64U);
        std::uint16_t half = 0;
        std::memcpy(&half, bytes.data() + 2 * 1040 + 16 + 2 * (9 * kVectorDim + 3), sizeof(half));
        QCOMPARE(floatFromHalf(half), codebooks.entry(2, 9)[3]);
    }
};

QTEST_APPLESS_MAIN(QuantisersTest)
#include "tst_quantisers.moc"
