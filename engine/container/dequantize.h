#pragma once

#include "kernels/weight_views.h"

#include <cstdint>
#include <span>

namespace waste {

// Reference decoding to f32, row-major and bit-exact (spec: container 3 and 7). Plain, not fast: for tests,
// comparisons and small matrices.

void dequantizeRow(const kernels::MatrixView& matrix, std::uint32_t row, std::span<float> target); // [columns]
void dequantize(const kernels::MatrixView& matrix, std::span<float> target); // [rows][columns]

// Stages are added in ascending order, then multiplied by the row's scale.
void dequantize(const kernels::VqMatrixView& matrix, std::span<float> target); // [rows][columns]

} // namespace waste
