#pragma once

#include "kernels/x86_avx2.h"

// Experts times several vectors in 16-bit integers (reduced_inputs.h), with VNNI and without, which is what Multiply
// says. Lanes are rows; two columns of a vector are one broadcast, and one multiply-add of pairs takes sixteen
// products.

namespace waste::kernels {
namespace {

constexpr std::size_t kPairStride = 2 * kWordRows; // words from one pair of columns to the next

// Sixteen rows times kVectors: with six of them twelve sums, two weights, an input and a product fill the registers.
template<typename Multiply, std::size_t kVectors>
void addSixteenRows(const KernelTable::WordProduct& product, std::size_t row, std::size_t vector)
{
    const std::int16_t* w = product.w + 2 * row;
    const WordGroup* const x = product.x + vector;
    __m256i sums[2][kVectors] = {};
    for (std::size_t column = 0; column < product.columns; column += 2, w += kPairStride) {
        const __m256i first = loadRegister(w);
        const __m256i second = loadRegister(w + 2 * kWidth);
        for (std::size_t v = 0; v < kVectors; ++v) {
            std::int32_t columns = 0;
            __builtin_memcpy(&columns, x[v].values + column, sizeof columns);
            const __m256i input = _mm256_set1_epi32(columns);
            sums[0][v] = Multiply::addPairs(sums[0][v], first, input);
            sums[1][v] = Multiply::addPairs(sums[1][v], second, input);
            // One vector after another, see multiplyGroup() in x86_avx2_planes.h.
            __asm__("" : "+x"(sums[0][v]), "+x"(sums[1][v]));
        }
    }
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kVectors; ++v) {
        const __m256 scale = _mm256_set1_ps(x[v].scale);
#pragma GCC unroll 2
        for (std::size_t half = 0; half < 2; ++half) {
            float* const y = product.y + (vector + v) * kWordRows + row + half * kWidth;
            _mm256_storeu_ps(y, _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[half][v]), scale, _mm256_loadu_ps(y)));
        }
    }
}

template<typename Multiply, std::size_t kVectors>
void addVectors(const KernelTable::WordProduct& product, std::size_t vector)
{
    for (std::size_t row = 0; row < kWordRows; row += 2 * kWidth)
        addSixteenRows<Multiply, kVectors>(product, row, vector);
}

template<typename Multiply>
void addWordProductWith(const KernelTable::WordProduct& product)
{
    constexpr std::size_t kMost = 6;
    std::size_t vector = 0;
    for (; vector + kMost <= product.count; vector += kMost)
        addVectors<Multiply, kMost>(product, vector);
    switch (product.count - vector) {
    case 1:
        return addVectors<Multiply, 1>(product, vector);
    case 2:
        return addVectors<Multiply, 2>(product, vector);
    case 3:
        return addVectors<Multiply, 3>(product, vector);
    case 4:
        return addVectors<Multiply, 4>(product, vector);
    case 5:
        return addVectors<Multiply, 5>(product, vector);
    default:
        return;
    }
}

} // namespace
} // namespace waste::kernels
