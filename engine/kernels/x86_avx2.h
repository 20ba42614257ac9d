#pragma once

#include "kernels/kernel_table.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

// Shared by the files that are compiled for AVX2, and by no other: the functions defined here have
// internal linkage, so the linker never picks one of them for code that runs elsewhere.

namespace waste::kernels {

namespace avx2 { // x86_avx2_weights.cpp

void multiplyRows(const MatrixView& matrix, const float* x, float* y, std::uint32_t begin, std::uint32_t end);
void multiplyVqRows(
    const VqMatrixView& matrix, const KernelTable::Vectors& vectors, std::uint32_t begin, std::uint32_t end);
void unpackRow(const MatrixView& matrix, std::uint32_t row, std::uint32_t begin, std::uint32_t end, float* values);
void unpackVqRows(const VqMatrixView& matrix, std::uint32_t rowBegin, std::uint32_t rowEnd, std::uint32_t begin,
    std::uint32_t end, float* values, std::size_t stride);

// x86_avx2_planes.cpp
void splitPlanes(const float* x, std::size_t columns, const PlaneInput& planes);

// x86_avx2_products.cpp
void multiplyPlanes(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end);
void addWordProduct(const KernelTable::WordProduct& product);

// x86_avx2_tables.cpp
void buildTables(
    const VqMatrixView& matrix, const float* x, const TableInput& tables, std::size_t begin, std::size_t end);
void multiplyTables(
    const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end);

// x86_avx2_words.cpp
void splitWords(const float* x, std::size_t columns, WordGroup& group);
void unpackVqWords(const VqMatrixView& matrix, const WordBooks& books, std::uint32_t row, std::uint32_t begin,
    std::uint32_t end, std::int16_t* words);

// x86_avx2_panels.cpp
void packPanel(const float* w, std::size_t wStride, std::size_t rows, std::size_t columns, float* panel);
void multiplyPanel(const KernelTable::PanelTimesTokens& product);

// x86_avx2_codes.cpp
void nearestEntries(const CodeBook& book, const float* vectors, std::size_t count, std::uint8_t* entries);
void searchCodes(const CodeBooks& books, BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes);

} // namespace avx2

namespace avxvnni { // x86_avxvnni_products.cpp

void multiplyPlanes(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end);
void addWordProduct(const KernelTable::WordProduct& product);

} // namespace avxvnni

namespace {

inline constexpr std::size_t kWidth = 8; // floats in a register

// Loops that empty an array of registers carry "#pragma GCC unroll": where GCC 12 leaves one of them a loop, it keeps
// the whole array in memory, and the loop that fills it stores every sum in every step (a half of the speed).

inline __m256i loadRegister(const void* p)
{
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

// All lanes below `count` (1..8).
inline __m256i maskOf(std::size_t count)
{
    alignas(32) static constexpr std::int32_t kOnesThenZeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kOnesThenZeros + (kWidth - count)));
}

inline float sumLanes(__m256 v)
{
    const __m128 halves = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 pairs = _mm_add_ps(halves, _mm_movehl_ps(halves, halves));
    return _mm_cvtss_f32(_mm_add_ss(pairs, _mm_movehdup_ps(pairs)));
}

} // namespace
} // namespace waste::kernels
