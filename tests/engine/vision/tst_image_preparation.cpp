// From picture files to patch tensors: sizes, the integer resize, transparency and padding against the
// golden pictures and the vectors of spec vision 2 and 8; EXIF orientation by hand.

#include "support/golden.h"
#include "vision/image_patches.h"
#include "vision/image_plan.h"
#include "vision/image_resize.h"

#include <QBuffer>
#include <QFile>
#include <QImage>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>

#include <random>

using namespace waste;

namespace {

const QString kData = QStringLiteral(WASTE_TEST_DATA "/k3-mini/");

QByteArray readFile(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

std::span<const std::byte> bytesOf(const QByteArray& array)
{
    return std::as_bytes(std::span(array.constData(), static_cast<std::size_t>(array.size())));
}

VisionConfig configOfTheFixtures()
{
    VisionConfig config;
    config.background = {
        TransparentBackground::Pattern::Chessboard, TransparentBackground::Stage::AfterResize, 8, true, 255, 180};
    return config;
}

Image greyRow(std::initializer_list<int> values)
{
    Image image;
    image.width = static_cast<std::uint32_t>(values.size());
    image.height = 1;
    for (const int value : values)
        image.pixels.insert(image.pixels.end(), 3, static_cast<std::uint8_t>(value));
    return image;
}

QList<int> firstChannel(const Image& image)
{
    QList<int> values;
    for (std::size_t i = 0; i < image.pixels.size(); i += image.channels())
        values << image.pixels[i];
    return values;
}

} // namespace

class TestImagePreparation : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void sizesFollowTheReleasesRule_data()
    {
        QTest::addColumn<int>("width");
        QTest::addColumn<int>("height");
        QTest::addColumn<int>("budget");
        QTest::addColumn<QList<int>>("plan"); // width, height, rows, columns, positions
        const auto row = [](int width, int height, int budget, const QList<int>& plan) {
            QTest::addRow("%dx%d at %d", width, height, budget) << width << height << budget << plan;
        };
        row(896, 896, 65536, {896, 896, 64, 64, 1024});
        row(896, 896, 1024, {448, 448, 32, 32, 256});
        row(354, 354, 1024, {354, 354, 26, 26, 169});
        row(640, 480, 65536, {640, 480, 36, 46, 414});
        row(640, 480, 1024, {504, 378, 28, 36, 252});
        row(1024, 768, 1024, {504, 378, 28, 36, 252});
        row(1920, 1080, 65536, {1920, 1080, 78, 138, 2691});
        row(1920, 1080, 1024, {588, 331, 24, 42, 252});
        row(4000, 3000, 65536, {4000, 3000, 216, 286, 15444});
        row(100, 7000, 65536, {100, 7000, 500, 8, 1000});
        row(100, 7000, 1024, {51, 3584, 256, 4, 256});
        row(1, 1, 1024, {1, 1, 2, 2, 1});
        row(3, 5, 1024, {3, 5, 2, 2, 1});
    }
    void sizesFollowTheReleasesRule()
    {
        QFETCH(int, width);
        QFETCH(int, height);
        QFETCH(int, budget);
        QFETCH(QList<int>, plan);
        const ImagePlan actual = planImage(static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height),
            static_cast<std::uint32_t>(budget), 512);
        QCOMPARE((QList<int>{int(actual.width), int(actual.height), int(actual.gridRows), int(actual.gridColumns),
                     int(actual.positionCount())}),
            plan);
    }

    void everySizeFitsItsBudget()
    {
        std::mt19937 random(7);
        for (int i = 0; i < 3000; ++i) {
            const auto width = static_cast<std::uint32_t>(1 + random() % (i % 3 == 0 ? 100000U : 900U));
            const auto height = static_cast<std::uint32_t>(1 + random() % (i % 5 == 0 ? 100000U : 900U));
            const auto budget = static_cast<std::uint32_t>(4 + random() % 2000);
            const ImagePlan plan = planImage(width, height, budget, 512);
            QVERIFY(plan.patchCount() <= budget && plan.gridRows <= 512 && plan.gridColumns <= 512);
            QVERIFY(plan.width >= 1 && plan.width <= width && plan.height >= 1 && plan.height <= height);
        }
    }

    void resizeMatchesThePublishedRows()
    {
        const Image row = greyRow({0, 10, 200, 255, 3, 77, 128, 64});
        QCOMPARE(firstChannel(resizeImage(row, 3, 1)), (QList<int>{70, 136, 82}));
        QCOMPARE(firstChannel(resizeImage(row, 11, 1)), (QList<int>{0, 0, 62, 206, 255, 128, 0, 74, 121, 105, 60}));
    }

    void patchesOfTheGoldenPicturesAreEqual_data()
    {
        QTest::addColumn<QJsonObject>("picture");
        QTest::addColumn<int>("budget");
        const auto images = QJsonDocument::fromJson(readFile(kData + "images.json")).object()["images"].toArray();
        QVERIFY(images.size() >= 7);
        for (const auto& image : images) {
            const QJsonObject picture = image.toObject();
            for (const QString& budget : picture["max_patches"].toObject().keys())
                QTest::addRow("%s at %s", qPrintable(picture["file"].toString()), qPrintable(budget))
                    << picture << budget.toInt();
        }
    }
    void patchesOfTheGoldenPicturesAreEqual()
    {
        QFETCH(QJsonObject, picture);
        QFETCH(int, budget);
        const QJsonObject expected = picture["max_patches"].toObject()[QString::number(budget)].toObject();
        const QByteArray file = readFile(kData + picture["file"].toString());
        const auto image = decodeImage(bytesOf(file), "picture");
        QVERIFY2(image, image ? "" : image.error().message.c_str());
        QCOMPARE(int(image->channels()), picture["channels"].toInt());

        const ImagePlan plan = planImage(image->width, image->height, static_cast<std::uint32_t>(budget), 512);
        QCOMPARE(int(plan.width), expected["resized_w"].toInt());
        QCOMPARE(int(plan.height), expected["resized_h"].toInt());
        QCOMPARE(int(plan.gridRows), expected["grid_h"].toInt());
        QCOMPARE(int(plan.gridColumns), expected["grid_w"].toInt());
        QCOMPARE(int(plan.positionCount()), expected["tokens"].toInt());

        const auto patches = makePatches(*image, plan, configOfTheFixtures());
        double sum = 0;
        double squares = 0;
        for (const float value : patches) {
            sum += double{value};
            squares += double{value} * double{value};
        }
        QVERIFY(std::abs(sum - expected["sum"].toDouble()) < 1e-3);
        QVERIFY(std::abs(squares - expected["sum_sq"].toDouble()) < 1e-3);
        const QJsonArray first = expected["first16"].toArray();
        for (int i = 0; i < first.size(); ++i)
            QVERIFY(std::abs(double{patches[static_cast<std::size_t>(i)]} - first[i].toDouble()) < 1e-6);
        const QJsonArray sums = expected["patch_sums"].toArray();
        for (int i = 0; i < sums.size(); ++i) {
            double patchSum = 0;
            for (std::size_t k = 0; k < VisionConfig::kPatchFloats; ++k)
                patchSum += double{patches[static_cast<std::size_t>(i) * VisionConfig::kPatchFloats + k]};
            QVERIFY(std::abs(patchSum - sums[i].toDouble()) < 2e-4);
        }
    }

    void theWholePatchTensorIsBitIdentical()
    {
        const auto golden = test::readFloats((kData + "red_circle.patches.f32").toStdString());
        QVERIFY(!golden.empty());
        const QByteArray file = readFile(kData + "red_circle.png");
        const auto image = decodeImage(bytesOf(file), "red_circle.png");
        QVERIFY(image.has_value());
        QVERIFY(makePatches(*image, planImage(image->width, image->height, 144, 512), configOfTheFixtures()) == golden);
    }

    void paddingIsBlackBeforeNormalisation()
    {
        Image red;
        red.width = 42;
        red.height = 28;
        for (int i = 0; i < 42 * 28; ++i)
            red.pixels.insert(red.pixels.end(), {255, 0, 0});
        const ImagePlan plan = planImage(42, 28, 1024, 512);
        QCOMPARE(plan.gridColumns, 4U);
        const auto patches = makePatches(red, plan, configOfTheFixtures());
        QCOMPARE(patches[0], 1.0F); // red of the first patch
        QCOMPARE(patches[196], -1.0F); // its green
        QCOMPARE(patches[3 * VisionConfig::kPatchFloats], -1.0F); // red of the padding
    }

    // The eight EXIF orientations of one 2 × 3 picture are the eight ways to lay it down; all upright
    // copies must show the same picture.
    void exifOrientationIsUndone()
    {
        QImage upright(24, 16, QImage::Format_RGB32);
        for (int y = 0; y < 16; ++y) {
            for (int x = 0; x < 24; ++x)
                upright.setPixel(x, y, x < 8 ? qRgb(250, 20, 20) : y < 8 ? qRgb(20, 250, 20) : qRgb(20, 20, 250));
        }
        for (int orientation = 1; orientation <= 8; ++orientation) {
            QImage stored = upright;
            // The stored picture is the inverse of what a viewer does with this orientation.
            if (orientation == 2 || orientation == 5 || orientation == 7)
                stored = stored.mirrored(true, false);
            if (orientation == 4)
                stored = stored.mirrored(false, true);
            if (orientation == 3)
                stored = stored.transformed(QTransform().rotate(180));
            if (orientation == 6 || orientation == 5)
                stored = stored.transformed(QTransform().rotate(orientation == 6 ? -90 : 270));
            if (orientation == 8 || orientation == 7)
                stored = stored.transformed(QTransform().rotate(90));
            QByteArray jpeg;
            QBuffer buffer(&jpeg);
            buffer.open(QIODevice::WriteOnly);
            stored.save(&buffer, "JPG", 100);
            QByteArray exif = QByteArrayLiteral("\xFF\xE1\x00\x22"
                                                "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0");
            exif.append(char(orientation));
            exif.append(6, '\0');
            jpeg.insert(2, exif);
            const auto image = decodeImage(bytesOf(jpeg), "rotated.jpg");
            QVERIFY2(image, image ? "" : image.error().message.c_str());
            QCOMPARE(image->width, 24U);
            QCOMPARE(image->height, 16U);
            const auto at = [&](std::size_t x, std::size_t y, std::size_t c) {
                return image->pixels[(y * 24 + x) * 3 + c];
            };
            QVERIFY2(at(2, 4, 0) > 200 && at(2, 12, 0) > 200, qPrintable(QString::number(orientation)));
            QVERIFY2(at(20, 3, 1) > 200, qPrintable(QString::number(orientation)));
            QVERIFY2(at(20, 13, 2) > 200, qPrintable(QString::number(orientation)));
        }
    }

    void formatsOtherThanTheFixturesDecode_data()
    {
        QTest::addColumn<QByteArray>("format");
        QTest::newRow("png") << QByteArray("PNG");
        QTest::newRow("bmp") << QByteArray("BMP");
        QTest::newRow("jpg") << QByteArray("JPG");
    }
    void formatsOtherThanTheFixturesDecode()
    {
        QFETCH(QByteArray, format);
        QImage picture(31, 17, QImage::Format_RGB32);
        picture.fill(qRgb(200, 100, 50));
        QByteArray file;
        QBuffer buffer(&file);
        buffer.open(QIODevice::WriteOnly);
        QVERIFY(picture.save(&buffer, format.constData(), 95));
        const auto image = decodeImage(bytesOf(file), "picture");
        QVERIFY(image.has_value());
        QCOMPARE(image->width, 31U);
        QCOMPARE(image->height, 17U);
        QVERIFY(std::abs(int(image->pixels[0]) - 200) < 4);
    }

    void badFilesAreRefusedByName()
    {
        const auto nonsense = decodeImage(bytesOf("hello, this is text"), "notes.txt");
        QVERIFY(!nonsense);
        QCOMPARE(nonsense.error().reason, std::string("invalid_image"));
        QVERIFY(nonsense.error().message.starts_with("notes.txt: "));
        // A BMP header that promises 60,000 × 60,000 pixels.
        QByteArray bomb("BM", 2);
        bomb.append(QByteArray(12, '\0'));
        const auto append = [&](std::uint32_t value, int count) {
            bomb.append(reinterpret_cast<const char*>(&value), count);
        };
        append(40, 4);
        append(60000, 4);
        append(60000, 4);
        append(1, 2);
        append(24, 2);
        bomb.append(QByteArray(24, '\0'));
        const auto refused = readImageHeader(bytesOf(bomb), "bomb.bmp");
        QVERIFY(!refused);
        QVERIFY2(refused.error().message.find("67.1 million") != std::string::npos, refused.error().message.c_str());
    }
};

QTEST_GUILESS_MAIN(TestImagePreparation)
#include "tst_image_preparation.moc"
