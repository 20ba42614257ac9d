#pragma once

#include "kernels/kernel_table.h"

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

// Shared by the files that are compiled for NEON, and by no other: the functions defined here have internal
// linkage, so the linker never picks one of them for code that runs elsewhere.

namespace waste::kernels {

namespace neon { // arm_neon_weights.cpp

void multiplyRows(const MatrixView& matrix, const float* x, float* y, std::uint32_t begin, std::uint32_t end);
void multiplyVqRows(
    const VqMatrixView& matrix, const KernelTable::Vectors& vectors, std::uint32_t begin, std::uint32_t end);
void unpackRow(const MatrixView& matrix, std::uint32_t row, std::uint32_t begin, std::uint32_t end, float* values);
void unpackVqRows(const VqMatrixView& matrix, std::uint32_t rowBegin, std::uint32_t rowEnd, std::uint32_t begin,
    std::uint32_t end, float* values, std::size_t stride);

// arm_neon_planes.cpp
void splitPlanes(const float* x, std::size_t columns, const PlaneInput& planes);
void multiplyPlanes(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end);

// arm_neon_tables.cpp
void buildTables(
    const VqMatrixView& matrix, const float* x, const TableInput& tables, std::size_t begin, std::size_t end);
void multiplyTables(
    const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end);

// arm_neon_words.cpp
void splitWords(const float* x, std::size_t columns, WordGroup& group);
void unpackVqWords(const VqMatrixView& matrix, const WordBooks& books, std::uint32_t row, std::uint32_t begin,
    std::uint32_t end, std::int16_t* words);
void addWordProduct(const KernelTable::WordProduct& product);

// arm_neon_panels.cpp
void packPanel(const float* w, std::size_t wStride, std::size_t rows, std::size_t columns, float* panel);
void multiplyPanel(const KernelTable::PanelTimesTokens& product);

// arm_neon_codes.cpp
void nearestEntries(const CodeBook& book, const float* vectors, std::size_t count, std::uint8_t* entries);
void searchCodes(const CodeBooks& books, BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes);

} // namespace neon

namespace neon_dotprod { // arm_neon_dotprod.cpp

void multiplyPlanes(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end);

} // namespace neon_dotprod

namespace {

inline constexpr std::size_t kWidth = 4; // floats in a register

// The first `count` (0..4) lanes from memory, zeros in the others.
inline float32x4_t loadFirst(const float* p, std::size_t count)
{
    float lanes[kWidth] = {};
    for (std::size_t i = 0; i < count; ++i)
        lanes[i] = p[i];
    return vld1q_f32(lanes);
}

inline void storeFirst(float* p, float32x4_t v, std::size_t count)
{
    float lanes[kWidth];
    vst1q_f32(lanes, v);
    for (std::size_t i = 0; i < count; ++i)
        p[i] = lanes[i];
}

// By halves: (0 + 2) + (1 + 3).
inline float sumLanes(float32x4_t v)
{
    const float32x2_t pairs = vadd_f32(vget_low_f32(v), vget_high_f32(v));
    return vget_lane_f32(pairs, 0) + vget_lane_f32(pairs, 1);
}

inline float floatFromHalf(std::uint16_t half)
{
    __fp16 value = 0;
    __builtin_memcpy(&value, &half, sizeof half);
    return value;
}

inline std::size_t smaller(std::size_t a, std::size_t b)
{
    return a < b ? a : b;
}

} // namespace
} // namespace waste::kernels
