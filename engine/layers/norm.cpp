#include "layers/norm.h"

#include <cmath>

namespace waste {

void rmsNorm(
    const kernels::KernelTable& kernels, const float* x, const float* w, float epsilon, float* y, std::size_t count)
{
    const float meanSquare = kernels.dot(x, x, count) / static_cast<float>(count);
    const float factor = 1.0F / std::sqrt(meanSquare + epsilon);
    for (std::size_t i = 0; i < count; ++i)
        y[i] = x[i] * factor * w[i];
}

void gatedRmsNorm(
    const kernels::KernelTable& kernels, const float* t, const float* w, float epsilon, float* o, std::size_t count)
{
    rmsNorm(kernels, o, w, epsilon, o, count);
    kernels.multiplySigmoid(t, o, count);
}

void rmsNormRows(const Compute& compute, const NormRows& rows, const float* w, float epsilon)
{
    compute.pool.parallelFor(
        rows.rows, pieceGrain(rows.columns), [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
            for (std::size_t row = begin; row < end; ++row)
                rmsNorm(compute.kernels, rows.x + row * rows.xStride, w, epsilon, rows.y + row * rows.yStride,
                    rows.columns);
        });
}

} // namespace waste
