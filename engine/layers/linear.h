#pragma once

#include "layers/compute.h"

#include <cstdint>
#include <span>

namespace waste {

// Vectors as they are, and in planes if a matrix that reads them takes planes (else planes.tokens is 0).
struct LinearInput {
    kernels::TokenInput exact;
    kernels::PlaneInput planes;
};
// Splits the vectors of a piece, of `columns` values each; in parallel for many.
kernels::PlaneInput splitInput(
    const Compute& compute, const PlaneScratch& scratch, const kernels::TokenInput& input, std::uint32_t columns);
// Splits into compute.planes, which hold one input at a time.
LinearInput prepareInput(
    const Compute& compute, const kernels::TokenInput& input, std::span<const kernels::MatrixView> matrices);

// Rows begin..end-1 of W x for every token, by one worker. A row's result does not depend on begin and end,
// and in planes neither on the number of tokens.
void multiplyRows(const Compute& compute, const kernels::MatrixView& matrix, const LinearInput& input,
    const kernels::TokenOutput& output, std::uint32_t begin, std::uint32_t end, std::uint32_t worker);

// y = W x for every token, piece after piece; several matrices that read the same input share one parallel loop.
struct Projection {
    const kernels::MatrixView& matrix;
    kernels::TokenOutput output;
};
void project(const Compute& compute, const kernels::TokenInput& input, std::span<const Projection> projections);

inline void project(const Compute& compute, const kernels::TokenInput& input, const kernels::MatrixView& matrix,
    const kernels::TokenOutput& output)
{
    const Projection projection = {matrix, output};
    project(compute, input, {&projection, 1});
}

} // namespace waste
