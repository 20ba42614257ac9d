// RAM is a promise also when the cache is full: a model with far more experts than slots uses the whole budget, and
// not a page beyond it.

#include "support/process_memory.h"
#include "support/wide_container/wide_container.h"
#include "waste/engine.h"
#include "waste/session.h"

#include <QTemporaryDir>
#include <QTest>

using namespace waste;

class TestFilledBudget : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theCacheFillsAndThePeakStaysWithinTheBudget()
    {
        if (test::processMemory().residentPeakBytes == 0)
            QSKIP("this system does not tell the peak");
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
        QSKIP("a sanitizer takes memory of its own");
#endif
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.path().toStdString();
        const Status written = test::writeWideContainer(
            path, {.family = test::WideFamily::KimiLinear, .layerCount = 3, .expertCount = 64, .vocabularySize = 1024});
        QVERIFY2(written, written ? "" : written.error().message.c_str());
        const auto container = Container::open(path);
        QVERIFY2(container, container ? "" : container.error().message.c_str());

        MemoryPlan::Request request{.contextTokens = 1024, .threadCount = 2};
        const auto automatic = MemoryPlan::compute(**container, request, Machine::detect());
        QVERIFY(automatic);
        request.budgetBytes = automatic->floorBytes + (std::uint64_t{96} << 20);
        const auto plan = MemoryPlan::compute(**container, request, Machine::detect());
        QVERIFY(plan);
        QVERIFY(plan->expertSlotCount < 2 * 64 / 2);

        EngineOptions options;
        options.budgetBytes = request.budgetBytes;
        options.contextTokens = request.contextTokens;
        options.threadCount = request.threadCount;
        const auto engine = Engine::open(*container, options);
        QVERIFY2(engine, engine ? "" : engine.error().message.c_str());
        const auto session = (*engine)->createSession();
        QVERIFY(session);
        std::vector<TokenId> prompt(500);
        for (std::size_t i = 0; i < prompt.size(); ++i)
            prompt[i] = static_cast<TokenId>(i * 7 % 1000);
        QVERIFY((*session)->append(prompt));
        GenerateOptions generate;
        generate.tokensMax = 16;
        QVERIFY((*session)->generate(generate, [](const TokenEvent&) { return TokenAction::Continue; }));

        const std::uint64_t peak = test::processMemory().residentPeakBytes;
        qInfo("peak %.1f MiB of %.1f MiB, %u slots", double(peak) / 1048576, double(request.budgetBytes) / 1048576,
            plan->expertSlotCount);
        QVERIFY(peak <= request.budgetBytes + request.budgetBytes / 100);
        QVERIFY(peak >= plan->trunkBytes + plan->expertCacheBytes); // the trunk is read, and every slot has been used
    }
};

QTEST_GUILESS_MAIN(TestFilledBudget)
#include "tst_filled_budget.moc"
