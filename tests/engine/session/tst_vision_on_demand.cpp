// The vision tower comes into memory with the first picture and leaves when it is told to. The expert cache
// makes room for it meanwhile, and nothing of this changes an answer.

#include "session_fixture.h"

#include "support/canvas.h"
#include "support/picture_formats.h"

#include <utility>

using namespace waste;
using namespace waste::test;

namespace {

const std::string& picture()
{
    static const std::string file = [] {
        Canvas canvas(150, 110, {240, 240, 230, 255});
        canvas.draw(Canvas::Shape::Circle, {200, 30, 30, 255}, 70, 55, 40);
        return pngOf(canvas);
    }();
    return file;
}

std::span<const std::byte> pictureBytes()
{
    return std::as_bytes(std::span(picture()));
}

// What a model with and without its tower says to the same ids.
std::vector<float> logitsOf(Engine& engine, const std::vector<TokenId>& ids)
{
    const std::unique_ptr<Session> session = openSession(engine);
    if (!session->append(ids))
        qFatal("a plain prompt is read");
    return copyLogits(*session);
}

} // namespace

class TestVisionOnDemand : public QObject {
    Q_OBJECT

    std::shared_ptr<const Container> m_model;

    MemoryPlan plan(VisionUse vision) const
    {
        const auto plan = MemoryPlan::compute(
            *m_model, {.contextTokens = 512, .threadCount = 1, .vision = vision}, Machine::detect());
        if (!plan)
            qFatal("%s", plan.error().message.c_str());
        return *plan;
    }

private Q_SLOTS:
    void initTestCase()
    {
        if (!std::filesystem::exists(WASTE_K3_MINI_CONTAINER))
            QSKIP("the built-in model is not built here");
        auto opened = Container::open(WASTE_K3_MINI_CONTAINER);
        WASTE_VERIFY_OK(opened);
        m_model = std::move(*opened);
    }

    void comesWithTheFirstPictureAndLeavesOnRequest()
    {
        const std::unique_ptr<Engine> engine = openEngine(m_model, {.vision = VisionUse::WhenNeeded});
        QVERIFY(!engine->isVisionLoaded());
        std::vector<std::pair<std::string, std::uint64_t>> steps;
        const ProgressSink progress = [&steps](const Progress& step) { steps.emplace_back(step.stage, step.done); };
        const auto first = engine->encodePicture(pictureBytes(), "circle", progress);
        WASTE_VERIFY_OK(first);
        QVERIFY(engine->isVisionLoaded());
        QCOMPARE(steps.front().first, std::string("tower"));
        QCOMPARE(steps.back().first, std::string("vision"));
        steps.clear();
        const auto second = engine->encodePicture(pictureBytes(), "circle", progress);
        WASTE_VERIFY_OK(second);
        QVERIFY(sameBits(*first, *second));
        for (std::size_t i = 0; i < steps.size(); ++i) { // loaded once; then block by block
            QCOMPARE(steps[i].first, std::string("vision"));
            QCOMPARE(steps[i].second, i + 1);
        }
        WASTE_VERIFY_OK(engine->releaseVision());
        QVERIFY(!engine->isVisionLoaded());
        WASTE_VERIFY_OK(engine->releaseVision()); // nothing to do
        const auto third = engine->encodePicture(pictureBytes(), "circle");
        WASTE_VERIFY_OK(third);
        QVERIFY(sameBits(*first, *third));

        const std::unique_ptr<Engine> ready = openEngine(m_model, {.vision = VisionUse::FromTheStart});
        QVERIFY(ready->isVisionLoaded());
        const auto fourth = ready->encodePicture(pictureBytes(), "circle");
        WASTE_VERIFY_OK(fourth);
        QVERIFY(sameBits(*first, *fourth));
        WASTE_VERIFY_OK(ready->releaseVision());
        QVERIFY(!ready->isVisionLoaded());
        WASTE_VERIFY_OK(ready->encodePicture(pictureBytes(), "circle"));
    }

    void theCacheMakesRoomAndGetsItsSlotsBack()
    {
        const MemoryPlan without = plan(VisionUse::Never);
        const std::uint64_t budgetBytes = without.floorBytes + without.visionExtraBytes;
        const std::unique_ptr<Engine> engine =
            openEngine(m_model, {.budgetBytes = budgetBytes, .vision = VisionUse::WhenNeeded});
        QVERIFY(engine->plan().visionFits);
        QVERIFY(engine->plan().visionSlotCount > 0);
        const std::uint32_t allSlots = engine->plan().expertSlotCount;
        QCOMPARE(engine->statistics().slotCount, allSlots);

        const std::vector<TokenId> ids = samplePrompt("k3-mini");
        const std::vector<float> before = logitsOf(*engine, ids);
        WASTE_VERIFY_OK(engine->encodePicture(pictureBytes(), "circle"));
        QCOMPARE(engine->statistics().slotCount, allSlots - engine->plan().visionSlotCount);
        QVERIFY(sameBits(logitsOf(*engine, ids), before));
        QVERIFY(engine->statistics().evictions > 0); // the cache is as small as it says
        WASTE_VERIFY_OK(engine->releaseVision());
        QCOMPARE(engine->statistics().slotCount, allSlots);
        QVERIFY(sameBits(logitsOf(*engine, ids), before));
    }

    void aBudgetWithoutRoomRefusesThePictureAndNotTheModel()
    {
        const MemoryPlan without = plan(VisionUse::Never);
        const std::uint64_t budgetBytes = without.floorBytes + without.visionExtraBytes - 1;
        const std::unique_ptr<Engine> engine =
            openEngine(m_model, {.budgetBytes = budgetBytes, .vision = VisionUse::WhenNeeded});
        const auto rows = engine->encodePicture(pictureBytes(), "circle");
        QVERIFY(!rows);
        QCOMPARE(rows.error().code, ErrorCode::RamBudget);
        const std::string needed = std::to_string(((budgetBytes + 1) >> 20) + 1) + " MiB";
        QVERIFY2(rows.error().message.find(needed) != std::string::npos, rows.error().message.c_str());
        QCOMPARE(logitsOf(*engine, samplePrompt("k3-mini")).size(), std::size_t{m_model->info().vocabularySize});
    }

    void aModelWithoutEyesSaysSo()
    {
        const std::unique_ptr<Engine> engine = openEngine(openModel("kl-mini"), {.vision = VisionUse::WhenNeeded});
        const auto rows = engine->encodePicture(pictureBytes(), "circle");
        QVERIFY(!rows);
        QCOMPARE(rows.error().code, ErrorCode::Unsupported);
        QVERIFY(rows.error().message.find("no vision tower") != std::string::npos);
    }

    // At the n-th step of loading and looking, for every n.
    void aCancelledPictureLeavesNothingBehind()
    {
        const MemoryPlan without = plan(VisionUse::Never);
        const std::uint64_t budgetBytes = without.floorBytes + without.visionExtraBytes;
        const std::unique_ptr<Engine> engine =
            openEngine(m_model, {.budgetBytes = budgetBytes, .vision = VisionUse::WhenNeeded});
        const auto whole = engine->encodePicture(pictureBytes(), "circle");
        WASTE_VERIFY_OK(whole);
        WASTE_VERIFY_OK(engine->releaseVision());
        std::size_t cancelled = 0;
        for (std::size_t last = 1;; ++last) {
            CancelFlag cancel;
            std::size_t step = 0;
            const ProgressSink progress = [&](const Progress&) {
                if (++step == last)
                    cancel.cancel();
            };
            const auto rows = engine->encodePicture(pictureBytes(), "circle", progress, &cancel);
            if (rows) {
                QVERIFY(sameBits(*rows, *whole)); // the flag came after the last block
                break;
            }
            QCOMPARE(rows.error().code, ErrorCode::Cancelled);
            ++cancelled;
            if (!engine->isVisionLoaded())
                QCOMPARE(engine->statistics().slotCount, engine->plan().expertSlotCount);
        }
        QVERIFY2(cancelled >= 3, std::to_string(cancelled).c_str());
        QVERIFY(sameBits(*engine->encodePicture(pictureBytes(), "circle"), *whole));
    }
};

QTEST_GUILESS_MAIN(TestVisionOnDemand)
#include "tst_vision_on_demand.moc"
