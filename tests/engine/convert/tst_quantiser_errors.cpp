// What each recipe leaves of weights that it has not seen: codebooks are fitted to some experts and encode another,
// which is then decoded by the reference decoder's formula. Fixed seeds; the bounds are what users are promised.

#include "convert/conversion_plan.h"
#include "convert/vq_codebooks.h"
#include "convert/vq_encoder.h"
#include "kernels/kernels.h"
#include "support/test_weights.h"

#include <QTest>

using namespace waste;
using namespace waste::test;

namespace {

constexpr std::uint32_t kColumns = 1024;

using MakeWeights = std::vector<float> (*)(std::size_t rows, std::size_t columns, std::uint64_t seed);

double heldOutError(ConvertQuality quality, ExpertFormat format, MakeWeights make)
{
    const ExpertQuant quant = expertQuantOf(format);
    const VqRecipe recipe = recipeOf(quality, format);
    const kernels::KernelTable& kernels = **kernels::selectKernels();
    ThreadPool pool({.threadCount = 2});
    VqSample sample;
    for (std::uint64_t expert = 0; expert < 12; ++expert) {
        Random random(expert);
        sample.add(make(256, kColumns, 31 + expert), kColumns, recipe.sampledVectorsMax / 12, random);
    }
    const VqCodebooks codebooks = VqCodebooks::fit(sample.take(), quant, recipe, Random(8), kernels, pool);
    const ExpertGeometry geometry = *ExpertGeometry::compute(256, kColumns, quant, "test");
    std::vector<std::byte> record(geometry.strideBytes);
    return encodeVqMatrix(make(256, kColumns, 77), geometry.matrices[0], quant, codebooks, recipe.width, record, pool)
        .relative();
}

} // namespace

class QuantiserErrorsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void heldOutWeightsLoseAtMostThis_data()
    {
        QTest::addColumn<ConvertQuality>("quality");
        QTest::addColumn<ExpertFormat>("format");
        QTest::addColumn<double>("gaussianMax");
        QTest::addColumn<double>("mxfp4Max");
        QTest::newRow("VQ4P fast") << ConvertQuality::Fast << ExpertFormat::Vq4p << 0.176 << 0.177;
        QTest::newRow("VQ4P default") << ConvertQuality::Default << ExpertFormat::Vq4p << 0.1655 << 0.167;
        QTest::newRow("VQ4P best") << ConvertQuality::Best << ExpertFormat::Vq4p << 0.159 << 0.160;
        QTest::newRow("VQ3R fast") << ConvertQuality::Fast << ExpertFormat::Vq3r << 0.171 << 0.172;
        QTest::newRow("VQ3R default") << ConvertQuality::Default << ExpertFormat::Vq3r << 0.1635 << 0.165;
        QTest::newRow("VQ3R best") << ConvertQuality::Best << ExpertFormat::Vq3r << 0.159 << 0.160;
        QTest::newRow("VQ2R default") << ConvertQuality::Default << ExpertFormat::Vq2r << 0.31 << 0.31;
    }
    void heldOutWeightsLoseAtMostThis()
    {
        QFETCH(ConvertQuality, quality);
        QFETCH(ExpertFormat, format);
        QFETCH(double, gaussianMax);
        QFETCH(double, mxfp4Max);
        const double gaussianError = heldOutError(quality, format, expertLike);
        const double mxfp4Error = heldOutError(quality, format, mxfp4Like);
        qInfo("Gaussian %.2f %%, MXFP4 %.2f %%", 100 * gaussianError, 100 * mxfp4Error);
        QVERIFY2(gaussianError <= gaussianMax, qPrintable(QString::number(gaussianError)));
        QVERIFY2(mxfp4Error <= mxfp4Max, qPrintable(QString::number(mxfp4Error)));
        // No code of 3 bits in 8 dimensions does better than 14.66 % on Gaussian weights: a mistake in the measurement.
        QVERIFY(gaussianError > 0.1466);
    }
};

QTEST_APPLESS_MAIN(QuantiserErrorsTest)
#include "tst_quantiser_errors.moc"
