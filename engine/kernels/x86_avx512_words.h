#pragma once

#include "kernels/x86_avx512.h"

// Experts times several vectors in 16-bit integers (reduced_inputs.h), with VNNI and without: which of them is what
// Multiply says. Lanes are rows, and a vector's two columns one broadcast.

namespace waste::kernels {
namespace {

// All rows times kVectors: with six of them 24 sums, four weights and an input are in registers.
template<typename Multiply, std::size_t kVectors>
void addWordVectors(const KernelTable::WordProduct& product, std::size_t vector)
{
    constexpr std::size_t kRegisters = kWordRows / kFloats;
    constexpr std::size_t kPairStride = 2 * kWordRows;
    const WordGroup* const x = product.x + vector;
    const std::int16_t* w = product.w;
    __m512i sums[kVectors][kRegisters] = {};
    for (std::size_t column = 0; column < product.columns; column += 2, w += kPairStride) {
        __m512i weights[kRegisters];
#pragma GCC unroll 4
        for (std::size_t n = 0; n < kRegisters; ++n)
            weights[n] = loadBytes(w + n * 2 * kFloats);
#pragma GCC unroll 6
        for (std::size_t v = 0; v < kVectors; ++v) {
            std::int32_t columns = 0;
            __builtin_memcpy(&columns, x[v].values + column, sizeof columns);
            const __m512i input = _mm512_set1_epi32(columns);
#pragma GCC unroll 4
            for (std::size_t n = 0; n < kRegisters; ++n)
                sums[v][n] = Multiply::addPairs(sums[v][n], weights[n], input);
            // One vector after another, see multiplyGroup() in x86_avx512_planes.h.
            __asm__("" : "+v"(sums[v][0]), "+v"(sums[v][1]), "+v"(sums[v][2]), "+v"(sums[v][3]));
        }
    }
#pragma GCC unroll 6
    for (std::size_t v = 0; v < kVectors; ++v) {
        const __m512 scale = _mm512_set1_ps(x[v].scale);
#pragma GCC unroll 4
        for (std::size_t n = 0; n < kRegisters; ++n) {
            float* const y = product.y + (vector + v) * kWordRows + n * kFloats;
            _mm512_storeu_ps(y, _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[v][n]), scale, _mm512_loadu_ps(y)));
        }
    }
}

template<typename Multiply>
void addWordProductWith(const KernelTable::WordProduct& product)
{
    using Add = void (*)(const KernelTable::WordProduct&, std::size_t);
    static constexpr Add kLast[] = {addWordVectors<Multiply, 1>, addWordVectors<Multiply, 2>,
        addWordVectors<Multiply, 3>, addWordVectors<Multiply, 4>, addWordVectors<Multiply, 5>};
    constexpr std::size_t kMost = 6;
    std::size_t vector = 0;
    for (; vector + kMost <= product.count; vector += kMost)
        addWordVectors<Multiply, kMost>(product, vector);
    if (vector < product.count)
        kLast[product.count - vector - 1](product, vector);
}

} // namespace
} // namespace waste::kernels
