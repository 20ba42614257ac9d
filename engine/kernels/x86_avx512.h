#pragma once

#include "kernels/kernel_table.h"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

// Shared by the files that are compiled for AVX-512, and by no other: what is defined here has internal linkage, so
// the linker never picks it for code that runs elsewhere.

namespace waste::kernels {

namespace avx512 { // F, BW, VL, DQ

// x86_avx512_codes.cpp
void nearestEntries(const CodeBook& book, const float* vectors, std::size_t count, std::uint8_t* entries);
void searchCodes(const CodeBooks& books, BeamWidth width, const float* vectors, std::size_t count, std::uint8_t* codes);

// x86_avx512_functions.cpp
float expAndSum(float* x, float maximum, std::size_t count);
void expOfDifference(const double* later, const double* earlier, float* values, std::size_t count);
void situ(KernelTable::Situ parameters, float* gate, const float* up, std::size_t count);

// x86_avx512_products.cpp
void multiplyPlanes(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end);
void addWordProduct(const KernelTable::WordProduct& product);

// x86_avx512_panels.cpp
void addProduct(const KernelTable::AddedProduct& product);
void multiplyPanel(const KernelTable::PanelTimesTokens& product);
void multiplyTokens(const KernelTable::RowsTimesTokens& product);

// x86_avx512_weights.cpp
void multiplyRows(const MatrixView& matrix, const float* x, float* y, std::uint32_t begin, std::uint32_t end);
void unpackRow(const MatrixView& matrix, std::uint32_t row, std::uint32_t begin, std::uint32_t end, float* values);

// x86_avx512_vectors.cpp
float dot(const float* x, const float* w, std::size_t count);
void addScaled(float a, const float* x, float* y, std::size_t count);
void kdaStep(const KernelTable::KdaStep& step);

} // namespace avx512

namespace avx512vbmi { // and VBMI, VNNI

// x86_avx512vbmi_products.cpp
void multiplyPlanes(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end);
void addWordProduct(const KernelTable::WordProduct& product);

// x86_avx512vbmi_words.cpp
void unpackVqWords(const VqMatrixView& matrix, const WordBooks& books, std::uint32_t row, std::uint32_t begin,
    std::uint32_t end, std::int16_t* words);

// x86_avx512vbmi_tables.cpp; of both shapes
void buildTables(
    const VqMatrixView& matrix, const float* x, const TableInput& tables, std::size_t begin, std::size_t end);
void multiplyTables(
    const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end);

// x86_avx512vbmi_exact_tables.cpp; of both shapes
void buildExactTables(
    const VqMatrixView& matrix, const float* x, const TableInput& tables, std::size_t begin, std::size_t end);
void multiplyExactTables(
    const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end);

} // namespace avx512vbmi

namespace {

inline constexpr std::size_t kFloats = 16; // in a register

inline __m512i loadBytes(const void* p)
{
    return _mm512_loadu_si512(p);
}

// The first `count` (0..16) lanes of 32 bits.
inline __mmask16 firstLanes(std::size_t count)
{
    return static_cast<__mmask16>((1U << count) - 1U);
}

} // namespace
} // namespace waste::kernels
