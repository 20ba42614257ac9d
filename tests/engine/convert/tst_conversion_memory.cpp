// How much memory a conversion needs is known before it begins, does not grow with the model, and is kept: what the
// whole program allocates is counted.

#include "container/tensor_inventory.h"
#include "convert/conversion_memory.h"
#include "support/conversion_folder.h"
#include "support/counted_memory/counted_memory.h"
#include "support/tiny_checkpoint.h"
#include "waste/converter.h"

#include <QTest>

using namespace waste;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

double inMiB(std::uint64_t bytes)
{
    return static_cast<double>(bytes) / static_cast<double>(kMiB);
}

} // namespace

class ConversionMemoryTest : public QObject, test::ConversionFolder {
    Q_OBJECT

private Q_SLOTS:
    // The release: 497,220 tensors in 96 files (spec: conversion 1, container 14).
    void kimiK3WithFourThreadsNeedsLessThanSixGiB()
    {
        for (const ExpertFormat format : {ExpertFormat::Vq3r, ExpertFormat::Vq4p}) {
            const auto geometry = ExpertGeometry::compute(3072, 3584, expertQuantOf(format), "test");
            QVERIFY(geometry);
            QCOMPARE(geometry->strideBytes, std::uint64_t{12'406'784});
            const std::uint64_t bytes = conversionMemoryBytes({.tensorCount = 497'220,
                .expertMatrixElements = std::uint64_t{3072} * 3584,
                .recordBytes = geometry->strideBytes,
                .trunkScaleBytes = std::uint64_t{163'840} * 7168 / 128 * 2, // of the embedding
                .sampledVectors = 300'000,
                .threadCount = 4});
            qInfo("Kimi K3, 4 threads: %.0f MiB", inMiB(bytes));
            QVERIFY(bytes <= 6 * 1024 * kMiB);
        }
    }

    void aConversionStaysWithinItHoweverManyLayers()
    {
        if (test::allocatedBytes() == 0)
            QSKIP("allocations are not counted here");
        // Experts that give a whole sample, 100,000 vectors.
        test::TinyCheckpoint model{.family = test::TinyFamily::KimiK3,
            .hiddenSize = 512,
            .layerCount = 2,
            .expertCount = 14,
            .expertWidth = 512,
            .latentWidth = 512,
            .shardCount = 4};
        test::writeTinyCheckpoint(place("few"), model);
        model.layerCount = 4;
        test::writeTinyCheckpoint(place("many"), model);

        const std::uint64_t bound = boundOf("few");
        const std::uint64_t few = peakOf("few");
        const std::uint64_t many = peakOf("many");
        QVERIFY(many > 0); // it succeeded
        qInfo("%.1f MiB; %.1f MiB with three times the layers; bound %.1f MiB", inMiB(few), inMiB(many), inMiB(bound));
        QVERIFY(few > 100'000 * 8 * sizeof(float)); // the sample at least: it does count
        QVERIFY(few <= bound);
        QVERIFY(many <= few + kMiB);
    }

    void theTableOfTensorsIsCounted()
    {
        if (test::allocatedBytes() == 0)
            QSKIP("allocations are not counted here");
        test::writeTinyCheckpoint(place("names"),
            {.family = test::TinyFamily::KimiK3,
                .layerCount = 12,
                .expertCount = 800,
                .expertWidth = 32,
                .latentWidth = 32,
                .shardCount = 20});
        test::restartAllocatedBytesPeak();
        const std::uint64_t before = test::allocatedBytes();
        const auto files = CheckpointFiles::open(place("names"));
        QVERIFY(files);
        const std::uint64_t names = test::allocatedBytesPeak() - before;
        std::uint64_t count = 0;
        for (const CheckpointTensor& tensor : (*files)->tensors())
            count += tensor.coding == CheckpointTensor::Coding::Mxfp4 ? 2 : 1;
        QVERIFY(count > 50'000);
        const std::uint64_t bound =
            conversionMemoryBytes({.tensorCount = count}) - conversionMemoryBytes({.tensorCount = 0});
        qInfo("%llu names: %.1f MiB, %llu bytes each; bound %.1f MiB", static_cast<unsigned long long>(count),
            inMiB(names), static_cast<unsigned long long>(names / count), inMiB(bound));
        QVERIFY(names <= bound);
    }

private:
    [[nodiscard]] ConvertOptions optionsFor(const std::string& name) const
    {
        ConvertOptions options = test::conversionOf(place(name), place(name + ".waste"));
        options.expertFormat = ExpertFormat::Vq4p;
        options.threadCount = 2;
        options.quality = ConvertQuality::Fast;
        return options;
    }
    [[nodiscard]] std::uint64_t boundOf(const std::string& name) const
    {
        const auto files = CheckpointFiles::open(place(name));
        const auto plan = planConversion(**files, optionsFor(name));
        return conversionMemoryBytes(ConversionSizes::of(**files, *plan, 2));
    }
    // Of a whole conversion. Zero when it fails.
    [[nodiscard]] std::uint64_t peakOf(const std::string& name) const
    {
        test::restartAllocatedBytesPeak();
        const std::uint64_t before = test::allocatedBytes();
        const auto report = convert(optionsFor(name));
        return report ? test::allocatedBytesPeak() - before : 0;
    }
};

QTEST_APPLESS_MAIN(ConversionMemoryTest)
#include "tst_conversion_memory.moc"
