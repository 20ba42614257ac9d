#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace waste::test {

using Colour = std::array<std::uint8_t, 4>; // R, G, B, alpha

// Pixels to be drawn on with soft edges, and to be written as files (picture_formats.h).
class Canvas {
public:
    Canvas(std::uint32_t width, std::uint32_t height, Colour background);

    enum class Shape : std::uint8_t { Circle, Square, Triangle, Star };
    // Inside the circle around (x, y): what touches it, upright, point to the top.
    void draw(Shape shape, Colour colour, double x, double y, double radius);

    [[nodiscard]] std::uint32_t width() const { return m_width; }
    [[nodiscard]] std::uint32_t height() const { return m_height; }
    [[nodiscard]] const Colour& at(std::size_t x, std::size_t y) const { return m_pixels[y * m_width + x]; }
    Colour& at(std::size_t x, std::size_t y) { return m_pixels[y * m_width + x]; }

private:
    std::uint32_t m_width;
    std::uint32_t m_height;
    std::vector<Colour> m_pixels; // [height][width]
};

std::string_view nameOf(Canvas::Shape shape);

} // namespace waste::test
