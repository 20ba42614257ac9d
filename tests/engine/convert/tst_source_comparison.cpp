// A container compared with its source: the errors are those that the conversion itself measured, exact tensors have
// none, and weights that do not belong together are told apart from weights that were quantised.

#include "container/container_files.h"
#include "support/safetensors_writer.h"
#include "support/tiny_checkpoint.h"
#include "waste/converter.h"
#include "waste/verifier.h"

#include <QTemporaryDir>
#include <QTest>

#include <cmath>

using namespace waste;
namespace fs = std::filesystem;

class TestSourceComparison : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        test::writeTinyCheckpoint(place("source"), m_shape);
        test::TinyCheckpoint other = m_shape;
        other.seed = 2;
        test::writeTinyCheckpoint(place("other"), other);
        other.expertWidth = 64;
        test::writeTinyCheckpoint(place("smaller"), other);
        ConvertOptions options;
        options.source = place("source");
        options.target = place("model.waste");
        const auto report = convert(options);
        QVERIFY2(report, report ? "" : report.error().message.c_str());
        m_converted = *report;
    }

    void theErrorsAreThoseOfTheConversion()
    {
        const auto compared = compareWithSource(options(), unexpected(), {}, CancelFlag());
        QVERIFY2(compared, compared ? "" : compared.error().message.c_str());
        QCOMPARE(compared->damageCount, std::uint64_t{0});
        const auto files = ContainerFiles::open(place("model.waste"));
        QVERIFY(files);
        for (const auto& [layer, errors] : files->manifest.desktop.errors) {
            for (std::size_t k = 0; k < kExpertMatrixCount; ++k) {
                const double error = compared->byLayer.at(layer).at(std::string(kExpertMatrixNames[k]));
                // One is the mean over matrices, the other over their squares.
                QVERIFY2(std::abs(error - errors[k]) < 0.02 * errors[k], std::to_string(error).c_str());
            }
        }
        QVERIFY(std::abs(compared->expertError - m_converted.errors.gate) < 0.01);
        QVERIFY(compared->trunkError > 0.02 && compared->trunkError < 0.13);
        QVERIFY(compared->outside.contains("lm_head"));
        QVERIFY(compared->byLayer.contains(0)); // a dense layer has a trunk
        const std::uint64_t experts = 3 * m_shape.expertCount * (m_shape.layerCount - 1);
        QCOMPARE(compared->matrixCount, experts + files->manifest.trunk.size());
    }

    void oneLayerCanBeCompared()
    {
        CompareOptions one = options();
        one.layer = 2;
        std::vector<Progress> steps;
        const auto compared = compareWithSource(
            one, unexpected(), [&](const Progress& progress) { steps.push_back(progress); }, CancelFlag());
        QVERIFY(compared);
        QCOMPARE(compared->matrixCount, std::uint64_t{3} * m_shape.expertCount);
        QCOMPARE(compared->byLayer.size(), std::size_t{1});
        QCOMPARE(steps.back().done, steps.back().total);
        one.layer = 0;
        QCOMPARE(compareWithSource(one, unexpected(), {}, CancelFlag()).error().code, ErrorCode::InvalidArgument);
    }

    void theNumberOfThreadsChangesNothing()
    {
        CompareOptions one = options();
        one.threadCount = 1;
        const auto first = compareWithSource(one, unexpected(), {}, CancelFlag());
        one.threadCount = 3;
        const auto second = compareWithSource(one, unexpected(), {}, CancelFlag());
        QVERIFY(first && second);
        QVERIFY(first->byLayer == second->byLayer && first->outside == second->outside);
        QCOMPARE(first->expertError, second->expertError);
    }

    void otherWeightsAreToldMatrixByMatrix()
    {
        CompareOptions wrong = options();
        wrong.checkpoint = place("other");
        std::uint64_t expertCount = 0;
        std::uint64_t tensorCount = 0;
        const auto compared = compareWithSource(
            wrong,
            [&](const Damage& damage) {
                ++(damage.expert ? expertCount : tensorCount);
                QCOMPARE(damage.error.reason, std::string("source"));
            },
            {}, CancelFlag());
        QVERIFY(compared);
        QCOMPARE(expertCount, std::uint64_t{3} * m_shape.expertCount * (m_shape.layerCount - 1));
        QCOMPARE(compared->damageCount, expertCount + tensorCount);
        QCOMPARE(compared->matrixCount, compared->damageCount); // not one is the same
    }

    void oneChangedWeightOfAnExactTensorIsFound()
    {
        const auto files = ContainerFiles::open(place("model.waste"));
        const TrunkEntry* norm = files->manifest.find("model.norm.weight");
        QVERIFY(norm != nullptr);
        const fs::path trunk = place("model.waste") / "trunk.bin";
        const std::vector<std::byte> whole = test::readBytes(trunk);
        std::vector<std::byte> changed = whole;
        changed[norm->offset + 4] ^= std::byte{1};
        test::writeBytes(trunk, changed);
        std::vector<Damage> damages;
        const auto compared = compareWithSource(
            options(), [&](const Damage& damage) { damages.push_back(damage); }, {}, CancelFlag());
        test::writeBytes(trunk, whole);
        QVERIFY(compared);
        QCOMPARE(damages.size(), std::size_t{1});
        QCOMPARE(damages[0].tensor, norm->name);
        QCOMPARE(damages[0].offset, norm->offset);
    }

    void anotherModelIsRefused()
    {
        CompareOptions wrong = options();
        wrong.checkpoint = place("smaller");
        const auto compared = compareWithSource(wrong, unexpected(), {}, CancelFlag());
        QVERIFY(!compared);
        QCOMPARE(compared.error().code, ErrorCode::InvalidArgument);
        QVERIFY2(compared.error().message.find("shape") != std::string::npos, compared.error().message.c_str());
        wrong.checkpoint = place("nowhere");
        QCOMPARE(compareWithSource(wrong, unexpected(), {}, CancelFlag()).error().code, ErrorCode::NotFound);
    }

    void itCanBeCancelled()
    {
        CancelFlag cancel;
        const auto compared = compareWithSource(
            options(), unexpected(), [&](const Progress&) { cancel.cancel(); }, cancel);
        QVERIFY(!compared);
        QCOMPARE(compared.error().code, ErrorCode::Cancelled);
    }

private:
    [[nodiscard]] fs::path place(const std::string& name) const
    {
        return m_folder.filePath(QString::fromStdString(name)).toStdString();
    }
    [[nodiscard]] CompareOptions options() const
    {
        return {.container = place("model.waste"), .checkpoint = place("source"), .threadCount = 2};
    }
    static std::function<void(const Damage&)> unexpected()
    {
        return [](const Damage& damage) { QTest::qFail(damage.error.message.c_str(), __FILE__, __LINE__); };
    }

    const test::TinyCheckpoint m_shape = {.hiddenSize = 264, .expertCount = 3};
    QTemporaryDir m_folder;
    ConvertReport m_converted;
};

QTEST_APPLESS_MAIN(TestSourceComparison)
#include "tst_source_comparison.moc"
