#include "support/canvas.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace waste::test {

namespace {

constexpr int kSamples = 4; // a pixel's side

// Whether (x, y) lies in the shape inside the unit circle; y grows downwards.
bool isInside(Canvas::Shape shape, double x, double y)
{
    switch (shape) {
    case Canvas::Shape::Circle:
        return x * x + y * y <= 1;
    case Canvas::Shape::Square:
        return std::max(std::abs(x), std::abs(y)) <= 0.85;
    case Canvas::Shape::Triangle:
        return y <= 0.75 && std::abs(x) <= (y + 1) * 0.55;
    case Canvas::Shape::Star:
        break;
    }
    // Five points: an edge leads from each point to the dent beside it.
    constexpr double kDent = 0.42; // its distance from the middle
    constexpr double kSector = std::numbers::pi / 5;
    const double angle = std::abs(std::remainder(std::atan2(x, -y), 2 * kSector)); // 0 at a point, kSector at a dent
    const double along = std::hypot(x, y) * std::cos(angle);
    const double across = std::hypot(x, y) * std::sin(angle);
    const double dentAlong = kDent * std::cos(kSector);
    const double dentAcross = kDent * std::sin(kSector);
    return (1 - along) * dentAcross >= across * (1 - dentAlong);
}

} // namespace

Canvas::Canvas(std::uint32_t width, std::uint32_t height, Colour background)
    : m_width(width)
    , m_height(height)
    , m_pixels(std::size_t{width} * height, background)
{
}

void Canvas::draw(Shape shape, Colour colour, double x, double y, double radius)
{
    for (std::uint32_t row = 0; row < m_height; ++row) {
        for (std::uint32_t column = 0; column < m_width; ++column) {
            if (std::hypot(column + 0.5 - x, row + 0.5 - y) > radius + 1)
                continue;
            int covered = 0;
            for (int i = 0; i < kSamples * kSamples; ++i) {
                const double sampleX = column + (i % kSamples + 0.5) / kSamples;
                const double sampleY = row + (i / kSamples + 0.5) / kSamples;
                covered += isInside(shape, (sampleX - x) / radius, (sampleY - y) / radius) ? 1 : 0;
            }
            const double share = static_cast<double>(covered) / (kSamples * kSamples);
            Colour& pixel = at(column, row);
            for (std::size_t c = 0; c < pixel.size(); ++c)
                pixel[c] = static_cast<std::uint8_t>(std::lround(pixel[c] + share * (colour[c] - pixel[c])));
        }
    }
}

std::string_view nameOf(Canvas::Shape shape)
{
    static constexpr std::array<std::string_view, 4> names = {"circle", "square", "triangle", "star"};
    return names.at(static_cast<std::size_t>(shape));
}

} // namespace waste::test
