#pragma once

#include "kernels/kernel_table.h"

namespace waste::kernels::scalar {

// The specification of the reduced kernels.

void splitPlanes(const float* x, std::size_t columns, const PlaneInput& planes);
void multiplyPlanes(const MatrixView& matrix, const PlaneInput& input, float* y, std::size_t yStride,
    std::uint32_t begin, std::uint32_t end);
void buildTables(
    const VqMatrixView& matrix, const float* x, const TableInput& tables, std::size_t begin, std::size_t end);
void multiplyTables(
    const VqMatrixView& matrix, const TableInput& tables, float* y, std::uint32_t begin, std::uint32_t end);

} // namespace waste::kernels::scalar
