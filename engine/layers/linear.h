#pragma once

#include "layers/compute.h"

#include <cstdint>
#include <span>

namespace waste {

// y = W x for every token; several matrices that read the same input share one parallel loop.
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
