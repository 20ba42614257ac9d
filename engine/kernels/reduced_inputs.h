#pragma once

#include "kernels/weight_views.h"

#include <cstddef>
#include <cstdint>

namespace waste::kernels {

// Inputs of the reduced kernels: vectors of activations in integers, prepared once for all matrices that
// read them. What the integers are, and the order in which sums are rounded, is fixed for all instruction
// sets, so that reduced kernels agree bit for bit.

// ---- two planes: x ≈ scale·(128·high + low), 15 bits and a sign, for products with Q4G and Q8G weights

inline constexpr std::size_t kPlaneGroup = 128; // columns with one scale; the group of the weights as well

struct PlaneGroup {
    // Even columns, then odd ones: the order in which the nibbles of a row come out of its bytes.
    std::int8_t high[kPlaneGroup];
    std::int8_t low[kPlaneGroup];
    std::int16_t whole[kPlaneGroup]; // 128·high + low by column
};

// [tokens] vectors; columns after the last one are 0.
struct PlaneInput {
    PlaneGroup* groups = nullptr; // [tokens][groupCount]
    float* scales = nullptr; // [tokens][groupCount]
    std::int32_t* sums = nullptr; // [tokens][groupCount], of a group's integers
    std::size_t groupCount = 0;
    std::size_t tokens = 0;
};

// Σ over a group's products is exact; the group's share of a row's result is that sum times weight scale and
// input scale. Shares are added in this many lanes, group g in lane g modulo the lanes; the lanes are folded
// by halves.
inline constexpr std::size_t kPlaneLanes = 8;

constexpr bool takesPlanes(const MatrixView& matrix)
{
    return (matrix.format == WeightFormat::Q4G || matrix.format == WeightFormat::Q8G) && matrix.group == kPlaneGroup;
}

} // namespace waste::kernels
