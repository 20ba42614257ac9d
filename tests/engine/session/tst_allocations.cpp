// Nothing allocates while a model writes, and opening a model survives the failure of any one allocation:
// everything that the program allocates is counted, and one allocation may be made to fail.

#include "session_fixture.h"
#include "support/counted_memory/counted_memory.h"

using namespace waste;
using namespace waste::test;

class TestAllocations : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase()
    {
        if (!memoryIsCounted())
            QSKIP("a sanitizer has an allocator of its own");
    }

    void allocatesNothingWhileItWrites_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<bool>("smallestCache");
        QTest::newRow("everything resident") << "k3-mini" << false;
        QTest::newRow("everything cached") << "k3-odd" << false;
        QTest::newRow("smallest cache") << "k3-odd" << true;
        QTest::newRow("embedding on disk") << "kl-vq3r-q4g" << true;
    }

    void allocatesNothingWhileItWrites()
    {
        QFETCH(const QString, model);
        QFETCH(const bool, smallestCache);
        const std::shared_ptr<const Container> container = openModel(model.toStdString());
        TestOptions options{.contextTokens = 256, .threadCount = 2};
        if (smallestCache) {
            const Result<MemoryPlan> plan =
                MemoryPlan::compute(*container, {.contextTokens = 256, .threadCount = 2}, Machine::detect());
            WASTE_VERIFY_OK(plan);
            options.budgetBytes = plan->floorBytes;
        }
        const std::unique_ptr<Engine> engine = openEngine(container, options);
        const std::unique_ptr<Session> session = openSession(*engine);
        WASTE_VERIFY_OK(session->append(samplePrompt(model.toStdString())));

        GenerateOptions generate;
        generate.tokensMax = 64;
        generate.sampling.temperature = 1;
        generate.sampling.topP = 0.9;
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        const TokenSink sink = [&](const TokenEvent& event) {
            last = allocationCount();
            if (event.index == 0)
                first = last;
            return TokenAction::Continue;
        };
        WASTE_VERIFY_OK(session->generate(generate, sink));
        QVERIFY(first > 0); // it does count
        QCOMPARE(last - first, 0U);
    }

    void saysThatMemoryIsOutWhicheverLargeAllocationFails()
    {
        const std::shared_ptr<const Container> container = openModel("k3-odd");
        EngineOptions options;
        options.contextTokens = 64;
        options.threadCount = 2;

        const auto open = [&] { return Engine::open(container, options); };
        const std::uint64_t before = largeAllocationCount();
        WASTE_VERIFY_OK(open());
        const std::uint64_t count = largeAllocationCount() - before;
        std::uint64_t failures = 0;
        for (std::uint64_t n = 0; n < count; ++n) {
            failLargeAllocation(n);
            const Result<std::unique_ptr<Engine>> engine = open();
            failNoAllocation();
            if (engine.has_value())
                continue; // a library went on without a temporary buffer
            ++failures;
            QVERIFY2(engine.error().code == ErrorCode::OutOfMemory, engine.error().message.c_str());
        }
        QVERIFY2(failures > count / 2, qPrintable(QString("%1 of %2").arg(failures).arg(count)));
        WASTE_VERIFY_OK(open());
    }
};

QTEST_GUILESS_MAIN(TestAllocations)
#include "tst_allocations.moc"
