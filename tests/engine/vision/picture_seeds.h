#pragma once

#include "support/picture_formats.h"

#include <QBuffer>
#include <QByteArray>
#include <QImage>
#include <QImageWriter>

#include <string>
#include <utility>
#include <vector>

// One small picture in every form that the decoder reads, for tests that damage or compare them.
namespace waste::test {

struct PictureSeed {
    const char* name;
    std::string file;
};

inline Canvas seedCanvas(std::uint32_t width = 37, std::uint32_t height = 23)
{
    Canvas canvas(width, height, {240, 236, 224, 255});
    canvas.draw(Canvas::Shape::Star, {200, 30, 40, 255}, width * 0.4, height * 0.5, height * 0.45);
    canvas.draw(Canvas::Shape::Circle, {30, 60, 200, 128}, width * 0.75, height * 0.4, height * 0.3);
    return canvas;
}

// By Qt: its library is the one that most JPEG files come from.
inline std::string jpegOf(const Canvas& canvas, bool progressive)
{
    QImage image(static_cast<int>(canvas.width()), static_cast<int>(canvas.height()), QImage::Format_RGB32);
    for (std::uint32_t y = 0; y < canvas.height(); ++y) {
        for (std::uint32_t x = 0; x < canvas.width(); ++x) {
            const Colour& pixel = canvas.at(x, y);
            image.setPixel(static_cast<int>(x), static_cast<int>(y), qRgb(pixel[0], pixel[1], pixel[2]));
        }
    }
    QByteArray file;
    QBuffer buffer(&file);
    buffer.open(QIODevice::WriteOnly);
    QImageWriter writer(&buffer, "jpeg");
    writer.setQuality(90);
    writer.setProgressiveScanWrite(progressive);
    if (!writer.write(image))
        qFatal("Qt cannot write a JPEG");
    return file.toStdString();
}

inline std::vector<PictureSeed> pictureSeeds()
{
    const Canvas canvas = seedCanvas();
    return {{"PNG", pngOf(canvas)}, {"RGBA PNG", pngOf(canvas, {.channels = 4})},
        {"grey PNG", pngOf(canvas, {.channels = 1})}, {"16-bit PNG", pngOf(canvas, {.channels = 3, .depth = 16})},
        {"interlaced PNG", pngOf(canvas, {.channels = 4, .interlaced = true})}, {"JPEG", jpegOf(canvas, false)},
        {"progressive JPEG", jpegOf(canvas, true)}, {"JPEG with EXIF", withOrientation(jpegOf(canvas, false), 6)},
        {"GIF", gifOf(canvas)}, {"BMP", bmpOf(canvas)}, {"TGA", tgaOf(canvas)},
        {"TGA in runs", tgaOf(canvas, Compression::Runs)}, {"PSD", psdOf(canvas)},
        {"PSD in runs", psdOf(canvas, Compression::Runs)}};
}

} // namespace waste::test
