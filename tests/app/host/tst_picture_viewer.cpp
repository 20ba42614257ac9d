// Pictures for people: what does not fit the bound is not drawn, and what is drawn at the same time by several threads
// takes no more memory than one picture may.

#include "host/picture_viewer.h"
#include "support/canvas.h"
#include "support/counted_memory/counted_memory.h"
#include "support/picture_formats.h"
#include "waste/container.h"

#include <QTest>

#include <thread>
#include <vector>

using namespace waste;
using namespace waste::host;
using test::Canvas;

// In front of what compares allocations: a sanitizer's allocator counts none.
#define SKIP_UNLESS_COUNTED()                                                                                          \
    do {                                                                                                               \
        if (test::allocatedBytes() == 0)                                                                               \
            QSKIP("allocations are not counted here");                                                                 \
    } while (false)

namespace {

constexpr std::uint32_t kSide = 2000; // 12 MB as pixels
constexpr std::uint32_t kDrawnSide = 64;

std::string largePicture()
{
    return test::blackPng(kSide, kSide, {});
}

} // namespace

class TestPictureViewer : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aPictureIsDrawnWithinItsSideAndItsBound()
    {
        const std::string file = largePicture();
        PictureViewer viewer(48 << 20);
        const std::uint64_t before = test::allocatedBytes();
        test::restartAllocatedBytesPeak();
        const auto drawn = viewer.draw(file, "large.png", kDrawnSide);
        QVERIFY2(drawn.has_value(), drawn ? "" : drawn.error().message.c_str());
        QCOMPARE(drawn->width, kDrawnSide);
        QCOMPARE(drawn->height, kDrawnSide);
        SKIP_UNLESS_COUNTED();
        QVERIFY(test::allocatedBytesPeak() - before < viewer.bytesMax());
    }

    void whatIsTooLargeForTheBoundIsNotDrawnAndNotDecoded()
    {
        const std::string file = largePicture();
        PictureViewer viewer(8 << 20);
        const std::uint64_t before = test::allocatedBytes();
        test::restartAllocatedBytesPeak();
        const auto drawn = viewer.draw(file, "large.png", kDrawnSide);
        QVERIFY(!drawn);
        QCOMPARE(drawn.error().code, ErrorCode::OutOfMemory);
        QCOMPARE(drawn.error().reason, std::string("picture_too_large"));
        for (const char* part : {"large.png: ", "2000 x 2000", "scale it down"})
            QVERIFY2(drawn.error().message.find(part) != std::string::npos, drawn.error().message.c_str());
        SKIP_UNLESS_COUNTED();
        QVERIFY(test::allocatedBytesPeak() - before < viewer.bytesMax());
    }

    // Otherwise the bound would have to be counted once for each thread that might ask.
    void severalThreadsTogetherTakeNoMoreThanOne()
    {
        const std::string file = largePicture();
        PictureViewer viewer(48 << 20);
        std::uint64_t before = test::allocatedBytes();
        test::restartAllocatedBytesPeak();
        QVERIFY(viewer.draw(file, "large.png", kDrawnSide).has_value());
        const std::uint64_t alone = test::allocatedBytesPeak() - before;
        before = test::allocatedBytes();
        test::restartAllocatedBytesPeak();
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] { (void)viewer.draw(file, "large.png", kDrawnSide); });
        for (std::thread& thread : threads)
            thread.join();
        SKIP_UNLESS_COUNTED();
        QVERIFY(test::allocatedBytesPeak() - before < alone + alone / 2);
    }

    void aCheckDecodesWhatFitsTheBoundAndTrustsTheHeaderOfTheRest()
    {
        const auto container = Container::open(WASTE_K3_MINI_CONTAINER);
        QVERIFY(container.has_value());
        const std::string whole = largePicture();
        const std::string cut = whole.substr(0, whole.size() - 40);
        PictureViewer roomy(64 << 20);
        QVERIFY(roomy.check(**container, whole, "whole.png").has_value());
        const auto damaged = roomy.check(**container, cut, "cut.png");
        QVERIFY(!damaged);
        QCOMPARE(damaged.error().reason, std::string("invalid_image"));
        PictureViewer tight(8 << 20);
        const auto unseen = tight.check(**container, cut, "cut.png");
        QVERIFY(unseen.has_value());
        QCOMPARE(unseen->width, kSide);
        QVERIFY(!tight.check(**container, "no picture", "words.png"));
    }
};

QTEST_APPLESS_MAIN(TestPictureViewer)
#include "tst_picture_viewer.moc"
