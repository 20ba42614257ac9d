#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace waste {

// Rows are brought to a root mean square of one before they are cut into vectors, so that one codebook
// serves rows of any size. By maximum, as the public recipe has it, the error is 0.3 points higher
// (spec: conversion 12). Not finite when the row is not.
inline float rowRms(std::span<const float> row)
{
    double sum = 0;
    for (const float value : row)
        sum += static_cast<double>(value) * static_cast<double>(value);
    constexpr float kSmallest = 1e-8F; // a row of zeros stays one
    return std::max(static_cast<float>(std::sqrt(sum / static_cast<double>(row.size()))), kSmallest);
}

inline void divideRow(std::span<const float> row, float scale, float* target)
{
    for (std::size_t i = 0; i < row.size(); ++i)
        target[i] = row[i] / scale;
}

} // namespace waste
