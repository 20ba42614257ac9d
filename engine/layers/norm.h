#pragma once

#include "layers/compute.h"

#include <cstddef>
#include <cstdint>

namespace waste {

// Of q_a_layernorm and kv_a_layernorm, whatever the configuration says (spec: model 15 D2).
inline constexpr float kLatentNormEpsilon = 1e-6F;

// y = x / sqrt(mean(x²) + ε) ⊙ w (spec: model 1). y may be x.
void rmsNorm(
    const kernels::KernelTable& kernels, const float* x, const float* w, float epsilon, float* y, std::size_t count);

// o ← RMS(o; w, ε) ⊙ σ(t): norm and gate of a KDA head (spec: model 6.4 step 8).
void gatedRmsNorm(
    const kernels::KernelTable& kernels, const float* t, const float* w, float epsilon, float* o, std::size_t count);

// RMS norm for each row of a buffer.
struct NormRows {
    const float* x = nullptr;
    std::size_t xStride = 0;
    float* y = nullptr;
    std::size_t yStride = 0;
    std::uint32_t rows = 0;
    std::size_t columns = 0;
};
void rmsNormRows(const Compute& compute, const NormRows& rows, const float* w, float epsilon);

} // namespace waste
