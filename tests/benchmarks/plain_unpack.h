#pragma once

#include <cstddef>
#include <cstdint>

namespace waste::benchmark {

// y = W·x in the plain way: each group of a row becomes f32 by arithmetic and is multiplied, as a compiler vectorises
// such loops for AVX2 or NEON (spec: kernels 2).
struct PlainMatrix {
    static constexpr std::size_t kGroup = 128;

    const std::uint8_t* payload; // [rows][columns], or two columns a byte
    const float* scales; // [rows][columns / kGroup]
    std::size_t rows;
    std::size_t columns;
};
void multiplyPlainQ4(const PlainMatrix& matrix, const float* x, float* y);
void multiplyPlainQ8(const PlainMatrix& matrix, const float* x, float* y);

} // namespace waste::benchmark
