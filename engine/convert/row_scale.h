#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>

namespace waste {

// Sums over a row run in so many lanes side by side, which the compiler adds up at once; one chain of additions would
// take longer than all else that is done to a row besides the search.
using LaneSums = std::array<double, 4>;

// Adds the products of eight values with eight others.
inline void addProducts(const float* a, const float* b, LaneSums& lanes)
{
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        const std::size_t other = lane + lanes.size();
        lanes[lane] += static_cast<double>(a[lane]) * static_cast<double>(b[lane])
            + static_cast<double>(a[other]) * static_cast<double>(b[other]);
    }
}

inline double sumOf(const LaneSums& lanes)
{
    return std::accumulate(lanes.begin(), lanes.end(), 0.0);
}

// ‖row‖², of a multiple of eight values. Not finite when one of them is not.
inline double squaredNorm(std::span<const float> row)
{
    assert(row.size() % 8 == 0);
    LaneSums lanes{};
    for (std::size_t i = 0; i < row.size(); i += 8)
        addProducts(&row[i], &row[i], lanes);
    return sumOf(lanes);
}

// The root mean square, to which rows are brought before they are cut into vectors, so that one codebook serves rows
// of any size. By maximum, as the public recipe has it, the error is 0.3 points higher (spec: conversion 12).
inline float rmsOf(double squaredNorm, std::size_t columns)
{
    constexpr float kSmallest = 1e-8F; // a row of zeros stays one
    return std::max(static_cast<float>(std::sqrt(squaredNorm / static_cast<double>(columns))), kSmallest);
}

inline void divideRow(std::span<const float> row, float scale, float* target)
{
    std::array<float, 8> eight; // in between, so that the compiler need not ask whether row and target overlap
    assert(row.size() % eight.size() == 0);
    for (std::size_t i = 0; i < row.size(); i += eight.size()) {
        for (std::size_t lane = 0; lane < eight.size(); ++lane)
            eight[lane] = row[i + lane] / scale;
        std::ranges::copy(eight, target + i);
    }
}

} // namespace waste
