// What the converter writes, read back by the container's own reader: every dense value against the nearest to the
// published value that its stored scale allows, every expert against the error that the manifest
// states for it, every checksum.

#include "base/half.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/tensor_names.h"
#include "container/bank_reader.h"
#include "container/codebooks.h"
#include "container/container_files.h"
#include "container/dequantize.h"
#include "container/verifier.h"
#include "convert/squared_error.h"
#include "platform/pages.h"
#include "support/tiny_checkpoint.h"
#include "support/trunk_tensor.h"
#include "waste/converter.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>

using namespace waste;
namespace fs = std::filesystem;
using kernels::WeightFormat;

namespace {

struct Converted {
    std::unique_ptr<const CheckpointFiles> source;
    ContainerFiles container;
    ConvertReport report;
};

Result<Converted> convertAndOpen(const ConvertOptions& options)
{
    WASTE_TRY(ConvertReport report, convert(options));
    WASTE_TRY(auto source, CheckpointFiles::open(options.source));
    WASTE_TRY(ContainerFiles container, ContainerFiles::open(options.target));
    return Converted{std::move(source), std::move(container), std::move(report)};
}

std::vector<float> published(const CheckpointFiles& files, const std::string& name)
{
    const CheckpointTensor* tensor = files.find(name);
    std::vector<float> values(tensor != nullptr ? tensor->elements() : 0);
    if (tensor == nullptr || !files.read(*tensor, 0, values))
        return {};
    return values;
}

// The nearest values that the stored scales allow (spec: container 7), in the plainest words.
std::vector<float> nearestForScales(std::vector<float> values, const kernels::MatrixView& stored)
{
    if (stored.format == WeightFormat::F32)
        return values;
    const float highest = stored.format == WeightFormat::Q8G ? 127 : stored.format == WeightFormat::Q4G ? 7 : 3;
    const float lowest = stored.format == WeightFormat::Q8G ? -127 : -(highest + 1);
    const std::size_t groups = (stored.columns + stored.group - 1) / stored.group;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t row = i / stored.columns;
        const float scale = floatFromHalf(stored.scales[row * groups + i % stored.columns / stored.group]);
        values[i] = scale == 0 ? 0 : scale * std::clamp(std::nearbyint(values[i] / scale), lowest, highest);
    }
    return values;
}

} // namespace

class RoundTripTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        const fs::path folder = m_folder.path().toStdString();
        test::writeTinyCheckpoint(folder / "tiny-kl", {.expertCount = 3});
        test::writeTinyCheckpoint(folder / "tiny-k3",
            {.family = test::TinyFamily::KimiK3, .expertCount = 3, .tokenizer = true, .vision = true});
        fs::copy(WASTE_K3_MINI_CHECKPOINT, folder / "k3-mini", fs::copy_options::recursive);
        fs::copy(fs::path(WASTE_TEST_DATA) / "kl-mini", folder / "kl-mini", fs::copy_options::recursive);
    }

    void everythingReadsBack_data()
    {
        QTest::addColumn<QString>("checkpoint");
        QTest::addColumn<ExpertFormat>("format");
        QTest::addColumn<int>("trunkBits");
        QTest::addColumn<double>("errorMax"); // mean over an expert's matrices
        QTest::newRow("k3-mini, VQ3R, 4 bits") << "k3-mini" << ExpertFormat::Vq3r << 4 << 0.170;
        QTest::newRow("kl-mini, VQ3R, 4 bits") << "kl-mini" << ExpertFormat::Vq3r << 4 << 0.170;
        QTest::newRow("kl-mini, VQ4P, 3 bits") << "kl-mini" << ExpertFormat::Vq4p << 3 << 0.170;
        QTest::newRow("kl-mini, VQ2R, 8 bits") << "kl-mini" << ExpertFormat::Vq2r << 8 << 0.310;
        QTest::newRow("tiny K3, VQ3R, 4 bits") << "tiny-k3" << ExpertFormat::Vq3r << 4 << 0.170;
        QTest::newRow("tiny K3, VQ4P, 8 bits") << "tiny-k3" << ExpertFormat::Vq4p << 8 << 0.170;
        QTest::newRow("tiny Kimi-Linear, VQ4P, 4 bits") << "tiny-kl" << ExpertFormat::Vq4p << 4 << 0.170;
    }
    void everythingReadsBack()
    {
        QFETCH(QString, checkpoint);
        QFETCH(ExpertFormat, format);
        QFETCH(int, trunkBits);
        QFETCH(double, errorMax);
        const QTemporaryDir folder;
        ConvertOptions options;
        options.source = m_folder.filePath(checkpoint).toStdString();
        options.target = folder.filePath("model.waste").toStdString();
        options.expertFormat = format;
        options.trunkBits = static_cast<std::uint32_t>(trunkBits);
        const auto converted = convertAndOpen(options);
        QVERIFY2(converted.has_value(), converted ? "" : converted.error().message.c_str());
        QVERIFY(converted->container.warnings.empty());
        qInfo("%.1f s; experts %.2f, %.2f, %.2f %%, trunk %.2f %%", converted->report.seconds,
            100 * converted->report.errors.gate, 100 * converted->report.errors.up, 100 * converted->report.errors.down,
            100 * converted->report.trunkError);
        verifyEveryChecksum(converted->container);
        compareTrunk(*converted);
        compareExperts(*converted, errorMax);
    }

private:
    static void verifyEveryChecksum(const ContainerFiles& container)
    {
        const auto tell = [](const Damage& damage) { qWarning("%s", damage.error.message.c_str()); };
        const auto report = verifyContainer(container, {}, tell, {}, CancelFlag());
        QVERIFY(report.has_value());
        QCOMPARE(report->damageCount, std::uint64_t{0});
        std::uint64_t experts = 0;
        for (const BankEntry& bank : container.manifest.banks)
            experts += bank.expertCount;
        QCOMPARE(report->recordsChecked, experts);
        for (const TrunkEntry& entry : container.manifest.trunk)
            QVERIFY(entry.crc32.has_value());
        QVERIFY(container.manifest.codebooksCrc32.has_value());
    }

    static void compareTrunk(const Converted& converted)
    {
        SquaredError total;
        std::size_t denseCount = 0;
        for (const CheckpointTensor& tensor : converted.source->tensors())
            denseCount += isExpertTensor(tensor.name) ? 0U : 1U;
        QCOMPARE(converted.container.manifest.trunk.size(), denseCount);
        for (const TrunkEntry& entry : converted.container.manifest.trunk) {
            const auto tensor = test::TrunkTensor::load(converted.container.directory, entry, Verification::Full);
            QVERIFY2(tensor.has_value(), entry.name.c_str());
            const kernels::MatrixView& view = tensor->matrix;
            std::vector<float> values(std::size_t{view.rows} * view.columns);
            dequantize(view, values);
            const std::vector<float> original = published(*converted.source, entry.name);
            QVERIFY2(values == nearestForScales(original, view), entry.name.c_str());
            for (std::size_t i = 0; i < values.size() && entry.format != WeightFormat::F32; ++i)
                total.add(original[i], values[i]);
        }
        QVERIFY(std::abs(total.relative() - converted.report.trunkError) < 1e-9);
    }

    static void compareExperts(const Converted& converted, double errorMax)
    {
        const Manifest& manifest = converted.container.manifest;
        std::vector<std::string> warnings;
        const auto codebooks = Codebooks::load(converted.container.directory, manifest, Verification::Full, warnings);
        QVERIFY(codebooks.has_value());
        QVERIFY(warnings.empty());
        const auto memory = Pages::allocate(manifest.geometry.strideBytes, "test");
        const auto record = memory->bytes().first(manifest.geometry.strideBytes);
        for (std::size_t index = 0; index < manifest.banks.size(); ++index) {
            const BankEntry& entry = manifest.banks[index];
            const auto bank = BankReader::open(converted.container.directory, manifest, index, *codebooks, false);
            QVERIFY(bank.has_value());
            std::array<SquaredError, kExpertMatrixCount> errors;
            for (std::uint32_t expert = 0; expert < entry.expertCount; ++expert) {
                QVERIFY(bank->readRecord(static_cast<std::uint16_t>(expert), record, Verification::Full).has_value());
                addErrors(converted, bank->view(record), {entry.layer, expert}, errors);
            }
            double mean = 0;
            for (std::size_t k = 0; k < kExpertMatrixCount; ++k) {
                const double stated = manifest.desktop.errors.at(entry.layer)[k];
                QVERIFY(std::abs(errors[k].relative() - stated) < 1e-9);
                mean += stated / kExpertMatrixCount;
            }
            QVERIFY2(mean < errorMax && mean > 0.4 * errorMax, qPrintable(QString::number(mean)));
        }
    }

    struct ExpertNumber {
        std::uint32_t layer = 0;
        std::uint32_t expert = 0;
    };

    static void addErrors(const Converted& converted,
        const std::array<kernels::VqMatrixView, kExpertMatrixCount>& views, ExpertNumber number,
        std::array<SquaredError, kExpertMatrixCount>& errors)
    {
        for (const ExpertMatrix matrix : kExpertMatrices) {
            const auto k = static_cast<std::size_t>(matrix);
            std::vector<float> values(std::size_t{views[k].rows} * views[k].columns);
            dequantize(views[k], values);
            const std::vector<float> original = published(*converted.source,
                expertTensorName(
                    converted.container.manifest.config.tensorPrefix, {number.layer, number.expert, matrix}));
            QCOMPARE(original.size(), values.size());
            for (std::size_t i = 0; i < values.size(); ++i)
                errors[k].add(original[i], values[i]);
        }
    }

    QTemporaryDir m_folder;
};

QTEST_APPLESS_MAIN(RoundTripTest)
#include "tst_round_trip.moc"
