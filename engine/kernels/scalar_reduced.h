#pragma once

#include "kernels/kernel_table.h"

namespace waste::kernels::scalar {

// The specification of the reduced kernels.

void splitPlanes(const float* x, std::size_t columns, const PlaneInput& planes);
void multiplyPlanes(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end);

} // namespace waste::kernels::scalar
