// RAM is a promise: what the process took at its peak, as the system counted it, is within its budget.

#include "session_fixture.h"

#include "support/picture_formats.h"
#include "support/process_memory.h"

using namespace waste;
using namespace waste::test;

class TestPeakMemory : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // The smaller budget first: the peak of a process never falls again.
    void staysWithinTheBudget()
    {
        if (test::processMemory().residentPeakBytes == 0)
            QSKIP("this system does not tell the peak");
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
        QSKIP("a sanitizer takes memory of its own");
#endif
        const std::shared_ptr<const Container> container = openModel("k3-odd");
        constexpr std::uint32_t kContextTokens = 8192;
        const Result<MemoryPlan> plan =
            MemoryPlan::compute(*container, {.contextTokens = kContextTokens, .threadCount = 2}, Machine::detect());
        WASTE_VERIFY_OK(plan);
        const std::uint64_t before = test::processMemory().residentPeakBytes;
        const std::unique_ptr<Engine> engine =
            openEngine(container, {.budgetBytes = plan->floorBytes, .contextTokens = kContextTokens, .threadCount = 2});
        const std::unique_ptr<Session> session = openSession(*engine);
        const std::vector<TokenId> prompt = samplePrompt("k3-odd");
        for (int i = 0; i < 20; ++i)
            WASTE_VERIFY_OK(session->append(prompt));
        WASTE_VERIFY_OK(session->checkpoint());
        GenerateOptions generate;
        generate.tokensMax = 32;
        WASTE_VERIFY_OK(session->generate(generate, [](const TokenEvent&) { return TokenAction::Continue; }));

        const std::uint64_t peak = test::processMemory().residentPeakBytes;
        qInfo("peak %.1f MiB, before opening %.1f MiB, budget %.1f MiB", double(peak) / 1048576,
            double(before) / 1048576, double(plan->floorBytes) / 1048576);
        QVERIFY(peak <= plan->floorBytes + plan->floorBytes / 100);
        QVERIFY(peak > before); // it does count
    }

    void staysWithinALargerBudgetWithLongerChunks()
    {
        if (test::processMemory().residentPeakBytes == 0)
            QSKIP("this system does not tell the peak");
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
        QSKIP("a sanitizer takes memory of its own");
#endif
        const std::shared_ptr<const Container> container = openModel("k3-odd");
        constexpr std::uint32_t kContextTokens = 8192;
        MemoryPlan::Request request{.contextTokens = kContextTokens, .threadCount = 2};
        const Result<MemoryPlan> automatic = MemoryPlan::compute(*container, request, Machine::detect());
        WASTE_VERIFY_OK(automatic);
        request.budgetBytes = automatic->floorBytes;
        const Result<MemoryPlan> least = MemoryPlan::compute(*container, request, Machine::detect());
        WASTE_VERIFY_OK(least);
        QCOMPARE(least->prefillChunkTokens, 64U);
        const std::uint64_t before = test::processMemory().residentPeakBytes;
        request.budgetBytes = automatic->floorBytes + (std::uint64_t{64} << 20);
        const std::unique_ptr<Engine> engine = openEngine(container,
            {.budgetBytes = request.budgetBytes, .contextTokens = kContextTokens, .threadCount = 2, .chunkTokens = 0});
        QVERIFY(engine->plan().prefillChunkTokens > 64);
        const std::unique_ptr<Session> session = openSession(*engine);
        std::vector<TokenId> prompt;
        while (prompt.size() < 2000) {
            const std::vector<TokenId> sample = samplePrompt("k3-odd");
            prompt.insert(prompt.end(), sample.begin(), sample.end());
        }
        WASTE_VERIFY_OK(session->append(prompt));
        const std::uint64_t peak = test::processMemory().residentPeakBytes;
        qInfo("chunks of %u: peak %.1f MiB, before opening %.1f MiB, budget %.1f MiB",
            engine->plan().prefillChunkTokens, double(peak) / 1048576, double(before) / 1048576,
            double(request.budgetBytes) / 1048576);
        QVERIFY(peak <= request.budgetBytes + request.budgetBytes / 100);
        QVERIFY(peak > before); // it does count
    }

    // A picture of as many pixels as one may have, whose tower comes into a cache that is full.
    void staysWithinTheBudgetWhenAPictureComes()
    {
        if (test::processMemory().residentPeakBytes == 0)
            QSKIP("this system does not tell the peak");
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
        QSKIP("a sanitizer takes memory of its own");
#endif
        if (!std::filesystem::exists(WASTE_K3_MINI_CONTAINER))
            QSKIP("the built-in model is not built here");
        const Result<std::shared_ptr<const Container>> container = Container::open(WASTE_K3_MINI_CONTAINER);
        WASTE_VERIFY_OK(container);
        const Result<MemoryPlan> plan =
            MemoryPlan::compute(**container, {.contextTokens = 512, .threadCount = 2}, Machine::detect());
        WASTE_VERIFY_OK(plan);
        const std::uint64_t budgetBytes = plan->floorBytes + plan->visionExtraBytes;
        const std::unique_ptr<Engine> engine =
            openEngine(*container, {.budgetBytes = budgetBytes, .threadCount = 2, .vision = VisionUse::WhenNeeded});
        WASTE_VERIFY_OK(openSession(*engine)->append(samplePrompt("k3-mini")));
        const std::string file = blackPng(8192, 8192, {.channels = 3});
        WASTE_VERIFY_OK(engine->encodePicture(std::as_bytes(std::span(file)), "large"));
        const std::uint64_t peak = test::processMemory().residentPeakBytes;
        qInfo("peak %.1f MiB, budget %.1f MiB", double(peak) / 1048576, double(budgetBytes) / 1048576);
        QVERIFY(peak <= budgetBytes + budgetBytes / 100);
        QVERIFY(peak > std::uint64_t{200} << 20); // the picture alone has 192 MiB
    }
};

QTEST_GUILESS_MAIN(TestPeakMemory)
#include "tst_peak_memory.moc"
