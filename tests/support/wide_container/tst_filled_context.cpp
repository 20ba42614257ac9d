// What a longer context takes is what the plan says: two contexts of one process, both filled to their last position.

#include "support/process_memory.h"
#include "support/wide_container/lengthened_state.h"
#include "support/wide_container/wide_container.h"
#include "waste/engine.h"
#include "waste/session.h"

#include <QTemporaryDir>
#include <QTest>

#include <cmath>

using namespace waste;
namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kReadTokens = 32;
constexpr std::uint32_t kDecodedTokens = 2;
// Latent rows of 2304 bytes fill whole huge pages in both, so that what is rounded up at the ends is the same.
constexpr std::uint32_t kShortContext = 8192;
constexpr std::uint32_t kLongContext = 65536;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Result<std::unique_ptr<Engine>> open(
    const std::shared_ptr<const Container>& container, std::uint32_t contextTokens, std::uint64_t budgetBytes)
{
    EngineOptions options;
    options.budgetBytes = budgetBytes;
    options.contextTokens = contextTokens;
    options.threadCount = 2;
    options.prefillChunkTokens = 64;
    return Engine::open(container, options);
}

Result<std::uint64_t> floorOf(const Container& container, std::uint32_t contextTokens)
{
    const MemoryPlan::Request request{.contextTokens = contextTokens, .threadCount = 2, .prefillChunkTokens = 64};
    WASTE_TRY(const MemoryPlan plan, MemoryPlan::compute(container, request, Machine::detect()));
    return plan.floorBytes;
}

GenerateOptions fewTokens()
{
    GenerateOptions options;
    options.tokensMax = kDecodedTokens;
    return options;
}

// Saves a short conversation.
Status converse(const std::shared_ptr<const Container>& container, const fs::path& state)
{
    WASTE_TRY(const std::uint64_t budgetBytes, floorOf(*container, kShortContext));
    WASTE_TRY(const auto engine, open(container, kShortContext, budgetBytes));
    WASTE_TRY(const auto session, engine->createSession());
    std::vector<TokenId> prompt(kReadTokens);
    for (std::size_t i = 0; i < prompt.size(); ++i)
        prompt[i] = static_cast<TokenId>(i * 7 % 1000);
    WASTE_TRY_STATUS(session->append(prompt));
    return session->save(state);
}

// What the process took to have a context was filled from a saved state and the last tokens were decoded.
Result<std::uint64_t> bytesWhenFull(
    const std::shared_ptr<const Container>& container, std::uint32_t contextTokens, const fs::path& saved)
{
    const fs::path longer = saved.string() + ".longer";
    WASTE_TRY_STATUS(test::lengthenState(saved, contextTokens - kDecodedTokens, longer));
    const std::uint64_t before = test::processMemory().residentBytes; // what making the state left in the heap
    WASTE_TRY(const std::uint64_t budgetBytes, floorOf(*container, contextTokens));
    WASTE_TRY(const auto engine, open(container, contextTokens, budgetBytes));
    WASTE_TRY(const auto session, engine->createSession());
    WASTE_TRY_STATUS(session->restore(longer));
    WASTE_TRY_STATUS(session->generate(fewTokens(), [](const TokenEvent&) { return TokenAction::Continue; }));
    return test::processMemory().residentBytes - before;
}

} // namespace

class TestFilledContext : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aLongerContextTakesWhatThePlanSays()
    {
        if (test::processMemory().residentBytes == 0)
            QSKIP("this system does not tell what is in memory");
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
        QSKIP("a sanitizer takes memory of its own");
#endif
        const QTemporaryDir folder;
        const fs::path model = fs::path(folder.path().toStdString()) / "wide.waste";
        // The fourth layer is the first with latent attention.
        const Status written = test::writeWideContainer(
            model, {.family = test::WideFamily::KimiLinear, .layerCount = 4, .expertCount = 8, .vocabularySize = 1024});
        QVERIFY2(written, written ? "" : written.error().message.c_str());
        const auto container = Container::open(model);
        QVERIFY2(container, container ? "" : container.error().message.c_str());
        const fs::path state = fs::path(folder.path().toStdString()) / "short.state";
        const Status conversed = converse(*container, state);
        QVERIFY2(conversed, conversed ? "" : conversed.error().message.c_str());

        const auto shortBytes = bytesWhenFull(*container, kShortContext, state);
        QVERIFY2(shortBytes, shortBytes ? "" : shortBytes.error().message.c_str());
        const auto longBytes = bytesWhenFull(*container, kLongContext, state);
        QVERIFY2(longBytes, longBytes ? "" : longBytes.error().message.c_str());

        const auto planned = static_cast<double>(
            floorOf(**container, kLongContext).value() - floorOf(**container, kShortContext).value());
        const double grown = static_cast<double>(*longBytes) - static_cast<double>(*shortBytes);
        qInfo("%.2f MiB more in memory, %.2f MiB planned: %.1f and %.1f bytes a token", grown / kMiB, planned / kMiB,
            grown / (kLongContext - kShortContext), planned / (kLongContext - kShortContext));
        QVERIFY(planned >= 64 * kMiB);
        QVERIFY(std::abs(grown - planned) <= 0.01 * planned);
    }
};

QTEST_GUILESS_MAIN(TestFilledContext)
#include "tst_filled_context.moc"
