#pragma once

#include "kernels/reduced_inputs.h"
#include "kernels/weight_views.h"

#include <cstdint>
#include <span>

namespace waste::kernels {

// The codebooks of a matrix in integers, in `memory` [kWordBookBytes], which must outlive the result. Only shape and
// codebooks of the matrix are read; it takes words. Codebooks with a value that is not finite get a unit that is not a
// number.
WordBooks buildWordBooks(const VqMatrixView& matrix, std::span<std::int16_t> memory);

} // namespace waste::kernels
