#pragma once

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

namespace waste::test {

// Raw little-endian f32 without header, as the golden files have it. Empty if the file is missing.
inline std::vector<float> readFloats(const std::filesystem::path& file)
{
    std::ifstream stream(file, std::ios::binary | std::ios::ate);
    if (!stream)
        return {};
    std::vector<float> values(static_cast<std::size_t>(stream.tellg()) / sizeof(float));
    stream.seekg(0);
    stream.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
    return values;
}

// ‖actual − expected‖ / ‖expected‖ in f64.
inline double relativeError(std::span<const float> actual, std::span<const float> expected)
{
    if (actual.size() != expected.size())
        return INFINITY;
    double difference = 0;
    double norm = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double delta = double{actual[i]} - double{expected[i]};
        difference += delta * delta;
        norm += double{expected[i]} * double{expected[i]};
    }
    return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

} // namespace waste::test
