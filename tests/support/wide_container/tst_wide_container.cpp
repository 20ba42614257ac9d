// The containers of random weights are worth measuring only if they are like real ones: complete, as large as the
// release's, and with activations and routes that stay sane.

#include "container/verifier.h"
#include "support/directory_content.h"
#include "support/wide_container/wide_container.h"
#include "waste/engine.h"
#include "waste/session.h"

#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <set>

using namespace waste;
using test::WideFamily;
using test::WideModel;

namespace {

// As small as true widths allow.
WideModel smallModel(ExpertFormat format = ExpertFormat::Vq3r)
{
    return {.family = WideFamily::KimiLinear,
        .layerCount = 2,
        .expertCount = 16,
        .vocabularySize = 1024,
        .expertFormat = format};
}

} // namespace

class TestWideContainer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theVerifierFindsNoDamage_data()
    {
        QTest::addColumn<int>("format");
        QTest::newRow("VQ3R") << int(ExpertFormat::Vq3r);
        QTest::newRow("VQ4P") << int(ExpertFormat::Vq4p);
        QTest::newRow("VQ2R") << int(ExpertFormat::Vq2r);
    }
    void theVerifierFindsNoDamage()
    {
        QFETCH(int, format);
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.path().toStdString();
        const WideModel model = smallModel(static_cast<ExpertFormat>(format));
        QVERIFY(test::writeWideContainer(path, model));
        const auto files = ContainerFiles::open(path);
        QVERIFY2(files, files ? "" : files.error().message.c_str());
        const auto report = verifyContainer(
            *files, {}, [](const Damage& damage) { qWarning("%s", damage.error.message.c_str()); }, {}, CancelFlag());
        QVERIFY(report);
        QCOMPARE(report->damageCount, 0U);
        QCOMPARE(report->recordsChecked, 16U);
    }

    void theSameModelGivesTheSameBytes()
    {
        const QTemporaryDir one;
        const QTemporaryDir two;
        QVERIFY(test::writeWideContainer(one.path().toStdString(), smallModel()));
        QVERIFY(test::writeWideContainer(two.path().toStdString(), smallModel()));
        const auto first = test::readDirectory(one.path().toStdString());
        QCOMPARE(test::difference(test::readDirectory(two.path().toStdString()), first), std::string());
        WideModel other = smallModel();
        other.seed = 2;
        QVERIFY(test::writeWideContainer(two.path().toStdString(), other));
        QVERIFY(!test::difference(test::readDirectory(two.path().toStdString()), first).empty());
    }

    // Spec: container 14.
    void sizesAreThoseOfTheReleases()
    {
        const auto growth = [](WideModel model) {
            const auto less = test::wideContainerBytes(model);
            model.expertCount += 8;
            const auto more = test::wideContainerBytes(model);
            // The router grows by one row an expert.
            return less && more ? (*more - *less) / 8 : 0;
        };
        const auto near = [](std::uint64_t bytes, std::uint64_t record) {
            return bytes >= record && bytes < record + 16384; // and the pages that the router's rows fill
        };
        QVERIFY(near(growth({.family = WideFamily::KimiLinear, .layerCount = 2, .expertCount = 256}), 2'666'496));
        QVERIFY(near(growth({.family = WideFamily::KimiK3, .layerCount = 2, .expertCount = 896}), 12'406'784));
        QVERIFY(near(growth({.family = WideFamily::KimiK3,
                         .layerCount = 2,
                         .expertCount = 896,
                         .expertFormat = ExpertFormat::Vq2r}),
            8'278'016));
    }

    void aModelOutOfRangeIsRefused()
    {
        QVERIFY(!test::wideContainerBytes({.layerCount = 0}));
        QVERIFY(!test::wideContainerBytes({.layerCount = 129}));
        QVERIFY(!test::wideContainerBytes({.expertCount = 4})); // fewer than one token takes
        QVERIFY(!test::wideContainerBytes({.vocabularySize = 100}));
    }

    void manyTokensStayFiniteAndUseManyExperts()
    {
        const QTemporaryDir folder;
        WideModel model = smallModel();
        model.expertCount = 64;
        QVERIFY(test::writeWideContainer(folder.path().toStdString(), model));
        const auto container = Container::open(folder.path().toStdString());
        QVERIFY(container);
        EngineOptions options;
        options.contextTokens = 128;
        const auto engine = Engine::open(*container, options);
        QVERIFY2(engine, engine ? "" : engine.error().message.c_str());
        const auto session = (*engine)->createSession();
        QVERIFY(session);
        const std::vector<TokenId> prompt = {65};
        QVERIFY((*session)->append(prompt));

        std::set<std::uint32_t> experts;
        std::set<TokenId> tokens;
        GenerateOptions generate;
        generate.tokensMax = 65;
        generate.layerSink = [&](const LayerTrace& trace) {
            QVERIFY(std::isfinite(trace.norm));
            QVERIFY(trace.norm > 1 && trace.norm < 1e4);
            experts.insert(trace.experts.begin(), trace.experts.end());
        };
        const auto written = (*session)->generate(generate, [&](const TokenEvent& event) {
            tokens.insert(event.id);
            return TokenAction::Continue;
        });
        QVERIFY(written);
        QCOMPARE(written->tokenCount, 65U);
        for (const float logit : (*session)->logits())
            QVERIFY(std::isfinite(logit));
        QVERIFY2(experts.size() > 48, qPrintable(QString::number(experts.size())));
        QVERIFY2(tokens.size() > 16, qPrintable(QString::number(tokens.size())));
    }
};

QTEST_GUILESS_MAIN(TestWideContainer)
#include "tst_wide_container.moc"
