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
void splitWords(const float* x, std::size_t columns, WordGroup& group);
void unpackVqWords(const VqMatrixView& matrix, const WordBooks& books, std::uint32_t row, std::uint32_t begin,
    std::uint32_t end, std::int16_t* words);
void addWordProduct(const KernelTable::WordProduct& product);

} // namespace waste::kernels::scalar
