// The largest picture of every kind that is accepted is decoded, in the memory that the plan counts; one line
// more is refused from its header, and the message tells the limit. The pictures are black: small files.

#include "support/picture_formats.h"
#include "support/process_memory.h"
#include "vision/image_file.h"
#include "vision/image_patches.h"

#include <QTest>

using namespace waste;
using namespace waste::test;

namespace {

constexpr std::uint32_t kWidth = 8192;

std::span<const std::byte> bytesOf(const std::string& file)
{
    return std::as_bytes(std::span(file));
}

std::string picture(const QByteArray& format, PngForm form, std::uint32_t height)
{
    if (format == "png")
        return blackPng(kWidth, height, form);
    if (format == "gif") { // one pixel on a large screen: the decoder keeps the screen
        std::string gif = gifOf(Canvas(1, 1, {0, 0, 0, 255}));
        for (std::size_t i = 0; i < 2; ++i) {
            gif[6 + i] = static_cast<char>((kWidth >> (8 * i)) & 0xFF);
            gif[8 + i] = static_cast<char>((height >> (8 * i)) & 0xFF);
        }
        return gif;
    }
    return flatJpeg(kWidth, height, form.channels, format == "jpeg" ? Scans::Sequential : Scans::Progressive);
}

} // namespace

class TestImageLimits : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theLargestOfEachKindIsDecodedAndOneLineMoreIsRefused_data()
    {
        QTest::addColumn<QByteArray>("format");
        QTest::addColumn<PngForm>("form");
        QTest::addColumn<int>("lines"); // at kWidth pixels
        const auto row = [](const char* name, const char* format, PngForm form, int lines) {
            QTest::newRow(name) << QByteArray(format) << form << lines;
        };
        row("grey", "png", {.channels = 1}, 8192);
        row("RGB", "png", {.channels = 3}, 8192);
        row("RGBA", "png", {.channels = 4}, 8192);
        row("RGB of 16 bits", "png", {.channels = 3, .depth = 16}, 6141);
        row("RGBA of 16 bits", "png", {.channels = 4, .depth = 16}, 4605);
        row("interlaced RGB", "png", {.channels = 3, .interlaced = true}, 7018);
        row("interlaced RGBA of 16 bits", "png", {.channels = 4, .depth = 16, .interlaced = true}, 2631);
        row("JPEG", "jpeg", {.channels = 3}, 8192);
        row("progressive JPEG", "progressive", {.channels = 3}, 6136);
        row("GIF", "gif", {}, 8188);
    }
    void theLargestOfEachKindIsDecodedAndOneLineMoreIsRefused()
    {
        QFETCH(const QByteArray, format);
        QFETCH(const PngForm, form);
        QFETCH(const int, lines);
        const std::uint64_t before = test::processMemory().residentBytes;
        const auto height = static_cast<std::uint32_t>(lines);
        {
            const std::string file = picture(format, form, height);
            auto image = decodeImage(bytesOf(file), "largest");
            QVERIFY2(image, image ? "" : image.error().message.c_str());
            QCOMPARE(image->width, kWidth);
            QCOMPARE(image->height, height);
            const ImagePlan plan = planImage(kWidth, height, 1024, 512);
            QCOMPARE(makePatches(std::move(*image), plan, {}).size(), std::size_t{plan.patchCount()} * 588);
        }
        // One line, or one step of what the kind counts in, further.
        const std::uint32_t step = format == "progressive" ? 8 : 1;
        const std::string larger = picture(format, form, height + step);
        const auto refused = readImageHeader(bytesOf(larger), "larger.pic");
        QVERIFY2(!refused, "one line more is accepted");
        QCOMPARE(refused.error().reason, std::string("invalid_image"));
        const QString message = QString::fromStdString(refused.error().message);
        QVERIFY2(message.startsWith("larger.pic: "), qPrintable(message));
        const auto millions = [](std::uint32_t rows) {
            return QString::number(std::floor(double(kWidth) * rows / 1e5) / 10, 'f', 1) + " million";
        };
        QVERIFY2(message.contains(millions(height)) || message.contains(millions(height + step)), qPrintable(message));
        QVERIFY(!decodeImage(bytesOf(larger), "larger.pic"));
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
        constexpr std::uint64_t kFileBytes = 8 << 20; // of the pictures themselves
        const std::uint64_t peak = test::processMemory().residentPeakBytes;
        if (peak > 0)
            QVERIFY2(peak <= before + kImageBytesMax + kFileBytes, qPrintable(QString::number(peak - before)));
#else
        Q_UNUSED(before)
#endif
    }

    void aPictureOfSixtyFourMegapixelsIsTaken()
    {
        const std::string file = blackPng(7999, 7999, {.channels = 3});
        const auto header = readImageHeader(bytesOf(file), "square.png");
        QVERIFY2(header, header ? "" : header.error().message.c_str());
        QVERIFY(decodeImage(bytesOf(file), "square.png"));
    }

    // The decoder takes it for no picture.
    void aPngBeyondTheDecoderIsTooLarge()
    {
        std::string file = blackPng(200, 200, {.channels = 3});
        file.replace(16, 8, std::string("\0\0\x4E\x20\0\0\x4E\x20", 8)); // 20000 x 20000
        const auto refused = readImageHeader(bytesOf(file), "huge.png");
        QVERIFY(!refused);
        QCOMPARE(refused.error().message,
            std::string("huge.png: the picture has 20000 x 20000 pixels, more than 67.1 million; scale it down first"));
        QVERIFY(!readImageHeader(bytesOf(file.substr(0, 23)), "cut.png"));
    }

    // A small file must not keep the decoder busy for days.
    void aJpegOfVeryManyScansIsRefused()
    {
        QVERIFY(decodeImage(bytesOf(flatJpeg(64, 64, 3, Scans::Progressive, 1)), "one.jpg"));
        const auto refused = readImageHeader(bytesOf(flatJpeg(64, 64, 3, Scans::Progressive, 65)), "many.jpg");
        QVERIFY(!refused);
        QVERIFY2(refused.error().message.find("64 scans") != std::string::npos, refused.error().message.c_str());
    }
};

QTEST_GUILESS_MAIN(TestImageLimits)
#include "tst_image_limits.moc"
